//! Checks whose result changes although the work does not.

use std::fs;

use pi_guard::confine::ConfinementLevel;
use serde_json::json;

use super::adversary::run;
use crate::guard::rung;
use crate::test_env::TestEnv;

#[test]
fn a_check_that_turns_green_by_itself_does_not_converge() {
    if rung() == ConfinementLevel::None {
        return;
    }
    // Number of the run of the check in which it passes, calls, more fields, code, and a part of
    // the reason.
    let flaky = "flaky: it failed before the run, passed, and failed again";
    let blind = "failed before the run and passes now, although nothing that it uses changed";
    let accept = json!({ "accept_review": true });
    let cases: &[(&str, &[&str], _, i32, &str)] = &[
        ("1", &[], json!({}), 10, flaky),
        ("[1-9]", &[], json!({}), 17, blind),
        ("[1-9]", &[], accept, 0, blind),
        // A change may be the reason, if the check uses the file.
        ("[1-9]", &["echo right > used"], json!({}), 0, "The check passed."),
        ("[1-9]", &["mkdir -p docs && echo right > docs/unused"], json!({}), 17, blind),
        // Two rounds: the check stays red, and is green in the third run.
        ("2", &[], json!({ "attempts": { "rounds": 1 } }), 10, flaky),
    ];
    for (passing, calls, fields, code, reason) in cases {
        let env = TestEnv::new();
        let counter = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let file = counter.path().join("runs");
        fs::write(&file, "0").unwrap();
        let command = format!(
            "cat used; n=$(cat {0}); echo $((n + 1)) > {0}; case $n in {passing}) exit 0;; esac; exit 1",
            file.display()
        );
        let mut contract = json!({
            "verify": [{ "command": command, "name": "count" }],
            "policy": { "writable": [counter.path()] },
            "attempts": { "rounds": 0 },
        });
        for (name, value) in fields.as_object().unwrap() {
            contract[name] = value.clone();
        }
        let run = run(&env, calls, contract);
        assert_eq!(run.code, Some(*code), "{passing}: {}", run.stderr);
        let text = run.report["reason"].as_str().unwrap();
        assert!(text.contains(reason), "{passing}: {text}");
    }
}
