//! Searches compared with recordings of the TypeScript pi.
//!
//! A call in `fixtures/*.json` has the recorded `text` and `details`, or `error`. Where our result
//! differs, `deviation` is the reason and `ours` is our result. Lines of `grep` and `find` are
//! compared as a set, because the order of the recorded ones depends on threads.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use pi_agent::{AgentTool, FnTool, Invocation, ToolError, ToolOutput, Updates};
use pi_protocol::{CancelToken, UserBlock};
use pi_tools::{Workspace, find, grep, ls};
use serde::Deserialize;
use serde_json::Value;

use crate::env::TestEnv;

#[derive(Deserialize)]
struct Fixture {
    groups: Vec<Group>,
}

#[derive(Deserialize)]
struct Group {
    name: String,
    files: Vec<Entry>,
    calls: Vec<Call>,
}

/// A file, directory or link to create before the calls.
#[derive(Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum Entry {
    Directory {
        directory: String,
    },
    Link {
        link: String,
        to: String,
    },
    /// `{}` in a path stands for the number of the file.
    Text {
        path: String,
        text: String,
        #[serde(default = "one")]
        repeat: usize,
        count: Option<usize>,
    },
    Bytes {
        path: String,
        base64: String,
    },
}

fn one() -> usize {
    1
}

#[derive(Deserialize)]
struct Call {
    arguments: Value,
    #[serde(flatten)]
    observed: Outcome,
    ours: Option<Outcome>,
    deviation: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Outcome {
    text: Option<String>,
    details: Option<Value>,
    error: Option<String>,
}

pub(crate) async fn call(
    tool: &FnTool,
    arguments: Value,
    cancel: CancelToken,
) -> Result<ToolOutput, ToolError> {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    let (id, updates) = ("1".to_owned(), Updates::new(|_| {}));
    tool.execute(Invocation::new(id, arguments, cancel, updates)).await
}

pub(crate) fn text(output: &ToolOutput) -> String {
    output.content.iter().filter_map(UserBlock::as_text).collect()
}

#[tokio::test]
async fn ls_matches_the_recording() {
    replay(&LS, &TestEnv::host(), 1).await;
}

#[tokio::test]
async fn find_matches_the_recording() {
    replay(&FIND, &TestEnv::host(), 1).await;
}

#[tokio::test]
async fn grep_matches_the_recording() {
    replay(&GREP, &TestEnv::host(), 1).await;
}

/// A tool, its recording, and the comparison of its results.
pub(crate) struct Observed {
    fixture: &'static str,
    tool: fn(Arc<Workspace>) -> FnTool,
    comparable: fn(&str) -> String,
}

pub(crate) const LS: Observed =
    Observed { fixture: include_str!("../fixtures/ls.json"), tool: ls, comparable: str::to_owned };
pub(crate) const FIND: Observed =
    Observed { fixture: include_str!("../fixtures/find.json"), tool: find, comparable: sorted };
pub(crate) const GREP: Observed =
    Observed { fixture: include_str!("../fixtures/grep.json"), tool: grep, comparable: sorted };

/// Replays every `one_of`-th call, and at least one of each group.
pub(crate) async fn replay(observed: &Observed, env: &TestEnv, one_of: usize) {
    let Observed { fixture, tool, comparable } = observed;
    let fixture: Fixture = serde_json::from_str(fixture).unwrap();
    let mut wrong = Vec::new();
    for group in &fixture.groups {
        let directory = env.directory();
        let there = env.remote_path(directory.path());
        let root = there.to_str().unwrap();
        for entry in &group.files {
            create(directory.path(), entry);
        }
        let workspace = Workspace::new(Arc::clone(&env.executor), there.clone(), None);
        let tool = tool(Arc::new(workspace));
        for case in group.calls.iter().step_by(one_of) {
            let arguments = case.arguments.to_string().replace("ROOT", root);
            let arguments = serde_json::from_str(&arguments).unwrap();
            let found = match call(&tool, arguments, CancelToken::new()).await {
                Ok(output) => Outcome {
                    text: Some(comparable(&text(&output))),
                    details: output.details.map(without_content),
                    error: None,
                },
                Err(error) => {
                    let error = Some(error.to_string().replace(root, "ROOT"));
                    Outcome { text: None, details: None, error }
                }
            };
            let mut expected = case.ours.clone().unwrap_or_else(|| case.observed.clone());
            expected.text = expected.text.as_deref().map(comparable);
            if found != expected {
                wrong.push(format!(
                    "{}, {}:\n   found {found:?}\nexpected {expected:?}",
                    group.name, case.arguments
                ));
            }
            assert!(case.ours.is_none() || case.deviation.is_some(), "{}", case.arguments);
            assert_ne!(
                case.ours.as_ref(),
                Some(&case.observed),
                "no deviation: {}",
                case.arguments
            );
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// The lines of a result in a fixed order.
fn sorted(text: &str) -> String {
    let mut lines: Vec<&str> = text.split('\n').collect();
    lines.sort_unstable();
    lines.join("\n")
}

/// `details` without the truncated text, which fixtures have only in the result.
fn without_content(mut details: Value) -> Value {
    if let Some(truncation) = details.get_mut("truncation").and_then(Value::as_object_mut) {
        assert!(truncation.remove("content").is_some());
    }
    details
}

fn create(root: &Path, entry: &Entry) {
    let write = |path: &str, content: &[u8]| {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    };
    match entry {
        Entry::Directory { directory } => fs::create_dir_all(root.join(directory)).unwrap(),
        Entry::Link { link, to } => std::os::unix::fs::symlink(to, root.join(link)).unwrap(),
        Entry::Text { path, text, repeat, count: None } => {
            write(path, text.repeat(*repeat).as_bytes());
        }
        Entry::Text { path, text, repeat, count: Some(count) } => {
            for number in 0..*count {
                let path = path.replace("{}", &number.to_string());
                write(&path, text.repeat(*repeat).as_bytes());
            }
        }
        Entry::Bytes { path, base64 } => write(path, &BASE64_STANDARD.decode(base64).unwrap()),
    }
}
