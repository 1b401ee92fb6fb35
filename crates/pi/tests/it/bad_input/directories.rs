//! Directories and disks that are missing, unreadable, read-only or full.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::scenarios::format::Reply;

use super::{ServerEnv, finish, on_disk, unprivileged};

#[test]
fn invalid_utf8_in_context_files_is_reported() {
    let env = ServerEnv::with_answer();
    let path = env.project().join("AGENTS.md");
    let content = b"Be brief.\nNever say \xff\xfe.\n";
    fs::write(&path, content).unwrap();
    let words = [path.to_str().unwrap(), "not UTF-8 (first at line 2)", "save it as UTF-8"];
    env.run(&["-p", "Hello"]).assert_answered(&words);
    assert!(env.server.requests()[0].to_string().contains("Be brief."));
    assert_eq!(fs::read(&path).unwrap(), content);
}

#[test]
fn unreadable_context_files_are_reported() {
    let env = ServerEnv::with_answer();
    let path = env.project().join("AGENTS.md");
    fs::write(&path, "Be brief.").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    let command = env.command(&["-p", "Hello"]);
    let Some(command) = unprivileged(&command, "unreadable instructions") else { return };
    finish(command, &[]).assert_answered(&[
        path.to_str().unwrap(),
        "Permission denied",
        "make the file readable",
    ]);
}

#[test]
fn a_directory_named_like_a_context_file_is_ignored() {
    let env = ServerEnv::with_answer();
    fs::create_dir(env.project().join("AGENTS.md")).unwrap();
    env.run(&["-p", "Hello"]).assert_answered(&[]);
}

#[test]
fn a_missing_working_directory_is_an_error() {
    for mode in ["-p", "--mode=json", "--mode=rpc"] {
        let env = ServerEnv::with_answer();
        let gone = env.project().join("gone");
        fs::create_dir(&gone).unwrap();
        let pi = env.command(&[]);
        let mut shell = Command::new("sh");
        shell.args(["-c", "rmdir ../gone && exec \"$0\" \"$@\""]).arg(pi.get_program());
        shell.args([mode, "Hello"]).current_dir(&gone);
        finish(shell, &[])
            .assert_failed(6, &["working directory", "change to a directory that exists"]);
    }
}

/// Without `HOME`, the user database is consulted; if it has no entry, pi ends.
#[test]
fn a_missing_home_directory_is_an_error_with_advice() {
    let env = ServerEnv::with_answer();
    let mut command = env.command(&["-p", "Hello"]);
    command.env("HOME", "");
    let mut unshare = Command::new("unshare");
    // The user database has no entry for this id.
    unshare.args(["--user", "--map-user=4242", "--map-group=4242"]);
    let Some(command) = super::in_namespace(&command, unshare, "no home at all") else { return };
    finish(command, &[])
        .assert_failed(6, &["the home directory is not known; set HOME or PI_CODING_AGENT_DIR"]);
}

/// With `PI_CODING_AGENT_DIR`, pi needs no home directory.
#[test]
fn the_agent_directory_replaces_the_home_directory() {
    let env = ServerEnv::with_answer();
    let mut command = env.command(&["-p", "Hello"]);
    command.env_remove("HOME").env("PI_CODING_AGENT_DIR", env.agent());
    finish(command, &[]).assert_answered(&[]);
}

/// A run does not start if its session cannot be saved.
#[test]
fn an_unwritable_agent_directory_ends_the_run_before_the_request() {
    let env = ServerEnv::with_answer();
    fs::set_permissions(env.agent(), fs::Permissions::from_mode(0o555)).unwrap();
    let command = env.command(&["-p", "Hello"]);
    let result = unprivileged(&command, "an unwritable agent directory");
    let result = result.map(|command| finish(command, &[]));
    let without = unprivileged(&env.command(&["-p", "--no-session", "Hello"]), "the same");
    let without = without.map(|command| finish(command, &[]));
    fs::set_permissions(env.agent(), fs::Permissions::from_mode(0o755)).unwrap();
    let (Some(result), Some(without)) = (result, without) else { return };
    result.assert_failed(1, &["cannot create the directory", "sessions", "Permission denied"]);
    // Only the second run sent a request.
    without.assert_answered(&[]);
    assert_eq!(env.server.requests().len(), 1);
}

#[test]
fn an_agent_directory_that_is_a_file_is_reported() {
    let env = ServerEnv::with_answer();
    let mut command = env.command(&["-p", "--model", "mock/m1", "Hello"]);
    command.env("PI_CODING_AGENT_DIR", env.file("models.json"));
    finish(command, &[]).assert_failed(5, &["models.json/models.json", "Not a directory"]);
}

#[test]
fn a_read_only_disk_is_reported_before_the_request() {
    for mode in ["-p", "--mode=json"] {
        let env = ServerEnv::with_answer();
        let disk = env.file("sessions");
        fs::create_dir(&disk).unwrap();
        let command = env.command(&[mode, "Hello"]);
        let Some(command) = on_disk(&command, &disk, "ro,size=64k", "a read-only disk") else {
            return;
        };
        let result = finish(command, &[]);
        let said = if mode == "-p" { &result.stderr } else { &result.stdout };
        assert!(said.contains("Read-only file system"), "{result:?}");
        // JSON mode reports failures as events.
        assert_eq!(result.code, Some(i32::from(mode == "-p")), "{result:?}");
        assert!(env.server.requests().is_empty());
    }
}

#[test]
fn a_full_disk_is_reported_before_the_request() {
    let env = ServerEnv::with_answer();
    let disk = env.file("sessions");
    fs::create_dir(&disk).unwrap();
    let question = "x".repeat(100_000);
    let command = env.command(&["-p", &question]);
    let Some(command) = on_disk(&command, &disk, "size=64k", "a full disk") else { return };
    finish(command, &[]).assert_failed(1, &["No space left on device"]);
    assert!(env.server.requests().is_empty());
}

/// An answer that cannot be saved is printed, since it was paid for; the exit code reports it.
#[test]
fn an_answer_that_cannot_be_saved_is_printed() {
    let answer = "y".repeat(100_000);
    let env = ServerEnv::new(vec![Reply::Text(answer.clone())]);
    let disk = env.file("sessions");
    fs::create_dir(&disk).unwrap();
    let command = env.command(&["-p", "Hello"]);
    let Some(command) = on_disk(&command, &disk, "size=64k", "a disk that fills up") else {
        return;
    };
    let result = finish(command, &[]);
    assert_eq!(result.code, Some(1), "{:?}", result.stderr);
    result.assert_stderr(&["No space left on device"]);
    assert!(result.stdout.trim_end() == answer, "{} bytes", result.stdout.len());
}

/// The next command is answered.
#[test]
fn a_full_disk_does_not_end_rpc_mode() {
    let env = ServerEnv::with_answer();
    let disk = env.file("sessions");
    fs::create_dir(&disk).unwrap();
    let command = env.command(&["--mode", "rpc"]);
    let Some(command) = on_disk(&command, &disk, "size=64k", "a full disk in RPC mode") else {
        return;
    };
    let question = "x".repeat(100_000);
    let input = format!(
        "{{\"id\":\"1\",\"type\":\"prompt\",\"message\":\"{question}\"}}\n\
         {{\"id\":\"2\",\"type\":\"get_last_assistant_text\"}}\n"
    );
    let result = finish(command, input.as_bytes());
    assert_eq!(result.code, Some(0), "{:?}", result.stderr);
    for words in ["\"id\":\"1\"", "\"id\":\"2\""] {
        assert!(result.stdout.contains(words), "{words}");
    }
}
