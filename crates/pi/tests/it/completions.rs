//! Completions and the manual page: snapshots, and bash completions in a real bash.

use std::process::Command;

use crate::test_env::TestEnv;

#[test]
fn scripts_are_reviewed() {
    let env = TestEnv::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = env.out(&["completions", shell]);
        let mut functions: Vec<&str> =
            script.lines().filter(|line| line.ends_with("() {")).collect();
        let count = functions.len();
        functions.sort_unstable();
        functions.dedup();
        assert_eq!(functions.len(), count, "{shell}: a function is defined twice");
        insta::assert_snapshot!(shell, script);
    }
}

#[test]
fn the_manual_is_reviewed() {
    insta::assert_snapshot!(TestEnv::new().out(&["man"]));
}

/// Returns a command in the environment, with `pi` in its `PATH`.
fn in_env(env: &TestEnv, program: &str) -> Command {
    let home = env.agent().ancestors().nth(2).unwrap().to_owned();
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_pi")).parent().unwrap();
    let path = format!("{}:/usr/bin:/bin", binary.display());
    let mut command = Command::new(program);
    command.env_clear().env("HOME", home).env("PATH", path).current_dir(env.project());
    command
}

/// Creates a project with models, two sessions of its own and one of another directory.
fn setup() -> TestEnv {
    let env = TestEnv::new();
    env.session("0193aaaa-1111-7000-8000-00000000aaaa", &env.project(), "How does it work?");
    env.session("0193bbbb-1111-7000-8000-00000000bbbb", &env.project(), "Why is it so?");
    env.session(
        "0193cccc-1111-7000-8000-00000000cccc",
        std::path::Path::new("/elsewhere"),
        "Where is it?",
    );
    let models = r#"{"providers": {"mock": {"baseUrl": "http://127.0.0.1:9/v1",
        "api": "openai-completions", "apiKey": "!exit 1", "models": [{"id": "m1"}, {"id": "m2:8b"}]}}}"#;
    std::fs::write(env.agent().join("models.json"), models).unwrap();
    env
}

/// An id whose beginning is completed to the whole.
const WHOLE: &str = "0193aaaa-1111-7000-8000-00000000aaaa";
const OTHER: &str = "0193bbbb-1111-7000-8000-00000000bbbb";

/// Returns the completions that a real bash offers for the last word.
fn complete(env: &TestEnv, words: &[&str]) -> Vec<String> {
    let script = env.project().join("completions.bash");
    std::fs::write(&script, env.out(&["completions", "bash"])).unwrap();
    // `compopt` works only during interactive completion; nothing else may fail.
    let ask = r#"source completions.bash; compopt() { :; }
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _pi
        (( ${#COMPREPLY[@]} )) && printf '%s\n' "${COMPREPLY[@]}""#;
    let mut bash = in_env(env, "/bin/bash");
    bash.args(["--norc", "-c", ask, "bash"]).args(words);
    let output = bash.output().unwrap();
    assert!(output.stderr.is_empty(), "{words:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn bash_offers_completions() {
    let env = setup();
    std::fs::create_dir(env.project().join("docs")).unwrap();
    std::fs::write(env.project().join("notes.md"), "").unwrap();
    let cases: &[(&[&str], &[&str])] = &[
        (&["pi", "se"], &["serve", "sessions"]),
        (
            &["pi", "sessions", ""],
            &["list", "search", "show", "export", "fork", "rename", "rm", "prune"],
        ),
        (&["pi", "sessions", "list", "--l"], &["--limit"]),
        (&["pi", "sessions", "export", "--format", ""], &["html", "markdown", "jsonl", "atif"]),
        (&["pi", "sessions", "show", "not"], &["notes.md"]),
        (&["pi", "sessions", "show", ""], &["0000aaaa", "0000bbbb"]),
        (&["pi", "sessions", "export", "0193a"], &[WHOLE]),
        (&["pi", "--session", "0000b"], &["0000bbbb"]),
        (&["pi", "undo", "--session", "0000b"], &["0000bbbb"]),
        (&["pi", "--tools", "re"], &["read"]),
        (&["pi", "-xt", "read,wr"], &["read,write"]),
        (&["pi", "--tools", "+gr"], &["+grep"]),
        (&["pi", "--provider", "moc"], &["mock"]),
        (&["pi", "auth", "set", "moc"], &["mock"]),
        (&["pi", "config", "get", "retry.base"], &["retry.baseDelayMs"]),
        (&["pi", "--mo"], &["--mode", "--model", "--models"]),
        (&["pi", "-x"], &["-xt"]),
        (&["pi", "--mode", ""], &["text", "json", "rpc"]),
        (&["pi", "--mode", "=", "j"], &["json"]),
        (&["pi", "--mode", "="], &["text", "json", "rpc"]),
        (&["pi", "--session-dir", ""], &["docs"]),
        (&["pi", "--model", ""], &["mock/m1", "mock/m2:8b"]),
        (&["pi", "--model", "=", "mock/m1"], &["mock/m1"]),
        (&["pi", "--model", "m2"], &["m2:8b"]),
        // bash replaces only the part after the colon.
        (&["pi", "--model", "mock/m2", ":", "8"], &["8b"]),
        (&["pi", "--model", "mock/m2", ":"], &["8b"]),
        (&["pi", "completions", "f"], &["fish"]),
        (&["pi", "help", "und"], &["undo"]),
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

#[test]
fn other_shells_offer_sessions_and_models() {
    use std::io::Write as _;
    let env = setup();
    for shell in ["fish", "zsh"] {
        std::fs::write(env.project().join("script"), env.out(&["completions", shell])).unwrap();
        // `zsh` completes only in a terminal, so the function that asks pi is called with a
        // `_describe` that prints.
        let ask = match shell {
            "fish" => {
                "source script; complete -C 'pi sessions show 0193'; complete -C 'pi --model mo'"
            }
            _ => {
                "compdef() { :; }; source script; _describe() { print -l $values; }; service=pi; \
                  PREFIX=0193 _pi_dynamic sessions; PREFIX=mo _pi_dynamic models"
            }
        };
        let output = match in_env(&env, shell).args(["-c", ask]).output() {
            Ok(output) => output,
            Err(error) => {
                let _ = writeln!(std::io::stderr(), "NOT TESTED: {shell} completions: {error}");
                continue;
            }
        };
        let text = String::from_utf8(output.stdout).unwrap();
        let sign = if shell == "fish" { "\t" } else { ":" };
        for (value, about) in
            [(WHOLE, "How does it work?"), (OTHER, "Why is it so?"), ("mock/m1", "m1")]
        {
            let line = format!("{value}{sign}{about}");
            assert!(text.lines().any(|found| found == line), "{shell}: {line} in {text}");
        }
        assert!(!text.contains("0193cccc"), "{text}");
    }
}

#[test]
fn completions_run_no_commands_and_write_no_settings() {
    let env = setup();
    let models = std::fs::read_to_string(env.agent().join("models.json")).unwrap();
    std::fs::write(env.agent().join("models.json"), models.replace("exit 1", "touch ran")).unwrap();
    for kind in ["models", "providers", "tools", "sessions", "settings"] {
        env.out(&["__complete", kind, ""]);
    }
    assert!(!env.project().join("ran").exists());
    assert_eq!(env.pi(&["__complete", "nonsense", ""]).status.code(), Some(2));
}
