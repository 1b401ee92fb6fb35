//! The profile `careful`: what was not approved runs in the sandbox.

use std::fs;

use pi_guard::confine::ConfinementLevel;
use serde_json::json;

use crate::guard::{bash, model, results, rung, stderr, with_answers};
use crate::test_env::TestEnv;

/// A project beside a home directory with a key.
fn setup() -> TestEnv {
    let env = TestEnv::new();
    let ssh = env.agent().ancestors().nth(2).unwrap().join(".ssh");
    fs::create_dir_all(&ssh).unwrap();
    fs::write(ssh.join("id_rsa"), "the private key\n").unwrap();
    env
}

#[test]
fn commands_that_only_read_run_in_the_sandbox_without_a_question() {
    if rung() == ConfinementLevel::None {
        return;
    }
    let env = setup();
    fs::write(env.project().join("notes"), "some notes\n").unwrap();
    let server = model(
        &env,
        &[
            bash("cat notes | wc -l"),
            bash("cat ~/.ssh/id_rsa"),
            bash("cat ~/.ssh/id_rsa | head -1"),
            ("read", json!({"path": "~/.ssh/id_rsa"})),
            ("grep", json!({"pattern": "private", "path": "~/.ssh"})),
            ("read", json!({"path": "notes"})),
            bash("touch made"),
        ],
    );
    let output = env.pi(&["-p", "--profile", "careful", "--tools", "read,bash,grep", "Go"]);
    assert!(output.status.success(), "{output:?}");
    let status = "profile careful, sandbox workspace-write";
    assert!(stderr(&output).contains(status), "{output:?}");
    assert!(stderr(&output).contains("no network"), "{output:?}");
    let results = results(&server);
    assert_eq!(results[0].trim(), "1");
    for result in &results[1..5] {
        assert!(!result.contains("the private key"), "{result}");
    }
    for result in &results[1..3] {
        assert!(result.contains("The sandbox denied"), "{result}");
        assert!(result.contains("no one can approve it in this mode"), "{result}");
    }
    assert!(results[3].contains("this path is hidden"), "{}", results[3]);
    assert!(results[4].contains("this path is hidden"), "{}", results[4]);
    assert!(results[5].contains("some notes"), "{}", results[5]);
    assert!(results[6].contains("no one can approve it"), "{}", results[6]);
    assert!(!env.project().join("made").exists());
}

/// JSON mode cannot ask either, and RPC mode asks unless the policy is `never`.
#[test]
fn every_mode_decides_the_same() {
    if rung() == ConfinementLevel::None {
        return;
    }
    let calls = [bash("cat ~/.ssh/id_rsa"), bash("touch made"), bash("echo hello | wc -c")];
    for profile in ["careful", "unattended"] {
        let of_mode = |mode: &[&str]| {
            let env = setup();
            let server = model(&env, &calls);
            let options = ["--profile", profile, "--approval", "never"];
            if mode.is_empty() {
                assert!(with_answers(&env, &options, &[]).is_empty());
            } else {
                let output = env.pi(&[&options[..], mode, &["Go"]].concat());
                assert!(output.status.success(), "{output:?}");
            }
            let results = results(&server).iter().map(|text| env.stable(text)).collect::<Vec<_>>();
            (results, env.project().join("made").exists())
        };
        let printed = of_mode(&["-p"]);
        assert_eq!(printed.0.len(), calls.len());
        assert_eq!(printed.1, profile == "unattended", "{printed:?}");
        assert!(printed.0[2].contains('6') && !printed.0[0].contains("the private key"));
        assert_eq!(of_mode(&["--mode", "json"]), printed, "{profile}");
        assert_eq!(of_mode(&[]), printed, "{profile}");
    }
}

#[test]
fn what_the_sandbox_denied_can_be_approved() {
    if rung() == ConfinementLevel::None {
        return;
    }
    let env = setup();
    let read = bash("cat ~/.ssh/id_rsa");
    let server = model(
        &env,
        &[
            read.clone(),
            read.clone(),
            // The approval of a session covers the same script and no other.
            read,
            bash("cat ~/.ssh/id_rsa ~/.ssh/id_rsa"),
        ],
    );
    let answers = ["No", "Yes, for this session", "No"];
    let asked = with_answers(&env, &["--profile", "careful"], &answers);
    assert_eq!(asked.len(), 3, "{asked:#?}");
    assert!(asked[0].contains("without the sandbox"), "{}", asked[0]);
    let results = results(&server);
    let shown: Vec<bool> = results.iter().map(|text| text.contains("the private key")).collect();
    assert_eq!(shown, [false, true, true, false], "{results:#?}");
}

#[test]
fn an_approval_lifts_the_sandbox_for_its_scope_only() {
    if rung() == ConfinementLevel::None {
        return;
    }
    let env = setup();
    let elsewhere = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let outside = |name: &str| elsewhere.path().join(name);
    let mkdir = |name: &str| format!("mkdir {}", outside(name).display());
    let calls = [
        bash(&mkdir("one")),
        // Another directory outside is asked about again.
        bash(&mkdir("two")),
        bash(&format!("cat ~/.ssh/id_rsa; {}", mkdir("one"))),
        bash(&format!("cd / && {} && echo done", mkdir("four"))),
        // The same command is covered.
        bash(&mkdir("one")),
    ];
    // The third runs in the sandbox, because not all of it was approved.
    let server = model(&env, &calls);
    let answers = ["Yes, for this session", "No", "No", "No"];
    let asked = with_answers(&env, &["--profile", "careful"], &answers);
    assert_eq!(asked.len(), 4, "{asked:#?}");
    let made: Vec<bool> =
        ["one", "two", "four"].iter().map(|name| outside(name).exists()).collect();
    let results = results(&server);
    assert_eq!(made, [true, false, false], "{results:#?}");
    assert!(results[4].contains("File exists"), "{results:#?}");
    assert!(!results.concat().contains("the private key"), "{results:#?}");
}

#[test]
#[cfg(target_os = "linux")]
fn without_a_sandbox_every_command_needs_approval() {
    use crate::guard::without_landlock;
    let env = setup();
    fs::write(env.project().join("notes"), "some notes\n").unwrap();
    let server = model(
        &env,
        &[
            bash("cat notes"),
            bash("X=1"),
            bash("echo hello"),
            ("read", json!({"path": "~/.ssh/id_rsa"})),
            ("read", json!({"path": "notes"})),
        ],
    );
    let mut command = env.command(&["-p", "--profile", "careful", "Go"]);
    let output = without_landlock(move || command.output().unwrap());
    assert!(output.status.success(), "{output:?}");
    assert!(stderr(&output).contains("Every command needs approval"), "{output:?}");
    assert!(stderr(&output).contains("does not support Landlock"), "{output:?}");
    let results = results(&server);
    for result in &results[..3] {
        assert!(result.contains("nothing enforces that"), "{result}");
        assert!(result.contains("no one can approve it"), "{result}");
    }
    assert!(results[3].contains("this path is hidden"), "{}", results[3]);
    assert!(results[4].contains("some notes"), "{}", results[4]);
}
