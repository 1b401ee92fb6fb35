//! typebox: the schemas that builders give, checks and values, beside those of pi 1.5.0.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::trial::Setup;

#[tokio::test(flavor = "multi_thread")]
async fn builders_checks_and_values_are_those_of_pi() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/typebox");
    let trial = Setup::new().existing(fixtures.join("probe.ts")).start().await;
    assert_eq!(trial.problems(), Vec::<String>::new());
    let values: Map<String, Value> =
        serde_json::from_str(&trial.tool_text("t", json!({})).await).unwrap();
    let expected = std::fs::read(fixtures.join("expected.json")).unwrap();
    let expected: Map<String, Value> = serde_json::from_slice(&expected).unwrap();
    for (name, value) in &expected {
        assert_eq!(values.get(name), Some(value), "{name}");
    }
    assert_eq!(values.len(), expected.len());
}
