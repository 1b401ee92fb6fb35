//! Session files that are damaged, foreign, locked, or of a newer version.

use std::fs;
use std::path::PathBuf;

use super::ServerEnv;

const MODES: [&[&str]; 3] = [&["-p"], &["--mode", "json"], &["--mode", "rpc"]];

/// Creates an environment with a session of two messages.
fn with_session() -> (ServerEnv, PathBuf) {
    let env = ServerEnv::with_answer();
    let path = env.session("abc", &env.project(), "A question?");
    (env, path)
}

/// Asserts that the request contains the messages of the session.
#[track_caller]
fn assert_continued(env: &ServerEnv) {
    let [request] = &env.server.requests()[..] else { panic!("one request") };
    let request = request.to_string();
    assert!(request.contains("A question?") && request.contains("Go on"), "{request}");
}

#[test]
fn a_damaged_session_is_continued_without_losing_a_byte() {
    let torn = "{\"type\":\"message\",\"id\":\"aaaa0003\",\"parentId\":\"aaaa0002\",\"mess";
    let cases: [(&str, &str, fn(&mut Vec<Vec<u8>>, &str)); 3] = [
        ("torn at the end", "line 4: ", |lines, torn| lines.push(torn.into())),
        ("garbage in the middle", "line 3: ", |lines, _| {
            lines.insert(2, b"\xff\xfe{{{ \0".to_vec());
        }),
        ("garbage at the end", "line 4: ", |lines, _| lines.push(b"not JSON\n".to_vec())),
    ];
    for (name, line, damage) in cases {
        let (env, path) = with_session();
        let content = fs::read(&path).unwrap();
        let mut lines: Vec<Vec<u8>> =
            content.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        lines.retain(|line| !line.is_empty());
        damage(&mut lines, torn);
        let broken = lines.join(&b'\n');
        fs::write(&path, &broken).unwrap();
        let result = env.run(&["-p", "--session", path.to_str().unwrap(), "Go on"]);
        result.assert_answered(&[line, "kept in the file and left out", path.to_str().unwrap()]);
        assert_continued(&env);
        let now = fs::read(&path).unwrap();
        assert!(now.starts_with(&broken) && now.len() > broken.len(), "{name}");
    }
}

#[test]
fn files_that_are_not_sessions_are_left_alone() {
    let cases: &[(&str, &[u8], &str)] = &[
        ("a diary", b"Dear diary,\n", "not a valid pi session"),
        ("other JSON", b"{\"a\": 1}\n", "not a valid pi session"),
        ("binary", b"\x7fELF\0\0\xff\n", "not a valid pi session"),
        (
            "a newer version",
            b"{\"type\":\"session\",\"version\":99,\"id\":\"a\",\"timestamp\":\"2026-01-01T00:00:00Z\",\"cwd\":\"/\"}\n",
            "has version 99, which is newer than this program understands; update pi",
        ),
    ];
    for (name, content, words) in cases {
        for mode in MODES {
            let env = ServerEnv::with_answer();
            let path = env.write("other.jsonl", content);
            let path_text = path.to_str().unwrap();
            let result = env.run(&[mode, &["--session", path_text, "Go on"]].concat());
            result.assert_failed(1, &[words, path_text]);
            assert_eq!(fs::read(&path).unwrap(), *content, "{name}");
            assert!(env.server.requests().is_empty(), "{name}");
        }
    }
}

#[test]
fn a_directory_is_not_a_session() {
    let env = ServerEnv::with_answer();
    let path = env.project().to_str().unwrap().to_owned();
    env.run(&["-p", "--session", &path, "Go on"]).assert_failed(1, &[&path, "Is a directory"]);
}

/// The latest file of the directory need not be a session.
#[test]
fn other_files_beside_sessions_are_skipped() {
    let (env, path) = with_session();
    fs::write(path.with_file_name("9999-garbage.jsonl"), b"\xff\0garbage").unwrap();
    let result = env.run(&["-p", "--continue", "Go on"]);
    result.assert_answered(&["9999-garbage.jsonl", "not a readable session"]);
    assert_continued(&env);
}

/// Only one process may write to a session.
#[test]
fn a_locked_session_is_refused() {
    let (env, path) = with_session();
    let open = pi_session::Session::open(&path, &pi_session::OpenOptions::append()).unwrap();
    let before = fs::read(&path).unwrap();
    let result = env.run(&["-p", "--session", path.to_str().unwrap(), "Go on"]);
    result.assert_failed(1, &["is open in another pi; close it there, or fork the session"]);
    assert_eq!(fs::read(&path).unwrap(), before);
    drop(open);
    env.run(&["-p", "--session", path.to_str().unwrap(), "Go on"]).assert_answered(&[]);
}
