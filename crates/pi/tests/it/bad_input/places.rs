//! Places that are missing, closed, read-only or full.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::scenarios::format::Reply;

use super::{Place, as_nobody, finish, on_disk};

#[test]
fn instructions_that_are_no_text_are_used_as_far_as_they_go() {
    let place = Place::with_answer();
    let path = place.world.project().join("AGENTS.md");
    let content = b"Be brief.\nNever say \xff\xfe.\n";
    fs::write(&path, content).unwrap();
    let words = [path.to_str().unwrap(), "not UTF-8 (first at line 2)", "save it as UTF-8"];
    place.run(&["-p", "Hello"]).answered(&words);
    assert!(place.server.requests()[0].to_string().contains("Be brief."));
    assert_eq!(fs::read(&path).unwrap(), content);
}

#[test]
fn instructions_that_cannot_be_read_are_named() {
    let place = Place::with_answer();
    let path = place.world.project().join("AGENTS.md");
    fs::write(&path, "Be brief.").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    let command = place.world.command(&["-p", "Hello"]);
    let Some(command) = as_nobody(&command, "unreadable instructions") else { return };
    finish(command, &[]).answered(&[
        path.to_str().unwrap(),
        "Permission denied",
        "make it readable",
    ]);
}

#[test]
fn a_directory_of_that_name_is_nothing() {
    let place = Place::with_answer();
    fs::create_dir(place.world.project().join("AGENTS.md")).unwrap();
    place.run(&["-p", "Hello"]).answered(&[]);
}

#[test]
fn without_a_working_directory_nothing_begins() {
    for mode in ["-p", "--mode=json", "--mode=rpc"] {
        let place = Place::with_answer();
        let gone = place.world.project().join("gone");
        fs::create_dir(&gone).unwrap();
        let pi = place.world.command(&[]);
        let mut shell = Command::new("sh");
        shell.args(["-c", "rmdir ../gone && exec \"$0\" \"$@\""]).arg(pi.get_program());
        shell.args([mode, "Hello"]).current_dir(&gone);
        finish(shell, &[]).failed(6, &["working directory", "go to one that exists"]);
    }
}

/// Without `HOME` the system is asked for it; if it does not know either, that is the end.
#[test]
fn without_a_home_there_is_advice() {
    let place = Place::with_answer();
    let mut command = place.world.command(&["-p", "Hello"]);
    command.env("HOME", "");
    let mut unshare = Command::new("unshare");
    // Nobody knows the user of this number.
    unshare.args(["--user", "--map-user=4242", "--map-group=4242"]);
    let Some(command) = super::in_namespace(&command, unshare, "no home at all") else { return };
    finish(command, &[])
        .failed(6, &["no home directory is known; set HOME or PI_CODING_AGENT_DIR"]);
}

/// Told where the user's files are, it needs no home.
#[test]
fn a_home_is_not_needed_if_the_files_are_elsewhere() {
    let place = Place::with_answer();
    let mut command = place.world.command(&["-p", "Hello"]);
    command.env_remove("HOME").env("PI_CODING_AGENT_DIR", place.world.agent());
    finish(command, &[]).answered(&[]);
}

/// What cannot be kept is not begun: the model is not asked.
#[test]
fn where_sessions_cannot_be_written_the_model_is_not_asked() {
    let place = Place::with_answer();
    fs::set_permissions(place.world.agent(), fs::Permissions::from_mode(0o555)).unwrap();
    let command = place.world.command(&["-p", "Hello"]);
    let ended = as_nobody(&command, "an agent directory that cannot be written");
    let ended = ended.map(|command| finish(command, &[]));
    let without = as_nobody(&place.world.command(&["-p", "--no-session", "Hello"]), "the same");
    let without = without.map(|command| finish(command, &[]));
    fs::set_permissions(place.world.agent(), fs::Permissions::from_mode(0o755)).unwrap();
    let (Some(ended), Some(without)) = (ended, without) else { return };
    ended.failed(1, &["cannot create the directory", "sessions", "Permission denied"]);
    // The one request is that of the second run.
    without.answered(&[]);
    assert_eq!(place.server.requests().len(), 1);
}

#[test]
fn an_agent_directory_that_is_a_file_is_named() {
    let place = Place::with_answer();
    let mut command = place.world.command(&["-p", "--model", "mock/m1", "Hello"]);
    command.env("PI_CODING_AGENT_DIR", place.file("models.json"));
    finish(command, &[]).failed(5, &["models.json/models.json", "Not a directory"]);
}

#[test]
fn a_read_only_disk_for_sessions_is_said_before_the_model_is_asked() {
    for mode in ["-p", "--mode=json"] {
        let place = Place::with_answer();
        let disk = place.file("sessions");
        fs::create_dir(&disk).unwrap();
        let command = place.world.command(&[mode, "Hello"]);
        let Some(command) = on_disk(&command, &disk, "ro,size=64k", "a read-only disk") else {
            return;
        };
        let ended = finish(command, &[]);
        let said = if mode == "-p" { &ended.stderr } else { &ended.stdout };
        assert!(said.contains("Read-only file system"), "{ended:?}");
        // JSON mode tells of failures in its events.
        assert_eq!(ended.code, Some(i32::from(mode == "-p")), "{ended:?}");
        assert!(place.server.requests().is_empty());
    }
}

#[test]
fn a_full_disk_is_said_before_the_model_is_asked() {
    let place = Place::with_answer();
    let disk = place.file("sessions");
    fs::create_dir(&disk).unwrap();
    let question = "x".repeat(100_000);
    let command = place.world.command(&["-p", &question]);
    let Some(command) = on_disk(&command, &disk, "size=64k", "a full disk") else { return };
    finish(command, &[]).failed(1, &["No space left on device"]);
    assert!(place.server.requests().is_empty());
}

/// The answer was paid for: it is shown although it cannot be kept, and the code says so.
#[test]
fn an_answer_that_does_not_fit_the_disk_is_not_lost() {
    let answer = "y".repeat(100_000);
    let place = Place::new(vec![Reply::Text(answer.clone())]);
    let disk = place.file("sessions");
    fs::create_dir(&disk).unwrap();
    let command = place.world.command(&["-p", "Hello"]);
    let Some(command) = on_disk(&command, &disk, "size=64k", "a disk that fills up") else {
        return;
    };
    let ended = finish(command, &[]);
    assert_eq!(ended.code, Some(1), "{:?}", ended.stderr);
    ended.said(&["No space left on device"]);
    assert!(ended.stdout.trim_end() == answer, "{} bytes", ended.stdout.len());
}

/// RPC mode goes on: the next command is answered.
#[test]
fn a_full_disk_does_not_end_rpc_mode() {
    let place = Place::with_answer();
    let disk = place.file("sessions");
    fs::create_dir(&disk).unwrap();
    let command = place.world.command(&["--mode", "rpc"]);
    let Some(command) = on_disk(&command, &disk, "size=64k", "a full disk in RPC mode") else {
        return;
    };
    let question = "x".repeat(100_000);
    let input = format!(
        "{{\"id\":\"1\",\"type\":\"prompt\",\"message\":\"{question}\"}}\n\
         {{\"id\":\"2\",\"type\":\"get_last_assistant_text\"}}\n"
    );
    let ended = finish(command, input.as_bytes());
    assert_eq!(ended.code, Some(0), "{:?}", ended.stderr);
    for words in ["\"id\":\"1\"", "\"id\":\"2\""] {
        assert!(ended.stdout.contains(words), "{words}");
    }
}
