//! `pi.exec` as pi 1.5.0 answers.

use serde_json::{Map, Value};

#[tokio::test(flavor = "multi_thread")]
async fn programs_end_in_a_result_of_pi() {
    let values = crate::kit::run("kit", "exec.ts", "runs").await;
    let recorded = std::fs::read(crate::kit::fixtures("kit/expected/exec.json")).unwrap();
    let mut recorded: Map<String, Value> = serde_json::from_slice(&recorded).unwrap();
    // The directory of the session has another name here.
    recorded["defaultCwd"]["stdout"] = "project\n".into();
    for (name, expected) in &recorded {
        assert_eq!(values.get(name), Some(expected), "{name}");
    }
}
