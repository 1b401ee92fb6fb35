//! Broken files of the user. They are reported, with the place where they are wrong, and never
//! written.

use std::fs;

use super::Place;

const TORN: &[u8] = b"{\"torn\": {\"a\": \"b";
const NOT_UTF8: &[u8] = b"{\"a\": \"\xff\xfe\"}";

#[test]
fn a_broken_file_is_reported_and_left_alone() {
    const AT_THE_END: &[&str] = &["line 1, column 17", "correct the file"];
    const AT_THE_BYTE: &[&str] = &["line 1, column 8", "not UTF-8", "correct the file"];
    const COMMENT: &[&str] = &["line 1, column 1: comments are not allowed here"];
    const LIST: &[&str] = &["expected an object, not a list"];
    let cases: &[(&str, &[u8], &[&str])] = &[
        ("settings.json", TORN, AT_THE_END),
        ("settings.json", NOT_UTF8, AT_THE_BYTE),
        ("settings.json", b"// why\n{}", COMMENT),
        ("settings.json", b"[]", LIST),
        ("settings.json", b"{\"retry\": \"no\"}", &["`retry` is ignored", "expected an object"]),
        (
            "settings.json",
            b"{\"theme\": 5, \"x\": 1}",
            &["`theme` is ignored", "correct or remove"],
        ),
        ("settings.json", b"\xef\xbb\xbf{}", &[]),
        ("settings.json", b"", &[]),
        ("auth.json", TORN, AT_THE_END),
        ("auth.json", NOT_UTF8, AT_THE_BYTE),
        ("auth.json", b"// why\n{}", COMMENT),
        ("auth.json", b"[]", LIST),
        ("auth.json", b"{\"x\": {\"type\": 5}}", &["the entry for \"x\"", "log in again"]),
        ("auth.json", b"\xef\xbb\xbf{}", &[]),
        ("auth.json", b"", &[]),
        ("trust.json", TORN, AT_THE_END),
    ];
    for (name, content, words) in cases {
        let place = Place::with_answer();
        let path = place.write(name, content);
        // What others may read is reported for itself.
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        fs::set_permissions(&path, private).unwrap();
        let ended = place.run(&["-p", "--model", "mock/m1", "Hello"]);
        ended.answered(words);
        if !words.is_empty() {
            ended.said(&[path.to_str().unwrap()]);
        }
        assert_eq!(fs::read(&path).unwrap(), *content, "{name}");
    }
}

/// What was meant to be used is not replaced by a key from elsewhere.
#[test]
fn a_credential_that_is_none_ends_the_run() {
    let place = Place::with_answer();
    let content = b"{\"mock\": \"key\"}";
    let path = place.write("auth.json", content);
    let ended = place.run(&["-p", "--model", "mock/m1", "Hello"]);
    ended.failed(5, &["the entry for \"mock\"", "log in again"]);
    assert_eq!(fs::read(&path).unwrap(), *content);
}

/// Without its models a run cannot begin, and the file is why.
#[test]
fn broken_models_are_named_before_the_model_that_is_missing() {
    let cases: &[(&[u8], &[&str])] = &[
        (TORN, &["line 1"]),
        (NOT_UTF8, &["not UTF-8"]),
        (b"[]", &["the file must be an object"]),
        (b"{\"providers\": [1]}", &["providers: must be an object"]),
        (b"{\"providers\": {\"mock\": {\"models\": 5}}}", &["models"]),
    ];
    for (content, words) in cases {
        for mode in [&["-p"][..], &["--mode", "json"], &["--mode", "rpc"]] {
            let place = Place::with_answer();
            let path = place.write("models.json", content);
            let ended = place.run(&[mode, &["--model", "mock/m1"]].concat());
            ended.failed(5, words);
            ended.said(&[path.to_str().unwrap(), "Model \"mock/m1\" not found"]);
            assert_eq!(fs::read(&path).unwrap(), *content);
        }
    }
}

#[test]
fn comments_and_marks_are_allowed_in_models() {
    let place = Place::with_answer();
    let models = fs::read_to_string(place.file("models.json")).unwrap();
    for before in ["// why\n", "/* why */", "\u{feff}"] {
        let place = Place::with_answer();
        let url = place.server.url();
        let models = models.replace(&old_url(&models), &url);
        place.write("models.json", format!("{before}{models}"));
        place.run(&["-p", "Hello"]).answered(&[]);
    }
}

fn old_url(models: &str) -> String {
    let start = models.find("http").unwrap();
    models[start..].split("/v1").next().unwrap().to_owned()
}

/// A directory where a file should be is not the user's file, and stays as it is.
#[test]
fn a_directory_is_no_file() {
    for name in ["settings.json", "auth.json", "trust.json"] {
        let place = Place::with_answer();
        let path = place.file(name);
        let _ = fs::remove_file(&path);
        fs::create_dir(&path).unwrap();
        let before = fs::metadata(&path).unwrap().permissions();
        let ended = place.run(&["-p", "--model", "mock/m1", "Hello"]);
        ended.answered(&[path.to_str().unwrap(), "Is a directory"]);
        assert_eq!(fs::metadata(&path).unwrap().permissions(), before, "{name}");
    }
}

/// Changing a setting does not replace a file that could not be read.
#[test]
fn a_broken_file_is_not_written_by_a_command_either() {
    for (content, words) in [(TORN, "column 17"), (NOT_UTF8, "not UTF-8")] {
        let place = Place::with_answer();
        let path = place.write("settings.json", content);
        let command = b"{\"id\":\"1\",\"type\":\"set_auto_retry\",\"enabled\":false}\n";
        let arguments = ["--mode", "rpc", "--model", "mock/m1"];
        let ended = super::finish(place.world.command(&arguments), command);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended.said(&[words]);
        assert!(ended.stdout.contains("The setting was not saved"), "{ended:?}");
        assert_eq!(fs::read(&path).unwrap(), content);
    }
}
