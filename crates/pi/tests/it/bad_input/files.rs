//! Broken configuration files: they are reported with the position of the error, and never
//! overwritten.

use std::fs;

use super::{ServerEnv, finish};

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
            b"{\"shellPath\": 5, \"x\": 1}",
            &["`shellPath` is ignored", "correct or remove"],
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
        let env = ServerEnv::with_answer();
        let path = env.write(name, content);
        // Wrong permissions would be reported as well.
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        fs::set_permissions(&path, private).unwrap();
        let result = env.run(&["-p", "--model", "mock/m1", "Hello"]);
        result.assert_answered(words);
        if !words.is_empty() {
            result.assert_stderr(&[path.to_str().unwrap()]);
        }
        assert_eq!(fs::read(&path).unwrap(), *content, "{name}");
    }
}

/// Settings that cannot be read may name a default model, so no other model gets the prompt.
#[test]
fn unreadable_settings_choose_no_other_model() {
    let model = r#""defaultProvider": "mock", "defaultModel": "m1""#;
    let contents = [
        format!("{{{model},}}"),
        format!("// mine\n{{{model}}}"),
        "[]".to_owned(),
        r#"{"defaultProvider": "mock", "defaultModel": 5}"#.to_owned(),
        r#"{"defaultProvider": ["mock"]}"#.to_owned(),
    ];
    let modes: &[&[&str]] = &[
        &["-p", "Hello"],
        &["--mode", "json", "Hello"],
        &["--mode", "rpc"],
        &["--continue", "-p", "Hello"],
    ];
    for content in &contents {
        for mode in modes {
            let env = ServerEnv::with_answer();
            let path = env.write("settings.json", content);
            let mut command = env.command(mode);
            // Another provider could be used.
            command.env("ANTHROPIC_API_KEY", "key");
            let result = finish(command, b"\n");
            let told = [path.to_str().unwrap(), "the default model is unknown", "--model"];
            result.assert_failed(6, &told);
            assert!(env.server.requests().is_empty(), "{content} {mode:?}");
            assert!(env.sessions().is_empty(), "{content} {mode:?}");
        }
        let env = ServerEnv::with_answer();
        env.write("settings.json", content);
        let result = env.run(&["run", "Hello"]);
        assert_eq!(result.code, Some(6), "{content}: {result:?}");
        result.assert_stderr(&["the default model is unknown"]);
        assert!(env.server.requests().is_empty(), "{content}");
        let result = env.run(&["--model", "mock/m1", "-p", "Hello"]);
        result.assert_answered(&["ignored"]);
    }
}

/// The file of a project decides only if the project is trusted.
#[test]
fn unreadable_settings_of_a_project_count_if_it_is_trusted() {
    for (trust, code) in [("--approve", 6), ("--no-approve", 0)] {
        let env = ServerEnv::with_answer();
        let directory = env.project().join(".pi");
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("settings.json"), "{,}").unwrap();
        let result = env.run(&[trust, "-p", "Hello"]);
        assert_eq!(result.code, Some(code), "{result:?}");
    }
}

/// No other key replaces an invalid stored credential.
#[test]
fn an_invalid_credential_ends_the_run() {
    let env = ServerEnv::with_answer();
    let content = b"{\"mock\": \"key\"}";
    let path = env.write("auth.json", content);
    let result = env.run(&["-p", "--model", "mock/m1", "Hello"]);
    result.assert_failed(5, &["the entry for \"mock\"", "log in again"]);
    assert_eq!(fs::read(&path).unwrap(), *content);
}

/// A missing model is often the consequence of a broken models.json.
#[test]
fn a_broken_models_file_is_reported_before_the_missing_model() {
    let cases: &[(&[u8], &[&str])] = &[
        (TORN, &["line 1"]),
        (NOT_UTF8, &["not UTF-8"]),
        (b"[]", &["the file must be an object"]),
        (b"{\"providers\": [1]}", &["providers: must be an object"]),
        (b"{\"providers\": {\"mock\": {\"models\": 5}}}", &["models"]),
    ];
    for (content, words) in cases {
        for mode in [&["-p"][..], &["--mode", "json"], &["--mode", "rpc"]] {
            let env = ServerEnv::with_answer();
            let path = env.write("models.json", content);
            let result = env.run(&[mode, &["--model", "mock/m1"]].concat());
            result.assert_failed(5, words);
            result.assert_stderr(&[path.to_str().unwrap(), "Model \"mock/m1\" not found"]);
            assert_eq!(fs::read(&path).unwrap(), *content);
        }
    }
}

#[test]
fn comments_and_byte_order_marks_are_allowed_in_models() {
    let env = ServerEnv::with_answer();
    let models = fs::read_to_string(env.file("models.json")).unwrap();
    for before in ["// why\n", "/* why */", "\u{feff}"] {
        let env = ServerEnv::with_answer();
        let url = env.server.url();
        let models = models.replace(&old_url(&models), &url);
        env.write("models.json", format!("{before}{models}"));
        env.run(&["-p", "Hello"]).assert_answered(&[]);
    }
}

fn old_url(models: &str) -> String {
    let start = models.find("http").unwrap();
    models[start..].split("/v1").next().unwrap().to_owned()
}

/// A directory in place of a file is reported and left alone.
#[test]
fn a_directory_in_place_of_a_file_is_reported() {
    for name in ["settings.json", "auth.json", "trust.json"] {
        let env = ServerEnv::with_answer();
        let path = env.file(name);
        let _ = fs::remove_file(&path);
        fs::create_dir(&path).unwrap();
        let before = fs::metadata(&path).unwrap().permissions();
        let result = env.run(&["-p", "--model", "mock/m1", "Hello"]);
        let words = [path.to_str().unwrap(), "Is a directory"];
        // Settings that cannot be read may contain restrictions, so nothing runs.
        match name {
            "settings.json" => result.assert_failed(6, &words),
            _ => result.assert_answered(&words),
        }
        assert_eq!(fs::metadata(&path).unwrap().permissions(), before, "{name}");
    }
}

/// Changing a setting does not overwrite a file that could not be read.
#[test]
fn a_setting_is_not_saved_to_a_broken_file() {
    for (content, words) in [(TORN, "column 17"), (NOT_UTF8, "not UTF-8")] {
        let env = ServerEnv::with_answer();
        let path = env.write("settings.json", content);
        let command = b"{\"id\":\"1\",\"type\":\"set_auto_retry\",\"enabled\":false}\n";
        let arguments = ["--mode", "rpc", "--model", "mock/m1"];
        let result = super::finish(env.command(&arguments), command);
        assert_eq!(result.code, Some(0), "{result:?}");
        result.assert_stderr(&[words]);
        assert!(result.stdout.contains("The setting was not saved"), "{result:?}");
        assert_eq!(fs::read(&path).unwrap(), content);
    }
}
