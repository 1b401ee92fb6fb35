//! Streamed answers, progress on stderr, and input that delays the start.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;

use serde_json::json;

use crate::bad_input::{ServerEnv, finish};
use crate::scenarios::format::{Call, Part, Reply, Status};
use crate::terminal::Terminal;

fn call(command: &str) -> Part {
    let args = json!({ "command": command });
    Part::Call(Call { id: "call_1".to_owned(), name: "bash".to_owned(), args, pieces: None })
}

fn text(text: &str) -> Part {
    Part::Text(text.to_owned())
}

fn gate() -> Part {
    Part::Gate("gate".to_owned())
}

fn overloaded() -> Reply {
    let status = Status { code: 503, headers: Default::default(), body: json!("overloaded") };
    Reply::Parts(vec![Part::Status(status)])
}

fn set_pause(env: &ServerEnv, milliseconds: u32) {
    let settings = json!({ "defaultProvider": "mock", "defaultModel": "m1",
        "retry": { "baseDelayMs": milliseconds } });
    env.write("settings.json", settings.to_string());
}

#[test]
fn an_answer_appears_on_a_terminal_as_it_grows() {
    let replies = vec![
        Reply::Parts(vec![text("Let me look."), call("echo done")]),
        Reply::Parts(vec![text("first\u{1b}[31m "), gate(), text("second")]),
    ];
    let env = ServerEnv::new(replies);
    let mut terminal = Terminal::start(env.command(&["-p", "Hello"]));
    terminal.wait_for("first[31m ");
    env.server.open("gate");
    let (status, shown) = terminal.finish();
    assert!(status.success(), "{shown}");
    assert_eq!(
        shown.replace("\r\n", "\n"),
        "Let me look.\npi: bash echo done\nfirst[31m second\n",
        "the answer is there once, without control characters"
    );
}

#[test]
fn a_terminal_shows_what_is_waited_for() {
    let env = ServerEnv::new(vec![Reply::Parts(vec![gate(), text("An answer.")])]);
    let mut terminal = Terminal::start(env.command(&["-p", "Hello"]));
    terminal.wait_for("pi: waiting for mock/m1 (1 s)");
    env.server.open("gate");
    let (status, shown) = terminal.finish();
    assert!(status.success(), "{shown}");
    let (_, after) = shown.rsplit_once("\r\u{1b}[K").unwrap();
    assert_eq!(after, "An answer.\r\n", "the line is removed before the answer");
}

#[test]
fn a_pipe_gets_the_last_answer_only() {
    let replies = vec![
        Reply::Parts(vec![text("Let me look."), call("echo done")]),
        Reply::Text("An answer.".to_owned()),
    ];
    let env = ServerEnv::new(replies);
    env.run(&["-p", "Hello"]).assert_answered(&[]);
}

#[test]
fn verbose_logs_requests_and_tools() {
    let replies = || {
        vec![
            Reply::Parts(vec![
                call("exit 3"),
                Part::Finish(vec![json!("tool_calls"), 7.into(), 2.into()]),
            ]),
            Reply::Text("An answer.".to_owned()),
        ]
    };
    let time = regex_lite::Regex::new(r"\d+\.\d s").unwrap();
    for mode in ["text", "json"] {
        let env = ServerEnv::new(replies());
        let result = env.run(&["--verbose", "--mode", mode, "-p", "Hello"]);
        assert_eq!(result.code, Some(0));
        let log: Vec<_> = result.stderr.lines().map(|line| time.replace(line, "T s")).collect();
        assert_eq!(log[0], "pi: request to mock/m1");
        assert_eq!(log[1], "pi: answer after T s: 7 tokens in, 2 out, $0.0000");
        assert_eq!(log[2], "pi: bash exit 3");
        assert_eq!(log[3], "pi: bash failed after T s");
        assert_eq!(log[4], "pi: request to mock/m1");
    }
}

#[test]
fn long_pauses_are_reported_without_a_terminal() {
    let env = ServerEnv::new(vec![overloaded(), Reply::Text("An answer.".to_owned())]);
    set_pause(&env, 1000);
    env.run(&["-p", "Hello"]).assert_answered(&["overloaded", "retry 1 of 3 in 1 s"]);
}

#[test]
fn an_interrupt_before_a_retry_is_reported_as_such() {
    let env = ServerEnv::new(vec![overloaded()]);
    set_pause(&env, 60_000);
    let mut terminal = Terminal::start(env.command(&["-p", "Hello"]));
    terminal.wait_for("retry 1 of 3 in 60 s");
    terminal.signal("INT");
    let (status, shown) = terminal.finish();
    assert_eq!(status.code(), Some(130), "{shown}");
    assert!(!shown.contains("no answer"), "{shown}");
}

#[test]
fn input_that_delays_the_start_is_mentioned() {
    let env = ServerEnv::with_answer();
    let mut command = env.command(&["-p", "Hello"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let stdin = child.stdin.take();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "pi: reading standard input until it ends; --no-stdin skips it\n");
    drop(stdin);
    let mut answer = String::new();
    child.stdout.take().unwrap().read_to_string(&mut answer).unwrap();
    assert_eq!(answer, "An answer.\n");
    assert!(child.wait().unwrap().success());
}

#[test]
fn input_can_be_ignored() {
    let env = ServerEnv::with_answer();
    let mut command = env.command(&["--no-stdin", "-p", "Hello"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // Open until the end of the program.
    let stdin = child.stdin.take();
    assert!(child.wait().unwrap().success());
    drop(stdin);

    let env = ServerEnv::with_answer();
    let result = finish(env.command(&["--no-stdin", "-p", "Hello"]), b"not for pi");
    result.assert_answered(&[]);
    assert!(!env.server.requests()[0].to_string().contains("not for pi"));
}

#[test]
fn a_mistyped_command_is_not_sent_to_a_model() {
    let cases: [(&[&str], &str); 4] = [
        (&["sesions", "list"], "did you mean `pi sessions`?"),
        (&["docter"], "did you mean `pi doctor`?"),
        (&["udno"], "did you mean `pi undo`?"),
        (&["--verbose", "-xt", "bash", "sessions-list"], ""),
    ];
    for (arguments, expected) in cases {
        let env = ServerEnv::with_answer();
        let result = env.run(arguments);
        if expected.is_empty() {
            assert_eq!(env.server.requests().len(), 1, "{arguments:?}: {result:?}");
        } else {
            result.assert_failed(2, &["unknown command", expected, "pi -p"]);
            assert!(env.server.requests().is_empty());
        }
    }
    let env = ServerEnv::with_answer();
    env.run(&["-p", "sesions"]).assert_answered(&[]);
}

#[test]
fn json_mode_reports_failures_if_asked() {
    let refusal = || {
        let status = Status { code: 400, headers: Default::default(), body: json!("no") };
        vec![Reply::Parts(vec![Part::Status(status)])]
    };
    let cases: [(&[&str], i32); 4] = [
        (&[], 0),
        (&["--fail"], 1),
        (&["--profile", "unattended"], 1),
        (&["--profile", "careful"], 1),
    ];
    for (options, code) in cases {
        let env = ServerEnv::new(refusal());
        let result = env.run(&[&["--mode", "json", "Hello"], options].concat());
        assert_eq!(result.code, Some(code), "{options:?}: {result:?}");
    }
    let env = ServerEnv::with_answer();
    assert_eq!(env.run(&["--mode", "json", "--fail", "Hello"]).code, Some(0));
    env.run(&["--mode", "json"]).assert_failed(2, &["no prompt given"]);
}

#[test]
fn a_mistyped_skill_is_mentioned() {
    let cases = [
        (
            "/skill:nosuch do it",
            "pi: warning: there is no command /skill:nosuch; the text is sent as it is\n",
        ),
        (
            "/reviwe this",
            "pi: warning: there is no command /reviwe; the text is sent as it is; did you mean /review?\n",
        ),
        ("/review this", ""),
        ("/usr/bin is large", ""),
    ];
    for (prompt, expected) in cases {
        let env = ServerEnv::with_answer();
        env.write("prompts/review.md", "Review: $ARGUMENTS");
        let result = env.run(&["-p", prompt]);
        assert_eq!((result.code, result.stderr.as_str()), (Some(0), expected), "{prompt}");
    }
}
