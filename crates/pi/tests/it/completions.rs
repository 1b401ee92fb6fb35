//! Completions and the manual page: snapshots, and bash completions in a real bash.

use std::process::Command;

use crate::test_env::TestEnv;

#[test]
fn scripts_are_reviewed() {
    let env = TestEnv::new();
    for shell in ["bash", "zsh", "fish"] {
        insta::assert_snapshot!(shell, env.out(&["completions", shell]));
    }
}

#[test]
fn the_manual_is_reviewed() {
    insta::assert_snapshot!(TestEnv::new().out(&["man"]));
}

/// Returns the completions that a real bash offers for the last word.
fn complete(env: &TestEnv, words: &[&str]) -> Vec<String> {
    let script = env.project().join("completions.bash");
    std::fs::write(&script, env.out(&["completions", "bash"])).unwrap();
    // `compopt` works only during interactive completion; nothing else may fail.
    let ask = r#"source completions.bash; compopt() { :; }
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _pi
        (( ${#COMPREPLY[@]} )) && printf '%s\n' "${COMPREPLY[@]}""#;
    let mut bash = Command::new("/bin/bash");
    bash.args(["--norc", "-c", ask, "bash"]).args(words).current_dir(env.project());
    let output = bash.output().unwrap();
    assert!(output.stderr.is_empty(), "{words:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn bash_offers_completions() {
    let env = TestEnv::new();
    std::fs::create_dir(env.project().join("docs")).unwrap();
    std::fs::write(env.project().join("notes.md"), "").unwrap();
    let cases: &[(&[&str], &[&str])] = &[
        (&["pi", "se"], &["sessions"]),
        (&["pi", "sessions", ""], &["list", "search", "show", "export", "fork", "rm"]),
        (&["pi", "sessions", "list", "--l"], &["--limit"]),
        (&["pi", "sessions", "export", "--format", ""], &["html", "markdown", "jsonl"]),
        (&["pi", "sessions", "show", "not"], &["notes.md"]),
        (&["pi", "--mo"], &["--mode", "--model", "--models"]),
        (&["pi", "-x"], &["-xt"]),
        (&["pi", "--mode", ""], &["text", "json", "rpc"]),
        (&["pi", "--mode", "=", "j"], &["json"]),
        (&["pi", "--mode", "="], &["text", "json", "rpc"]),
        (&["pi", "--session-dir", ""], &["docs"]),
        (&["pi", "--model", ""], &[]),
        (&["pi", "completions", "f"], &["fish"]),
        (&["pi", "help", "un"], &["undo"]),
        (&["pi", "-p", "@no"], &["@notes.md"]),
        (&["pi", "-p", "hello", "se"], &[]),
        (&["pi", "install", ""], &["docs", "notes.md", "completions.bash"]),
    ];
    for (words, offered) in cases {
        let mut found = complete(&env, words);
        let mut offered = offered.to_vec();
        found.sort();
        offered.sort_unstable();
        assert_eq!(found, offered, "{words:?}");
    }
    let script = env.project().join("completions.bash");
    assert!(Command::new("/bin/bash").arg("-n").arg(script).status().unwrap().success());
}
