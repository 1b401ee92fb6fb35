//! The tool `read`.

use std::fs;

use pi_protocol::CancelToken;
use pi_tools::read;
use serde_json::json;
use tempfile::TempDir;

use crate::call::{call, call_with, text, workspace};

#[tokio::test]
async fn selected_lines_are_returned_with_a_notice() {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("f"), "a\nb\nc\n").unwrap();
    let read = read(workspace(directory.path()));
    let cases = [
        (json!({ "path": "f" }), "a\nb\nc\n"),
        (
            json!({ "path": "f", "offset": 2, "limit": 1 }),
            "b\n\n[2 more lines in file. Use offset=3 to continue.]",
        ),
        (
            json!({ "path": "f", "offset": 9 }),
            "error: Offset 9 is beyond end of file (4 lines total)",
        ),
    ];
    for (arguments, expected) in cases {
        assert_eq!(text(&call(&read, &arguments).await), expected, "{arguments}");
    }
}

#[tokio::test]
async fn aborted_call_is_an_error() {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("f"), "a").unwrap();
    let cancel = CancelToken::new();
    cancel.cancel();
    let result =
        call_with(&read(workspace(directory.path())), &json!({ "path": "f" }), cancel).await;
    assert_eq!(text(&result), "error: Operation aborted");
}
