//! Session files that are broken, of somebody else, or of another time.

use std::fs;
use std::path::PathBuf;

use super::Place;

const MODES: [&[&str]; 3] = [&["-p"], &["--mode", "json"], &["--mode", "rpc"]];

/// A place with a session of two messages.
fn with_session() -> (Place, PathBuf) {
    let place = Place::with_answer();
    let path = place.world.session("abc", &place.world.project(), "A question?");
    (place, path)
}

/// The request has what the session had.
#[track_caller]
fn went_on(place: &Place) {
    let [request] = &place.server.requests()[..] else { panic!("one request") };
    let request = request.to_string();
    assert!(request.contains("A question?") && request.contains("Go on"), "{request}");
}

#[test]
fn a_damaged_session_is_gone_on_with_and_loses_no_byte() {
    let torn = "{\"type\":\"message\",\"id\":\"aaaa0003\",\"parentId\":\"aaaa0002\",\"mess";
    let cases: [(&str, &str, fn(&mut Vec<Vec<u8>>, &str)); 3] = [
        ("torn at the end", "line 4: ", |lines, torn| lines.push(torn.into())),
        ("garbage in the middle", "line 3: ", |lines, _| {
            lines.insert(2, b"\xff\xfe{{{ \0".to_vec());
        }),
        ("garbage at the end", "line 4: ", |lines, _| lines.push(b"not JSON\n".to_vec())),
    ];
    for (name, line, damage) in cases {
        let (place, path) = with_session();
        let content = fs::read(&path).unwrap();
        let mut lines: Vec<Vec<u8>> =
            content.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        lines.retain(|line| !line.is_empty());
        damage(&mut lines, torn);
        let broken = lines.join(&b'\n');
        fs::write(&path, &broken).unwrap();
        let ended = place.run(&["-p", "--session", path.to_str().unwrap(), "Go on"]);
        ended.answered(&[line, "kept in the file and left out", path.to_str().unwrap()]);
        went_on(&place);
        let now = fs::read(&path).unwrap();
        assert!(now.starts_with(&broken) && now.len() > broken.len(), "{name}");
    }
}

#[test]
fn what_is_no_session_is_not_touched() {
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
            let place = Place::with_answer();
            let path = place.write("other.jsonl", content);
            let path_text = path.to_str().unwrap();
            let ended = place.run(&[mode, &["--session", path_text, "Go on"]].concat());
            ended.failed(1, &[words, path_text]);
            assert_eq!(fs::read(&path).unwrap(), *content, "{name}");
            assert!(place.server.requests().is_empty(), "{name}");
        }
    }
}

#[test]
fn a_directory_is_no_session() {
    let place = Place::with_answer();
    let path = place.world.project().to_str().unwrap().to_owned();
    place.run(&["-p", "--session", &path, "Go on"]).failed(1, &[&path, "Is a directory"]);
}

/// The latest file of the project may be anything; what is no session is passed over.
#[test]
fn garbage_beside_sessions_is_passed_over() {
    let (place, path) = with_session();
    fs::write(path.with_file_name("9999-garbage.jsonl"), b"\xff\0garbage").unwrap();
    place.run(&["-p", "--continue", "Go on"]).answered(&[]);
    went_on(&place);
}

/// A session that another process writes to is not written to by two.
#[test]
fn a_session_in_use_is_refused() {
    let (place, path) = with_session();
    let open = pi_session::Session::open(&path, &pi_session::OpenOptions::append()).unwrap();
    let before = fs::read(&path).unwrap();
    let ended = place.run(&["-p", "--session", path.to_str().unwrap(), "Go on"]);
    ended.failed(1, &["is open in another pi; close it there, or fork the session"]);
    assert_eq!(fs::read(&path).unwrap(), before);
    drop(open);
    place.run(&["-p", "--session", path.to_str().unwrap(), "Go on"]).answered(&[]);
}
