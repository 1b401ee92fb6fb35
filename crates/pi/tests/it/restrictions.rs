//! A restriction that is configured and cannot be used stops the program before anything runs.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::json;

use crate::guard::{bash, model, stderr};
use crate::scenarios::server::Server;
use crate::test_env::TestEnv;

/// A model that makes a file, and the configuration for it outside of `settings.json`.
fn setup() -> (TestEnv, Server) {
    let env = TestEnv::new();
    let server = model(&env, &[bash("touch made")]);
    (env, server)
}

const MODEL: [&str; 4] = ["--provider", "mock", "--model", "m1"];

/// Runs every mode, in each of which the model could act, and `prepare` changes the command.
fn in_every_mode(env: &TestEnv, more: &[&str], prepare: impl Fn(&mut Command)) -> Vec<Output> {
    let modes: [&[&str]; 3] = [&["-p", "Go"], &["--mode", "json", "Go"], &["--mode", "rpc"]];
    let run = |mode: &&[&str]| {
        let mut command = env.command(&[&MODEL[..], more, mode].concat());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        prepare(&mut command);
        let mut child = command.spawn().unwrap();
        let prompt = json!({"type": "prompt", "message": "Go"});
        // The program may have ended already.
        let _ = writeln!(child.stdin.take().unwrap(), "{prompt}");
        child.wait_with_output().unwrap()
    };
    modes.iter().map(run).collect()
}

#[track_caller]
fn assert_stopped(outputs: &[Output], env: &TestEnv, server: &Server, expected: &str) {
    for output in outputs {
        let message = env.stable(&stderr(output));
        assert_eq!(output.status.code(), Some(6), "{message}");
        assert!(message.starts_with(&format!("pi: {expected}")), "{message}");
        assert_eq!(message.lines().count(), 2, "one error and its hint: {message}");
        assert!(message.contains("\nhint: "), "{message}");
    }
    assert!(server.requests().is_empty());
    assert!(!env.project().join("made").exists());
}

#[test]
fn settings_and_rules_that_cannot_be_read_stop_the_program() {
    // A directory or a file in the place of the other cannot be read by anyone.
    let unreadable = "cannot be read";
    let settings = |env: &TestEnv| {
        fs::remove_file(env.agent().join("settings.json")).unwrap();
        fs::create_dir(env.agent().join("settings.json")).unwrap();
    };
    let rules = |env: &TestEnv| fs::write(env.agent().join("rules"), "").unwrap();
    let rule_file =
        |env: &TestEnv| fs::create_dir_all(env.agent().join("rules/mine.toml")).unwrap();
    let cases: [(&dyn Fn(&TestEnv), &str); 3] = [
        (
            &settings,
            "the settings are invalid: [ROOT]/home/.pi/agent/settings.json: cannot be read",
        ),
        (&rules, "the policy cannot be loaded: the rules in [ROOT]/home/.pi/agent/rules cannot"),
        (&rule_file, "the policy cannot be loaded: the rules in [ROOT]/home/.pi/agent/rules/mine"),
    ];
    for (prepare, expected) in cases {
        let (env, server) = setup();
        prepare(&env);
        assert_stopped(&in_every_mode(&env, &[], |_| {}), &env, &server, expected);
        for command in [&["policy", "check", "--", "ls"][..], &["sandbox", "--", "ls"]] {
            let (code, message) = env.failure(command);
            assert_eq!(code, Some(6), "{command:?}: {message}");
            assert!(message.contains(unreadable), "{message}");
        }
        let doctor = env.pi(&["doctor"]);
        assert_eq!(doctor.status.code(), Some(1), "{doctor:?}");
        assert!(String::from_utf8_lossy(&doctor.stdout).contains(unreadable), "{doctor:?}");
    }
    // A file that does not exist restricts nothing.
    let (env, _server) = setup();
    fs::remove_file(env.agent().join("settings.json")).unwrap();
    let output = env.pi(&[&MODEL[..], &["-p", "Go"]].concat());
    assert!(output.status.success() && env.project().join("made").exists(), "{output:?}");
}

/// Settings of another user, as after one run with `sudo`.
#[test]
#[cfg(unix)]
fn settings_without_permission_stop_the_program() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt, chown};
    use std::os::unix::process::CommandExt as _;
    const OTHER: u32 = 65534;
    let (env, server) = setup();
    let root = env.project().parent().unwrap().to_owned();
    fs::set_permissions(&root, PermissionsExt::from_mode(0o755)).unwrap();
    let settings = env.agent().join("settings.json");
    fs::set_permissions(&settings, PermissionsExt::from_mode(0o600)).unwrap();
    let is_root = fs::metadata(&root).is_ok_and(|data| data.uid() == 0);
    let as_other = |command: &mut Command| {
        if is_root {
            command.uid(OTHER).gid(OTHER);
        }
    };
    if is_root {
        for path in files_below(&root).iter().filter(|path| **path != settings) {
            chown(path, Some(OTHER), Some(OTHER)).unwrap();
        }
        let mut version = env.command(&["--version"]);
        as_other(&mut version);
        if !version.output().is_ok_and(|output| output.status.success()) {
            println!("NOT TESTED: other users cannot run the program");
            return;
        }
    } else {
        fs::set_permissions(&settings, PermissionsExt::from_mode(0o000)).unwrap();
    }
    let expected = "the settings are invalid: [ROOT]/home/.pi/agent/settings.json: cannot be read: \
                    Permission denied";
    assert_stopped(&in_every_mode(&env, &[], as_other), &env, &server, expected);
}

fn files_below(directory: &Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_below(&path));
        }
        files.push(path);
    }
    files
}

#[test]
fn extensions_and_rules_that_are_not_loaded_stop_restricting_profiles() {
    let extension = |env: &TestEnv| {
        fs::create_dir_all(env.agent().join("extensions")).unwrap();
        fs::write(env.agent().join("extensions/gate.ts"), "throw new Error()").unwrap();
    };
    let of_project = |env: &TestEnv| {
        fs::create_dir_all(env.project().join(".pi/extensions")).unwrap();
        fs::write(env.project().join(".pi/extensions/gate.ts"), "").unwrap();
    };
    let rules = |env: &TestEnv| {
        fs::create_dir_all(env.project().join(".pi/rules")).unwrap();
        fs::write(env.project().join(".pi/rules/ours.toml"), "").unwrap();
    };
    // Options that make the program start: without extensions, or with a decision on the project.
    let cases: [(&dyn Fn(&TestEnv), &[&str], &str, &[&str]); 4] = [
        (&extension, &[], "1 extension is not loaded: [ROOT]/home", &["-ne"]),
        (&of_project, &["-a"], "1 extension is not loaded: [ROOT]/proj", &["-ne"]),
        (&of_project, &[], "[ROOT]/project is not trusted, so 1 item is not used", &["-ne"]),
        (&rules, &[], "[ROOT]/project is not trusted, so 1 item is not used", &["-na"]),
    ];
    for (prepare, options, expected, remedy) in cases {
        for profile in ["careful", "unattended"] {
            let (env, server) = setup();
            prepare(&env);
            let options = [&["--profile", profile], options].concat();
            let expected = format!("the profile {profile} cannot be used: {expected}");
            let outputs = in_every_mode(&env, &options, |_| {});
            assert_stopped(&outputs, &env, &server, &expected);
            let line = [&MODEL[..], &options, remedy, &["-p", "Go"]].concat();
            let output = env.pi(&line);
            // Without a sandbox, `unattended` does not start.
            assert!([Some(0), Some(8)].contains(&output.status.code()), "{output:?}");
        }
        let (env, _server) = setup();
        prepare(&env);
        let output = env.pi(&[&MODEL[..], options, &["-p", "Go"]].concat());
        assert!(output.status.success(), "explore warns: {output:?}");
        let stderr = stderr(&output);
        assert!(stderr.contains("warning: ") || stderr.contains("Failed to load"), "{output:?}");
    }
}
