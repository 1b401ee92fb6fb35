//! The conformance kit: extensions whose tools run named checks, and what pi 1.5.0 answers to each.
//!
//! A check that throws says so in its value, so that a missing function costs one line.

mod server;

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::trial::Setup;

pub(crate) fn fixtures(directory: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(directory)
}

/// Runs the tool of a file of checks and returns their values.
pub(crate) async fn run(directory: &str, file: &str, tool: &str) -> Map<String, Value> {
    let port = server::start().await;
    let mut setup = Setup::new().variable("PROBE_PORT", &port);
    for (directory, name) in [("kit", "lib-report.ts"), (directory, file)] {
        let text = std::fs::read_to_string(fixtures(directory).join(name)).unwrap();
        setup = setup.file(&format!("kit/{name}"), &text);
    }
    let path = setup.path(&format!("kit/{file}"));
    let trial = setup.existing(path).start().await;
    assert_eq!(trial.problems(), Vec::<String>::new());
    let text = trial.tool_text(tool, json!({})).await;
    serde_json::from_str(&text).unwrap()
}

/// Compares the checks of a kit file with the recorded ones. `different` names the checks that may
/// differ, because they depend on the engine or on the machine; one that is equal is an error, so
/// that the list stays true.
pub(crate) async fn compare(file: &str, tool: &str, different: &[&str]) {
    compare_in("kit", file, tool, different).await;
}

/// Compares the checks of a file in a directory of fixtures.
pub(crate) async fn compare_in(directory: &str, file: &str, tool: &str, different: &[&str]) {
    let values = run(directory, file, tool).await;
    let expected = fixtures(directory).join(format!("expected/{tool}.json"));
    let recorded = std::fs::read(expected).unwrap();
    let recorded: Map<String, Value> = serde_json::from_slice(&recorded).unwrap();
    let mut problems = Vec::new();
    for (name, expected) in &recorded {
        let got = values.get(name).unwrap_or(&Value::Null);
        if (got == expected) == different.contains(&name.as_str()) {
            problems.push(format!("{name}\n  expected {expected}\n  got      {got}"));
        }
    }
    assert!(problems.is_empty(), "{} checks:\n{}", problems.len(), problems.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn node_fs() {
    compare("node-fs.ts", "node_fs", &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn node_child() {
    compare("node-child.ts", "node_child", &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn node_misc() {
    compare("node-misc.ts", "node_misc", &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn web() {
    compare("web.ts", "web", &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lang() {
    // Times are masked in the recording; `errors` has the name of a transpiled expression.
    compare("lang.ts", "lang", &["dates", "errors"]).await;
}
