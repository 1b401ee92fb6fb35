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

#[cfg(target_os = "linux")]
#[test]
fn it_is_the_helper_of_confined_commands() {
    use pi_guard::confine::{Confinement, ConfinementLevel, Machine, Mode, Network};
    let helper = env!("CARGO_BIN_EXE_pi");
    let run = |program: &std::ffi::OsStr, arguments: &[std::ffi::OsString]| {
        let mut command = std::process::Command::new(program);
        command.args(arguments).current_dir("/").stdin(Stdio::null()).output().unwrap()
    };
    let nonsense = run(helper.as_ref(), &["--pi-confine".into(), "nonsense".into()]);
    assert_eq!(nonsense.status.code(), Some(125));
    let machine = Machine::detect();
    for machine in [machine.clone(), machine.without_bubblewrap()] {
        if machine.level() == ConfinementLevel::None {
            continue;
        }
        let reader = Confinement::new(Mode::ReadOnly, Network::Off);
        let confined = reader.prepare(&machine, ConfinementLevel::Landlock, helper).unwrap();
        let script = "echo out; exit 7".into();
        let command = confined.command(&"sh".into(), &["-c".into(), script], "/".as_ref(), &[]);
        let output = run(&command.program, &command.arguments);
        assert_eq!((output.status.code(), &*output.stdout), (Some(7), &b"out\n"[..]));
    }
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
    let commands: [&[&str]; 12] = [
        &["sessions"],
        &["sessions", "list"],
        &["sessions", "export"],
        &["undo"],
        &["doctor"],
        &["completions"],
        &["demo"],
        &["auth"],
        &["auth", "check"],
        &["auth", "print-bearer-token"],
        &["auth", "set"],
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
fn the_demo_works_and_is_kept_as_a_session() {
    let world = World::new();
    let output = world.pi(&["demo"]);
    assert!(output.status.success(), "{output:?}");
    let answer = String::from_utf8(output.stdout).unwrap();
    assert!(answer.contains("scripted model") && answer.ends_with('\n'), "{answer}");
    let told = String::from_utf8(output.stderr).unwrap();
    for line in ["pi: read greet.sh", "pi: bash sh greet.sh", "pi: edit greet.sh"] {
        assert!(told.lines().any(|told| told == line), "{line}: {told}");
    }
    let kept = told.lines().find_map(|line| line.strip_prefix("pi: the session was kept: pi "));
    let shown = world.out(&kept.unwrap().split(' ').collect::<Vec<_>>());
    assert!(shown.contains("Hello, world!") && shown.contains("an l is missing"), "{shown}");
    let place = told.lines().find_map(|line| line.strip_prefix("pi: in ")).unwrap();
    let place = std::path::Path::new(place.split(": ").next().unwrap());
    let script = || std::fs::read_to_string(place.join("greet.sh")).unwrap();
    assert!(script().contains("Hello, world!"), "{}", script());
    let undone = world.command(&["undo"]).current_dir(place).output().unwrap();
    assert!(undone.status.success(), "{undone:?}");
    assert!(script().contains("Helo, world!"), "{}", script());
    std::fs::remove_dir_all(place).unwrap();
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
        (&["auth", "check"], 2, "`pi auth check` needs --provider or --model"),
        (&["auth", "chek"], 2, "There is no command `pi auth chek`; did you mean `pi auth check`?"),
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
        (
            &["demo", "--thinking", "hard"],
            2,
            "--thinking: \"hard\" is none of off, minimal, low, medium, high, xhigh, max",
        ),
        (
            &["demo", "--model", "nobody/x"],
            5,
            "Model \"nobody/x\" not found. Use --list-models to see available models.",
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
    let lines: [&[&str]; 7] = [
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
