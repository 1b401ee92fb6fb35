//! `read`.

use std::fs;
use std::sync::Arc;

use pi_agent::{AgentTool, Invocation, ToolError, ToolOutput, Updates};
use pi_protocol::{CancelToken, UserBlock};
use pi_tools::{Host, Workspace, read};
use serde_json::Value;
use tempfile::TempDir;

async fn call(directory: &TempDir, arguments: Value) -> Result<ToolOutput, ToolError> {
    let workspace = Workspace::new(Arc::new(Host::default()), directory.path().to_owned(), None);
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    let invocation = Invocation {
        id: "1".to_owned(),
        arguments,
        cancel: CancelToken::new(),
        updates: Updates::new(|_| {}),
    };
    read(Arc::new(workspace)).execute(invocation).await
}

#[tokio::test]
async fn lines_are_shown_and_the_rest_is_announced() {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("f"), "a\nb\nc\n").unwrap();
    let cases = [
        (serde_json::json!({ "path": "f" }), Ok("a\nb\nc\n")),
        (
            serde_json::json!({ "path": "f", "offset": 2, "limit": 1 }),
            Ok("b\n\n[2 more lines in file. Use offset=3 to continue.]"),
        ),
        (
            serde_json::json!({ "path": "f", "offset": 9 }),
            Err("Offset 9 is beyond end of file (4 lines total)"),
        ),
    ];
    for (arguments, expected) in cases {
        let found = call(&directory, arguments.clone()).await;
        let text =
            found.map(|output| output.content.iter().filter_map(UserBlock::as_text).collect());
        let text: Result<String, String> = text.map_err(|error| error.to_string());
        assert_eq!(text.as_deref().map_err(String::as_str), expected, "{arguments}");
    }
}
