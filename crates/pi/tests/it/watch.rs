//! Rules at the moment a program starts, with the binary, real commands and a scripted model.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use pi_guard::confine::{ConfinementLevel, exec_watch_problem};
use serde_json::Value;

use crate::guard::{bash, model, results, rung, stderr, with_answers};
use crate::test_env::TestEnv;

const RULES: &str = r#"
[[command]]
prefix = ["git", "push"]
decision = "forbid"
justification = "Nothing leaves this machine."
[[command]]
prefix = ["git", "fetch"]
decision = "ask"
justification = "Ask before anything arrives."
[[command]]
prefix = ["make"]
decision = "allow"
"#;

/// A project with rules, a `git` that notes what it was asked for, and scripts whose text does not
/// show what they run.
fn setup() -> TestEnv {
    let env = TestEnv::new();
    let project = env.project();
    fs::create_dir_all(project.join("sub")).unwrap();
    fs::create_dir_all(env.agent().join("rules")).unwrap();
    fs::write(env.agent().join("rules/git.toml"), RULES).unwrap();
    let git = project.join("sub/git");
    fs::write(&git, "#!/bin/sh\necho \"$1\" >> sub/ran\n").unwrap();
    fs::set_permissions(&git, fs::Permissions::from_mode(0o755)).unwrap();
    let script = "sub/git status; sub/git fetch; sub/git push origin; sub/git log\n";
    fs::write(project.join("script"), script).unwrap();
    fs::write(project.join("Makefile"), "all:\n\t@sh script\n").unwrap();
    env
}

fn ran(env: &TestEnv) -> String {
    let path = env.project().join("sub/ran");
    let ran = fs::read_to_string(&path).unwrap_or_default();
    let _ = fs::remove_file(path);
    ran
}

/// Returns false if the kernel reports no programs, in which case the status says so.
fn is_watched(env: &TestEnv) -> bool {
    let Some(problem) = exec_watch_problem() else { return true };
    let doctor = env.pi(&["doctor"]);
    assert!(String::from_utf8_lossy(&doctor.stdout).contains(&problem), "{doctor:?}");
    false
}

#[test]
fn the_result_of_a_command_names_refused_programs_and_their_rules() {
    let env = setup();
    if !is_watched(&env) || rung() == ConfinementLevel::None {
        return;
    }
    let server = model(&env, &[bash("sh script"), bash("sub/git status")]);
    let output = env.pi(&["-p", "--profile", "unattended", "Go"]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(ran(&env), "status\nlog\nstatus\n");
    let results = results(&server);
    assert!(
        results[0].contains("`sub/git push origin` is not allowed and was not run"),
        "{}",
        results[0]
    );
    assert!(results[0].contains("Nothing leaves this machine."), "{}", results[0]);
    assert!(results[0].contains("git.toml:2]"), "{}", results[0]);
    assert!(results[0].contains("`sub/git fetch` needs approval and was not run: Ask"));
    assert!(!results[0].contains("The sandbox denied"), "{}", results[0]);
    assert!(!results[1].contains("not run"), "{}", results[1]);
}

#[test]
fn commands_without_a_sandbox_are_watched() {
    let env = setup();
    if !is_watched(&env) {
        return;
    }
    let server = model(&env, &[bash("make"), bash("make 2>&1 | cat; echo $KEPT")]);
    let output = env.command(&["-p", "Go"]).env("KEPT", "kept variable").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(ran(&env), "status\nlog\nstatus\nlog\n");
    let results = results(&server);
    for result in &results {
        assert!(
            result.contains("`sub/git push origin` is not allowed and was not run"),
            "{result}"
        );
    }
    assert!(results[1].contains("kept variable"), "{}", results[1]);
}

#[test]
fn an_approval_covers_rules_that_ask_but_none_that_forbid() {
    let env = setup();
    if !is_watched(&env) || rung() == ConfinementLevel::None {
        return;
    }
    let server = model(&env, &[bash("sh script")]);
    let asked = with_answers(&env, &["--profile", "careful"], &["Yes"]);
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert_eq!(ran(&env), "status\nfetch\nlog\n");
    let results = results(&server);
    assert!(
        results[0].contains("`sub/git push origin` is not allowed and was not run"),
        "{}",
        results[0]
    );
    assert!(!results[0].contains("git fetch"), "{}", results[0]);
}

#[test]
fn the_sandbox_command_reports_refused_programs() {
    let env = setup();
    if !is_watched(&env) || rung() == ConfinementLevel::None {
        return;
    }
    let output = env.pi(&["sandbox", "-q", "--", "sh", "script"]);
    assert_eq!(ran(&env), "status\nlog\n");
    assert!(stderr(&output).contains("sub/git push origin: Nothing leaves"), "{output:?}");
    assert!(stderr(&output).contains("git.toml:2]"), "{output:?}");
    let direct = env.pi(&["sandbox", "-q", "--", "sub/git", "push"]);
    assert_eq!(direct.status.code(), Some(126), "{direct:?}");
    assert!(stderr(&direct).contains("sub/git push: Nothing leaves"), "{direct:?}");
    let more = env.project().join("more.toml");
    fs::write(&more, "[[command]]\nprefix = [\"git\", \"log\"]\ndecision = \"forbid\"\n").unwrap();
    let more = more.to_str().unwrap();
    let out = env.pi(&["sandbox", "--json", "--rules", more, "--", "sh", "script"]).stdout;
    let object: Value = serde_json::from_slice(&out).unwrap();
    let refused = object["refused"].as_array().unwrap();
    let commands: Vec<&str> = refused.iter().map(|one| one["command"].as_str().unwrap()).collect();
    assert_eq!(commands, ["sub/git fetch", "sub/git push origin", "sub/git log"]);
    assert_eq!(refused[1]["reason"], "Nothing leaves this machine.");
    assert!(refused[2]["rule"].as_str().unwrap().ends_with("more.toml:1"), "{refused:?}");
    assert_eq!(object["denied"].as_array().unwrap().len(), 0, "{object}");
    assert_eq!(ran(&env), "status\n");
}
