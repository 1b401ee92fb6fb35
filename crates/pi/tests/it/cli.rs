//! Arguments, help, output and exit codes.

use std::process::Stdio;

use crate::terminal::Terminal;
use crate::test_env::TestEnv;

#[test]
fn version_prints_only_the_number() {
    let env = TestEnv::new();
    for line in [["--version"], ["-v"]] {
        assert_eq!(env.out(&line), concat!(env!("CARGO_PKG_VERSION"), "\n"));
    }
    assert!(!env.agent().exists(), "no file is created");
}

#[cfg(target_os = "linux")]
#[test]
fn the_binary_is_its_own_sandbox_helper() {
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
    let env = TestEnv::new();
    let short = env.out(&["--help"]);
    assert!(short.lines().count() <= 35, "{}", short.lines().count());
    let named = ["auth", "models", "sessions", "undo", "run", "mcp", "config", "doctor", "demo"];
    for name in named {
        assert!(short.contains(&format!("\n  {name} ")), "{name}: {short}");
    }
    for name in ["print", "continue", "resume", "model", "thinking", "tools", "profile", "mode"] {
        assert!(short.contains(&format!("--{name} ")), "{name}: {short}");
    }
    insta::assert_snapshot!(short);
    insta::assert_snapshot!("help_all", env.out(&["help", "--all"]));
    assert_eq!(env.out(&["help", "-a"]), env.out(&["help", "--all"]));
    let same: [&[&str]; 4] = [&["-h"], &["help"], &["-p", "--help", "x"], &["-x", "-h"]];
    for line in same {
        assert_eq!(env.out(line), env.out(&["--help"]), "{line:?}");
    }
    assert!(!env.agent().exists(), "no file is created");
}

#[test]
fn help_of_commands_is_reviewed() {
    let env = TestEnv::new();
    let commands: [&[&str]; 21] = [
        &["sessions"],
        &["sessions", "list"],
        &["sessions", "export"],
        &["sessions", "rename"],
        &["sessions", "prune"],
        &["undo"],
        &["trust"],
        &["trust", "add"],
        &["config"],
        &["config", "list"],
        &["config", "set"],
        &["doctor"],
        &["completions"],
        &["demo"],
        &["auth"],
        &["auth", "check"],
        &["auth", "print-bearer-token"],
        &["auth", "set"],
        &["mcp", "add"],
        &["mcp", "login"],
        &["mcp", "call"],
    ];
    let mut all = String::new();
    for command in commands {
        let text = env.out(&[&["help"], command].concat());
        assert_eq!(env.out(&[command, &["--help"]].concat()), text);
        all.push_str(&format!("$ pi help {}\n{text}\n", command.join(" ")));
    }
    assert_eq!(env.out(&["sessions"]), env.out(&["help", "sessions"]));
    insta::assert_snapshot!(all);
}

#[test]
fn help_fits_into_80_columns() {
    let env = TestEnv::new();
    let help = env.out(&["--help"]) + &env.out(&["help", "--all"]);
    for line in help.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn the_documentation_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/cli.md");
    let documented = std::fs::read_to_string(path).unwrap();
    let wanted = TestEnv::new().out(&["man", "--markdown"]);
    assert!(documented == wanted, "run `cargo xtask cli-docs`");
}

#[test]
fn the_demo_is_saved_as_a_session() {
    let env = TestEnv::new();
    let output = env.pi(&["demo"]);
    assert!(output.status.success(), "{output:?}");
    let answer = String::from_utf8(output.stdout).unwrap();
    assert!(answer.contains("scripted model") && answer.ends_with('\n'), "{answer}");
    let stderr = String::from_utf8(output.stderr).unwrap();
    for line in ["pi: read greet.sh", "pi: bash sh greet.sh", "pi: edit greet.sh"] {
        assert!(stderr.lines().any(|printed| printed == line), "{line}: {stderr}");
    }
    let show = stderr.lines().find_map(|line| line.strip_prefix("pi: to show the session: pi "));
    let shown = env.out(&show.unwrap().split(' ').collect::<Vec<_>>());
    assert!(shown.contains("Hello, world!") && shown.contains("an l is missing"), "{shown}");
    let directory = stderr.lines().find_map(|line| line.strip_prefix("pi: in ")).unwrap();
    let directory = std::path::Path::new(directory.split(": ").next().unwrap());
    let script = || std::fs::read_to_string(directory.join("greet.sh")).unwrap();
    assert!(script().contains("Hello, world!"), "{}", script());
    let undone = env.command(&["undo"]).current_dir(directory).output().unwrap();
    assert!(undone.status.success(), "{undone:?}");
    assert!(script().contains("Helo, world!"), "{}", script());
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn invalid_command_lines_are_reported() {
    let cases: &[(&[&str], i32, &str)] = &[
        (&["--frobnicate"], 2, "Unknown option: --frobnicate"),
        (&["--modle", "x"], 2, "Unknown option: --modle; did you mean --model?"),
        (&["--contniue"], 2, "Unknown option: --contniue; did you mean --continue?"),
        (&["-x"], 2, "Unknown option: -x"),
        (&["-V"], 2, "Unknown option: -V; did you mean -v?"),
        (&["-pc"], 2, "Unknown option: -pc; did you mean -p -c?"),
        (&["-n=x"], 2, "Unknown option: -n=x; did you mean -n x?"),
        (&["-model", "x"], 2, "Unknown option: -model; did you mean --model?"),
        (&["-"], 2, "Unknown option: -; piped input is read automatically"),
        (
            &["-p", "- item"],
            2,
            "Unknown option: - item; put -- before a message that begins with a dash",
        ),
        (&["--version", "-x"], 2, "Unknown option: -x"),
        (&["--model"], 2, "--model requires a value"),
        (&["--mode"], 2, "--mode requires a value: text, json or rpc"),
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
            "unknown command `pi sessions lst`; did you mean `pi sessions list`?",
        ),
        (
            &["sessions", "list", "--jsn"],
            2,
            "Unknown option of `pi sessions list`: --jsn; did you mean --json?",
        ),
        (&["sessions", "list", "-q"], 2, "Unknown option of `pi sessions list`: -q"),
        (
            &["sessions", "list", "--limit", "x"],
            2,
            "--limit: invalid value \"x\": expected a number",
        ),
        (
            &["sessions", "show"],
            2,
            "missing argument of `pi sessions show`; usage: pi sessions show [OPTIONS] SESSION",
        ),
        (
            &["sessions", "list", "x"],
            2,
            "unexpected argument \"x\" of `pi sessions list`; usage: pi sessions list [OPTIONS]",
        ),
        (
            &["sessions", "export", "x", "--format", "pdf"],
            2,
            "--format: invalid value \"pdf\": expected html, markdown, jsonl or atif",
        ),
        (&["sessions", "export", "x", "x.pdf"], 1, "No session found matching 'x'"),
        (&["sessions", "rename", "x", " "], 2, "the name of a session cannot be empty"),
        (&["sessions", "prune"], 2, "which sessions are to be removed?"),
        (
            &["sessions", "prune", "--older-than", "90"],
            2,
            "--older-than: invalid value \"90\": expected a number with h, d or w, such as 90d",
        ),
        (
            &["sessions", "prune", "--keep", "x"],
            2,
            "--keep: invalid value \"x\": expected a number",
        ),
        (&["completions", "tcsh"], 2, "invalid value \"tcsh\": expected bash, zsh or fish"),
        (&["help", "sesions"], 2, "unknown command or topic \"sesions\"; did you mean sessions?"),
        (&["undo", "--list", "--redo"], 2, "--list, --diff and --redo cannot be combined"),
        (&["install"], 2, "missing argument of `pi install`; usage: pi install [OPTIONS] SOURCE"),
        (&["auth", "check"], 2, "`pi auth check` requires a provider or --model"),
        (&["auth", "chek"], 2, "unknown command `pi auth chek`; did you mean `pi auth check`?"),
        (
            &["mcp", "add", "x"],
            2,
            "expected either --url URL or -- COMMAND... after the name of the server",
        ),
        (&["demo", "--model"], 2, "--model requires a value"),
        (
            &["demo", "--thinking", "hard"],
            2,
            "--thinking: invalid value \"hard\": expected off, minimal, low, medium, high, xhigh or max",
        ),
        (&["demo", "--model", "none/x"], 5, "Model \"none/x\" not found."),
    ];
    let env = TestEnv::new();
    for (arguments, code, message) in cases {
        let output = env.pi(arguments);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(stderr.lines().next(), Some(format!("pi: {message}").as_str()), "{arguments:?}");
        assert_eq!(output.status.code(), Some(*code), "{arguments:?}: {stderr}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
    // The hint names the help of the command.
    let hints: &[(&[&str], &str)] = &[
        (&["--frobnicate"], "see `pi --help`"),
        (&["sessions", "lst"], "see `pi help sessions`"),
        (&["sessions", "export"], "see `pi help sessions export`"),
        (&["undo", "--lst"], "see `pi help undo`"),
        (&["help", "sesions"], "see `pi --help`"),
        (&["help", "sessions", "exprt"], "see `pi help sessions`"),
    ];
    for (arguments, hint) in hints {
        let (_, stderr) = env.failure(arguments);
        assert!(stderr.ends_with(&format!("hint: {hint}\n")), "{arguments:?}: {stderr}");
    }
    // All errors are reported at once.
    let (_, stderr) = env.failure(&["-x", "--modle", "--fork", "a", "-c"]);
    assert_eq!(stderr.lines().count(), 4, "{stderr}");
}

#[cfg(unix)]
#[test]
fn arguments_that_are_not_utf8_are_reported() {
    use std::os::unix::ffi::OsStrExt as _;
    let env = TestEnv::new();
    let mut command = env.command(&["-p"]);
    let output = command.arg(std::ffi::OsStr::from_bytes(b"a\xff")).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("is not valid UTF-8"), "{output:?}");
}

#[test]
fn a_closed_stdout_ends_commands_silently() {
    let env = TestEnv::new();
    env.session("0193aaaa", &env.project(), "Hello?");
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
        let mut command = env.command(line);
        let output = command.stdout(writer).stderr(Stdio::piped()).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), stderr.as_str()), (Some(141), ""), "{line:?}");
    }
}

#[test]
fn a_missing_working_directory_is_reported() {
    let env = TestEnv::new();
    let gone = env.project().join("gone");
    std::fs::create_dir(&gone).unwrap();
    let pi = env!("CARGO_BIN_EXE_pi");
    let script = format!("cd gone && rmdir ../gone && exec {pi} sessions list");
    let mut command = std::process::Command::new("/bin/sh");
    command.args(["-c", &script]).current_dir(env.project()).env_clear().env("HOME", env.agent());
    let output = command.output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("cannot find the working directory"), "{stderr}");
}

#[test]
fn topics_are_shown_and_suggested() {
    let env = TestEnv::new();
    for (name, expected) in [
        ("topic:models", "Models and providers\n===="),
        ("keys", "Models and providers\n===="),
        ("tools", "Background processes\n----"),
        ("topic:tools", "Background processes\n----"),
        ("ollama", "Models on this machine\n===="),
        ("SKILLS", "Skills, prompt templates and context files\n===="),
        ("guard", "`pi sandbox`"),
        ("settings", "`guard.profile`"),
    ] {
        let page = env.out(&["help", name]);
        assert!(page.contains(expected), "{name}: {page}");
        assert!(!page.contains("]("), "{name} has a link");
    }
    // A page with the name of a command does not hide the command.
    for name in ["run", "mcp", "hooks", "agents", "replay", "acp", "models"] {
        let command = env.out(&["help", name]);
        assert_eq!(command, env.out(&[name, "--help"]), "{name}");
        assert!(command.contains(&format!("pi help topic:{name}")), "{name}: {command}");
        assert!(env.out(&["help", &format!("topic:{name}")]).contains("===="), "{name}");
    }
    let (code, stderr) = env.failure(&["help", "topic:modles"]);
    assert_eq!(code, Some(2));
    assert!(stderr.contains("unknown topic \"modles\"; did you mean topic:models?"), "{stderr}");
    assert!(env.out(&["help", "--all"]).contains("pi help TOPIC"));
    let (code, stderr) = env.failure(&["help", "modles"]);
    assert_eq!(code, Some(2));
    assert!(
        stderr.contains("unknown command or topic \"modles\"; did you mean models?"),
        "{stderr}"
    );
}

/// A page of hundreds of lines is read in a pager; a pipe gets the plain text.
#[test]
fn long_help_is_paged_on_a_terminal() {
    let env = TestEnv::new();
    let on_terminal = |line: &[&str], pager: Option<&str>| {
        let mut command = env.command(line);
        if let Some(pager) = pager {
            command.env("PAGER", pager);
        }
        let (status, text) = Terminal::start(command).finish();
        assert!(status.success(), "{line:?}: {text}");
        text.replace('\r', "")
    };
    for line in [&["help", "tools"][..], &["help", "--all"], &["help", "run"]] {
        let paged = on_terminal(line, Some("sed -e 's/^/P|/'"));
        assert!(paged.lines().all(|line| line.starts_with("P|")), "{line:?}: {paged}");
    }
    // Headings stand out; a missing pager hides nothing.
    for pager in ["no-such-pager-of-pi", "", "cat"] {
        let text = on_terminal(&["help", "tools"], Some(pager));
        assert!(text.contains("\u{1b}[1mBackground processes\u{1b}[0m\n---"), "{pager:?}: {text}");
    }
    // The short help fits on a screen.
    let short = on_terminal(&["--help"], Some("sed -e 's/^/P|/'"));
    assert!(!short.contains("P|") && short.contains("\u{1b}[1mCommands:\u{1b}[0m"), "{short}");
    assert!(!env.out(&["help", "tools"]).contains('\u{1b}'));
}
