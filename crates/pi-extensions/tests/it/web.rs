//! Modules of Node and of the web platform: files of checks, compared with the answers of Node.
//!
//! `tests/fixtures/web/NAME.mjs` exports checks, and `NAME.json` has what Node answers to each.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::trial::Setup;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/web")
}

/// Runs all checks of a file in one call of a tool.
const RUNNER: &str = r#"
import { checks } from "./checks.mjs";
export default function (pi) {
    pi.registerTool({
        name: "checks", description: "Runs the checks.", parameters: { type: "object" },
        async execute() {
            const values = {};
            for (const [name, check] of Object.entries(checks)) {
                try { values[name] = await check(); } catch (error) { values[name] = `THROWS ${error.stack}`; }
            }
            return { content: [{ type: "text", text: JSON.stringify(values) }] };
        },
    });
}
"#;

async fn compare(name: &str) {
    let checks = std::fs::read_to_string(fixtures().join(format!("{name}.mjs"))).unwrap();
    let recorded = std::fs::read(fixtures().join(format!("{name}.json"))).unwrap();
    let recorded: Map<String, Value> = serde_json::from_slice(&recorded).unwrap();
    let trial = Setup::new()
        .file("project/checks.mjs", &checks)
        .extension("project/runner.js", RUNNER)
        .start()
        .await;
    let values: Map<String, Value> =
        serde_json::from_str(&trial.tool_text("checks", json!({})).await).unwrap();
    assert_eq!(trial.problems(), Vec::<String>::new());
    let different =
        recorded.iter().filter(|(check, expected)| values.get(*check) != Some(expected));
    let different: Vec<String> = different
        .map(|(check, expected)| {
            let got = values.get(check).unwrap_or(&Value::Null);
            format!("{check}\n  expected {expected}\n  got      {got}")
        })
        .collect();
    assert!(different.is_empty(), "{} checks:\n{}", different.len(), different.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_behave_as_in_node() {
    compare("streams").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn computing_modules_behave_as_in_node() {
    compare("computing").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn locales_are_formatted_as_in_node() {
    compare("intl").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sockets_and_servers_behave_as_in_node() {
    compare("sockets").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stores_follow_asynchronous_code_as_in_node() {
    compare("storage").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_system_is_described_as_in_node() {
    compare("system").await;
}
