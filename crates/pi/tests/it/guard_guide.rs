//! Checks that every example in `docs/guard.md` works.

use std::process::Command;

use crate::test_env::TestEnv;

const GUIDE: &str = include_str!("../../../../docs/guard.md");

/// Returns the code blocks of a language.
fn blocks(language: &str) -> Vec<&'static str> {
    let open = format!("```{language}\n");
    let parts = GUIDE.split(open.as_str()).skip(1);
    parts.map(|part| part.split("```").next().unwrap()).collect()
}

#[test]
fn rule_files_load_and_their_examples_pass() {
    let blocks = blocks("toml");
    assert_eq!(blocks.len(), 3);
    let env = TestEnv::new();
    for (number, block) in blocks.iter().enumerate() {
        let name = format!("{number}.toml");
        std::fs::write(env.project().join(&name), block).unwrap();
        let out = env.out(&["policy", "test", &name]);
        assert!(out.starts_with(&format!("{name}: ")), "{out}");
    }
}

#[test]
fn settings_are_valid() {
    let env = TestEnv::new();
    std::fs::create_dir_all(env.agent()).unwrap();
    for block in blocks("json") {
        let guard: serde_json::Value = serde_json::from_str(block).unwrap();
        let roots = guard["guard"]["writableRoots"].as_array().into_iter().flatten();
        for root in roots {
            let root = root.as_str().unwrap().strip_prefix("~/").unwrap();
            std::fs::create_dir_all(env.agent().join("../..").join(root)).unwrap();
        }
        std::fs::write(env.agent().join("settings.json"), block).unwrap();
        let output = env.pi(&["policy", "check", "--", "ls"]);
        // 8 if the machine does not offer the isolation.
        assert!(matches!(output.status.code(), Some(0 | 8)), "{output:?}");
    }
}

#[test]
fn commands_are_valid() {
    let env = TestEnv::new();
    let lines = GUIDE.lines().filter_map(|line| line.strip_prefix("    pi policy check "));
    let mut count = 0;
    for line in lines {
        count += 1;
        let script = format!("exec {} policy check {line}", env!("CARGO_BIN_EXE_pi"));
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", &script]).current_dir(env.project()).env("HOME", env.project());
        let output = shell.output().unwrap();
        let out = String::from_utf8(output.stdout).unwrap();
        let words = ["allow: ", "ask: ", "forbid: "];
        let is_decision = words.iter().any(|word| out.starts_with(word));
        // 8 if the machine does not offer the isolation.
        assert!(is_decision || output.status.code() == Some(8), "{line}: {out}");
    }
    assert!(count >= 5);
}

#[test]
fn all_settings_are_documented() {
    let env = TestEnv::new();
    std::fs::create_dir_all(env.agent()).unwrap();
    std::fs::write(env.agent().join("settings.json"), r#"{"guard": {"profil": 1}}"#).unwrap();
    // The error for an unknown setting lists all settings.
    let (code, stderr) = env.failure(&["policy", "check", "--", "ls"]);
    assert_eq!(code, Some(6), "{stderr}");
    let names = stderr.split_once("expected one of ").unwrap().1.split_once(';').unwrap().0;
    let names: Vec<&str> = names.split(", ").collect();
    assert!(names.contains(&"`profile`"), "{stderr}");
    for name in names {
        assert!(GUIDE.contains(&format!("\n| {name} |")), "{name}");
    }
}
