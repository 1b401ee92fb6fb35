//! Arguments, output and exit codes.

use std::process::Stdio;

use crate::world::World;

#[test]
fn version_is_the_number_alone() {
    let world = World::new();
    for line in [["--version"], ["-v"]] {
        assert_eq!(world.out(&line), concat!(env!("CARGO_PKG_VERSION"), "\n"));
    }
    assert!(!world.agent().exists(), "it touches nothing");
}

#[test]
fn help_is_reviewed() {
    let world = World::new();
    insta::assert_snapshot!(world.out(&["--help"]));
    let same: [&[&str]; 4] = [&["-h"], &["help"], &["-p", "--help", "x"], &["-x", "-h"]];
    for line in same {
        assert_eq!(world.out(line), world.out(&["--help"]), "{line:?}");
    }
    assert!(!world.agent().exists(), "it touches nothing");
}

#[test]
fn help_of_commands_is_reviewed() {
    let world = World::new();
    let commands: [&[&str]; 9] = [
        &["sessions"],
        &["sessions", "list"],
        &["sessions", "export"],
        &["undo"],
        &["doctor"],
        &["completions"],
        &["demo"],
        &["auth"],
        &["mcp"],
    ];
    let mut all = String::new();
    for command in commands {
        let text = world.out(&[&["help"], command].concat());
        assert_eq!(world.out(&[command, &["--help"]].concat()), text);
        all.push_str(&format!("$ pi help {}\n{text}\n", command.join(" ")));
    }
    assert_eq!(world.out(&["sessions"]), world.out(&["help", "sessions"]));
    insta::assert_snapshot!(all);
}

#[test]
fn no_line_of_the_help_is_too_long() {
    let world = World::new();
    let help = world.out(&["--help"]);
    for line in help.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn the_documentation_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/cli.md");
    let documented = std::fs::read_to_string(path).unwrap();
    let wanted = World::new().out(&["man", "--markdown"]);
    assert!(documented == wanted, "run `cargo xtask cli-docs`");
}

#[test]
fn the_demo_streams_and_says_what_it_is() {
    let output = World::new().pi(&["demo"]);
    assert!(output.status.success(), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
    let answer = String::from_utf8(output.stdout).unwrap();
    assert!(answer.contains("scripted model"), "{answer}");
    assert!(answer.contains("pi demo --model"), "{answer}");
    assert!(answer.ends_with('\n'));
}

#[test]
fn mistakes_are_named_and_fail() {
    let cases: &[(&[&str], i32, &str)] = &[
        (&["--frobnicate"], 2, "Unknown option: --frobnicate"),
        (&["--modle", "x"], 2, "Unknown option: --modle; did you mean --model?"),
        (&["--contniue"], 2, "Unknown option: --contniue; did you mean --continue?"),
        (&["-x"], 2, "Unknown option: -x"),
        (&["-V"], 2, "Unknown option: -V; did you mean -v?"),
        (&["-pc"], 2, "Unknown option: -pc; write -p -c"),
        (&["-n=x"], 2, "Unknown option: -n=x; write -n x"),
        (&["-model", "x"], 2, "Unknown option: -model; did you mean --model?"),
        (&["-"], 2, "Unknown option: -; piped input is read without it"),
        (&["--version", "-x"], 2, "Unknown option: -x"),
        (&["--model"], 2, "--model requires a value"),
        (&["--mode"], 2, "--mode requires one of text, json, rpc"),
        (&["--mode", "xml"], 2, "Invalid mode \"xml\". Valid values: text, json, rpc"),
        (&["--offline=1"], 2, "--offline takes no value"),
        (&["-t", "a,+b"], 2, "--tools: tool names cannot be mixed with +name or -name entries"),
        (&["--fork", "a", "--session", "b"], 2, "--fork cannot be combined with --session"),
        (&["--fork", "a", "--no-session"], 2, "--fork cannot be combined with --no-session"),
        (&["--fork", "a", "-c"], 2, "--fork cannot be combined with --continue"),
        (&["--session-id", "a", "-r"], 2, "--session-id cannot be combined with --resume"),
        (
            &["--provider", "x"],
            2,
            "--provider requires --model (for example: --provider x --model <pattern>)",
        ),
        (
            &["--api-key", "k"],
            2,
            "--api-key requires a model to be specified via --model, --provider/--model, or --models",
        ),
        (&["--name", " "], 2, "--name requires a non-empty value"),
        (&["--mode", "rpc", "@x"], 2, "@file arguments are not supported in RPC mode"),
        (
            &["sessions", "lst"],
            2,
            "There is no command `pi sessions lst`; did you mean `pi sessions list`?",
        ),
        (
            &["sessions", "list", "--jsn"],
            2,
            "Unknown option of `pi sessions list`: --jsn; did you mean --json?",
        ),
        (&["sessions", "list", "-q"], 2, "Unknown option: -q of `pi sessions list`"),
        (&["sessions", "list", "--limit", "x"], 2, "--limit takes a number, not \"x\""),
        (
            &["sessions", "show"],
            2,
            "`pi sessions show` needs more; usage: pi sessions show [OPTIONS] SESSION",
        ),
        (
            &["sessions", "list", "x"],
            2,
            "`pi sessions list` takes no \"x\"; usage: pi sessions list [OPTIONS]",
        ),
        (
            &["sessions", "export", "x", "--format", "pdf"],
            2,
            "--format: \"pdf\" is none of html, markdown, jsonl",
        ),
        (&["completions", "tcsh"], 2, "\"tcsh\" is none of bash, zsh, fish"),
        (&["help", "sesions"], 2, "There is no command \"sesions\"; did you mean sessions?"),
        (&["undo", "--list", "--redo"], 2, "give one of --list, --diff and --redo"),
        (
            &["install", "npm:x"],
            7,
            "`pi install` is not available yet. This version has no packages yet.",
        ),
        (
            &["auth", "check", "--provider", "x"],
            7,
            "`pi auth` is not available yet. Keys are taken from the environment, for example ANTHROPIC_API_KEY; `pi doctor` lists those it finds.",
        ),
        (
            &["mcp", "add", "x", "--", "y", "-z"],
            7,
            "`pi mcp` is not available yet. This version has no MCP yet.",
        ),
        (
            &["-e", "x"],
            7,
            "--extension is not available yet. This version has no extensions yet; leave the option out.",
        ),
        (&["demo", "--model"], 2, "--model requires a value"),
        (&["demo", "--model", "sonnet"], 2, "--model takes PROVIDER/ID, not \"sonnet\""),
        (
            &["demo", "--thinking", "hard"],
            2,
            "--thinking: \"hard\" is none of off, minimal, low, medium, high, xhigh, max",
        ),
        (&["demo", "--model", "nobody/x"], 1, "Unknown provider: nobody"),
        (
            &["demo", "--model", "anthropic/claude-sonnet-4-5"],
            1,
            "No API key for provider: anthropic. Set ANTHROPIC_API_KEY, or pass a key with the request.",
        ),
    ];
    let world = World::new();
    for (arguments, code, message) in cases {
        let output = world.pi(arguments);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(stderr.lines().next(), Some(format!("pi: {message}").as_str()), "{arguments:?}");
        assert_eq!(output.status.code(), Some(*code), "{arguments:?}: {stderr}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
    let (_, stderr) = world.failure(&["demo", "--model", "anthropic/claude-sonnet-4-6x"]);
    assert!(stderr.contains("it has for example claude-sonnet-4-6"), "{stderr}");
    // Everything that is wrong is said at once.
    let (_, stderr) = world.failure(&["-x", "--modle", "--fork", "a", "-c"]);
    assert_eq!(stderr.lines().count(), 4, "{stderr}");
}

#[cfg(unix)]
#[test]
fn arguments_that_are_no_text_are_named() {
    use std::os::unix::ffi::OsStrExt as _;
    let world = World::new();
    let mut command = world.command(&["-p"]);
    let output = command.arg(std::ffi::OsStr::from_bytes(b"a\xff")).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("is not valid UTF-8"), "{output:?}");
}

#[test]
fn a_reader_that_has_gone_ends_it_quietly() {
    let world = World::new();
    world.session("0193aaaa", &world.project(), "Anybody there?");
    let lines: [&[&str]; 8] = [
        &["demo"],
        &["--help"],
        &["man"],
        &["completions", "bash"],
        &["sessions", "list"],
        &["sessions", "show", "0193aaaa"],
        &["sessions", "export", "0193aaaa", "-"],
        &["doctor"],
    ];
    for line in lines {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = world.command(line);
        let output = command.stdout(writer).stderr(Stdio::piped()).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), stderr.as_str()), (Some(141), ""), "{line:?}");
    }
}

#[test]
fn a_working_directory_that_is_gone_is_named() {
    let world = World::new();
    let gone = world.project().join("gone");
    std::fs::create_dir(&gone).unwrap();
    let pi = env!("CARGO_BIN_EXE_pi");
    let script = format!("cd gone && rmdir ../gone && exec {pi} sessions list");
    let mut command = std::process::Command::new("/bin/sh");
    command
        .args(["-c", &script])
        .current_dir(world.project())
        .env_clear()
        .env("HOME", world.agent());
    let output = command.output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("cannot find the working directory"), "{stderr}");
}
