//! Files that are not regular, or that are larger than memory.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::Duration;

use pi_tools::{Attachment, attach, edit, grep, read, write};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::call::{call, text, workspace};

fn mkfifo(path: &Path) {
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Calls a tool, which must return at once.
async fn soon(tool: &pi_agent::FnTool, arguments: &Value) -> String {
    let calling = call(tool, arguments);
    text(&tokio::time::timeout(Duration::from_secs(20), calling).await.expect("the call hangs"))
}

#[tokio::test]
async fn only_regular_files_are_read_and_written() {
    let directory = TempDir::new().unwrap();
    let path = |name: &str| directory.path().join(name);
    mkfifo(&path("pipe"));
    let _socket = UnixListener::bind(path("socket")).unwrap();
    symlink("pipe", path("link")).unwrap();
    symlink("/dev/zero", path("zero")).unwrap();
    let workspace = workspace(directory.path());
    let names = ["pipe", "link", "socket", "zero", "/dev/null", "/dev/zero"];
    for name in names {
        let arguments = json!({
            "path": name, "content": "x", "pattern": "x",
            "edits": [{ "oldText": "a", "newText": "b" }],
        });
        for tool in [read(workspace.clone()), write(workspace.clone()), edit(workspace.clone())] {
            let answer = soon(&tool, &arguments).await;
            let is_refused = answer.starts_with("error: ") && answer.contains("not a regular file");
            assert!(is_refused, "{tool:?} {name}: {answer}");
        }
        let answer = soon(&grep(workspace.clone()), &arguments).await;
        assert!(answer.starts_with("error: Not a file or directory"), "{name}: {answer}");
        let error = attach(&workspace, name).await.unwrap_err().to_string();
        assert!(error.starts_with("Not a file: "), "{name}: {error}");
    }
    // A search of the directory passes over them.
    fs::write(path("file"), "found x\n").unwrap();
    let answer = soon(&grep(workspace.clone()), &json!({ "pattern": "x" })).await;
    assert_eq!(answer, "file:1: found x");
    // A directory keeps its own error.
    let answer = soon(&read(workspace.clone()), &json!({ "path": "." })).await;
    assert_eq!(answer, "error: EISDIR: illegal operation on a directory, read");
}

/// A file of the kernel that looks regular and waits for data. Only the administrator may open it.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn files_that_wait_for_data_are_errors() {
    let directory = TempDir::new().unwrap();
    let answer = soon(&read(workspace(directory.path())), &json!({ "path": "/proc/kmsg" })).await;
    let denied = ["EPERM", "EACCES", "no data now"].iter().any(|why| answer.contains(why));
    // Messages that are there are not waited for.
    assert!(denied || !answer.starts_with("error: "), "{answer}");
}

/// Returns the largest resident memory of this process, in MB.
#[cfg(target_os = "linux")]
fn peak_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap() / 1024
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn huge_files_are_read_in_parts_and_not_edited() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("huge");
    // Two lines, and a hole of 200 GB.
    fs::write(&path, "first\nsecond\n").unwrap();
    fs::File::options().append(true).open(&path).unwrap().set_len(200 << 30).unwrap();
    let workspace = workspace(directory.path());
    let before = peak_memory();
    let answer = soon(&read(workspace.clone()), &json!({ "path": "huge", "limit": 2 })).await;
    let rest = "\n\n[more than 1 more lines in file. Use offset=3 to continue.]";
    assert_eq!(answer, format!("first\nsecond{rest}"));
    let answer = soon(&read(workspace.clone()), &json!({ "path": "huge", "offset": 3 })).await;
    assert!(answer.starts_with("[Line 3 is more than 512.0MB, exceeds"), "{answer}");
    let edits = json!({ "path": "huge", "edits": [{ "oldText": "first", "newText": "1" }] });
    let answer = soon(&edit(workspace.clone()), &edits).await;
    assert!(answer.contains("It has 204800.0MB; edit changes files of up to 64.0MB."), "{answer}");
    let attached = attach(&workspace, "huge").await.unwrap();
    assert!(matches!(attached.content, Attachment::Note(_)), "{:?}", attached.content);
    let written = json!({ "path": "huge", "content": "small" });
    assert_eq!(soon(&write(workspace.clone()), &written).await, "Successfully wrote to huge");
    assert_eq!(fs::read_to_string(&path).unwrap(), "small");
    // Other tests of this process run meanwhile.
    assert!(peak_memory() < before + 300, "{before}, then {}", peak_memory());
}

#[tokio::test]
async fn attached_files_are_described_if_they_cannot_be_included() {
    let directory = TempDir::new().unwrap();
    let workspace = workspace(directory.path());
    let large = format!("{}end", "a line of text\n".repeat(300_000));
    let cases: [(&str, &[u8], &str, bool); 6] = [
        ("plain", b"text\n", "text\n", false),
        ("mark", b"\xef\xbb\xbftext\n", "text\n", false),
        ("empty", b"", "[The file is empty.]", true),
        (
            "binary",
            b"\x7fELF\x02\x01\x01\0\0",
            "[Binary file of 9B; its content is not included.]",
            true,
        ),
        (
            "broken.png",
            b"\x89PNG\r\n\x1a\nnothing",
            "[Binary file of 15B; its content is not included.]",
            true,
        ),
        ("large", large.as_bytes(), "[Only the first 50.0KB of 4.3MB are included.]", true),
    ];
    for (name, content, expected, warns) in cases {
        fs::write(directory.path().join(name), content).unwrap();
        let attached = attach(&workspace, name).await.unwrap();
        let (Attachment::Text(shown) | Attachment::Note(shown)) = attached.content else {
            panic!("{name}: an image");
        };
        if name == "large" {
            assert!(shown.len() < 60_000 && shown.ends_with(expected), "{name}");
        } else {
            assert_eq!(shown, expected, "{name}");
        }
        assert_eq!(attached.warning.is_some(), warns, "{name}: {:?}", attached.warning);
    }
}
