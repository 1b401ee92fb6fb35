//! The packages of pi: names, and what their functions give, beside those of pi 1.5.0.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::kit::compare;
use crate::trial::Setup;

#[tokio::test(flavor = "multi_thread")]
async fn names_of_pi_ai() {
    compare("hostmods.ts", "exports_ai", &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn names_of_pi_coding_agent_and_pi_agent_core() {
    compare("hostmods.ts", "exports_pi", &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn names_of_typebox() {
    compare("hostmods.ts", "exports_typebox", &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn helpers() {
    compare("hostmods.ts", "helpers", &[]).await;
}

/// Further functions, recorded from pi 1.5.0.
#[tokio::test(flavor = "multi_thread")]
async fn functions_of_the_packages_give_what_pi_gives() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/packages");
    let run = r#"
        import { checks } from "./checks";
        export default (pi: any) => pi.registerTool({ name: "t", description: "", parameters: { type: "object" }, async execute() {
            const out: any = {};
            for (const [name, check] of Object.entries(checks)) {
                try { out[name] = (await check()) ?? "<undefined>"; } catch (e: any) { out[name] = `THROWS ${e.name}: ${e.message}`; }
            }
            return { content: [{ type: "text", text: JSON.stringify(out) }] };
        } });
    "#;
    let checks = std::fs::read_to_string(fixtures.join("checks.ts")).unwrap();
    let trial = Setup::new()
        .file("project/checks.ts", &checks)
        .extension("project/run.ts", run)
        .start()
        .await;
    assert_eq!(trial.problems(), Vec::<String>::new());
    let values: Map<String, Value> =
        serde_json::from_str(&trial.tool_text("t", json!({})).await).unwrap();
    let expected = std::fs::read(fixtures.join("expected.json")).unwrap();
    let expected: Map<String, Value> = serde_json::from_slice(&expected).unwrap();
    for (name, value) in &expected {
        assert_eq!(values.get(name), Some(value), "{name}");
    }
}
