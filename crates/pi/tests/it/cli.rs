//! Arguments, output and exit codes.

use std::process::{Command, Output, Stdio};

/// Runs `pi` with an environment of its own: no keys, no proxies.
fn pi(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pi")).args(arguments).env_clear().output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn version_is_the_number_alone() {
    let output = pi(&["--version"]);
    assert_eq!(text(&output.stdout), concat!(env!("CARGO_PKG_VERSION"), "\n"));
    assert!(output.status.success());
}

#[test]
fn help_is_reviewed() {
    insta::assert_snapshot!(text(&pi(&["--help"]).stdout));
    assert_eq!(pi(&[]).stdout, pi(&["--help"]).stdout);
}

#[test]
fn the_demo_streams_and_says_what_it_is() {
    let output = pi(&["demo"]);
    assert!(output.status.success(), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
    let answer = text(&output.stdout);
    assert!(answer.contains("scripted model"), "{answer}");
    assert!(answer.contains("pi demo --model"), "{answer}");
    assert!(answer.ends_with('\n'));
}

#[test]
fn mistakes_are_named_and_fail() {
    let cases: &[(&[&str], i32, &str)] = &[
        (&["frobnicate"], 2, "pi: there is no command \"frobnicate\"; see `pi --help`\n"),
        (&["--frobnicate"], 2, "pi: invalid option '--frobnicate'\n"),
        (&["demo", "--model"], 2, "pi: missing argument for option '--model'\n"),
        (&["demo", "--model", "sonnet"], 2, "pi: --model takes PROVIDER/ID, not \"sonnet\"\n"),
        (&["demo", "--model", "nobody/x"], 1, "pi: Unknown provider: nobody\n"),
        (
            &["demo", "--model", "anthropic/claude-sonnet-4-5"],
            1,
            "pi: No API key for provider: anthropic. Set ANTHROPIC_API_KEY, or pass a key with the request.\n",
        ),
    ];
    for (arguments, code, message) in cases {
        let output = pi(arguments);
        assert_eq!(text(&output.stderr), *message, "{arguments:?}");
        assert_eq!(output.status.code(), Some(*code), "{arguments:?}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
    let output = pi(&["demo", "--thinking", "hard"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("use off, minimal, low, medium, high, xhigh or max"));
    let output = pi(&["demo", "--model", "anthropic/claude-sonnet-4-6x"]);
    assert!(text(&output.stderr).contains("it has for example claude-sonnet-4-6"), "{output:?}");
}

#[test]
fn a_reader_that_has_gone_ends_it_quietly() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = Command::new(env!("CARGO_BIN_EXE_pi"))
        .arg("demo")
        .env_clear()
        .stdout(writer)
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(141), ""));
}
