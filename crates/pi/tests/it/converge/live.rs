//! What `pi run` shows and takes while it works: the terms in the prompt, piped input, the progress
//! on stderr, events on stdout, and the options of the agent.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::{commands, configure, run_file, runs};
use crate::bad_input::{Finished, finish};
use crate::scenarios::format::Reply;
use crate::scenarios::server::Server;
use crate::test_env::TestEnv;

/// A model that runs a command and says that it is done.
fn working(command: &str) -> (TestEnv, Server) {
    let call = commands(&[("call1", command)]);
    let server = Server::start(vec![call, Reply::Text("Done.".to_owned())]).unwrap();
    let env = TestEnv::new();
    configure(&env, &server);
    (env, server)
}

/// Returns the text of the first message of the user.
fn prompt(server: &Server) -> String {
    let requests = server.requests();
    let messages = requests[0]["messages"].as_array().unwrap();
    let message = messages.iter().find(|message| message["role"] == "user").unwrap();
    match &message["content"] {
        Value::String(text) => text.clone(),
        content => content[0]["text"].as_str().unwrap().to_owned(),
    }
}

fn piped(env: &TestEnv, arguments: &[&str], input: &str) -> Finished {
    finish(env.command(arguments), input.as_bytes())
}

#[test]
fn the_prompt_states_the_terms() {
    let (env, server) = working("touch made");
    let arguments =
        ["run", "Make it.", "--check", "test -e made", "--allow", "made", "--must", "It is short"];
    let _ = env.pi(&arguments);
    let prompt = prompt(&server);
    for text in [
        "Make it.\n\nThe result is checked after you have ended:\n",
        "- `test -e made` succeeds.\n",
        "- Only these files are changed: `made`.\n",
        "- A reviewer must confirm: It is short\n",
    ] {
        assert!(prompt.contains(text), "{text}\n{prompt}");
    }
    let (env, server) = working("true");
    let _ = env.pi(&["run", "Make it."]);
    assert_eq!(self::prompt(&server), "Make it.");
}

#[test]
fn piped_input_is_a_part_of_the_prompt() {
    let diff = "--- a\n+++ b\n+{{ not a parameter }}\n";
    let cases: [(&[&str], bool); 3] = [
        (&["run", "Review this."], true),
        (&["run", "task.yaml"], true),
        (&["run", "Review this.", "--no-stdin"], false),
    ];
    for (arguments, is_read) in cases {
        let (env, server) = working("true");
        fs::write(env.project().join("task.yaml"), "goal: Review this.\n").unwrap();
        let ended = piped(&env, arguments, diff);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let input = format!("<file name=\"stdin\">\n{diff}</file>\n");
        let expected = if is_read { format!("{input}Review this.") } else { "Review this.".into() };
        assert_eq!(prompt(&server), expected, "{arguments:?}");
    }
}

#[test]
fn stdin_is_a_task_file_or_a_goal() {
    let goals = [
        ("Make the file.\nIt is called made.\n", "Make the file.\nIt is called made.\n"),
        ("# Title\n\nFix the parser: it fails.\n", "# Title\n\nFix the parser: it fails.\n"),
        ("{\"goal\": \"From JSON.\"}", "From JSON."),
        ("# A task\n---\ngoal: From YAML.\n", "From YAML."),
        ("\"goal\" : Quoted.\n", "Quoted."),
    ];
    for (input, goal) in goals {
        let (env, _server) = working("true");
        let ended = piped(&env, &["run", "-"], input);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert_eq!(run_file(&env, "contract.json")["goal"], goal);
    }
    let mistakes = [
        ("goal: x\nlimts: {}\n", "stdin:2:1: limts: unknown field; did you mean `limits`?"),
        ("goal: x\nverify: [\n", "stdin:3:1: invalid YAML"),
        ("{\"goal\": ]}", "stdin:1:"),
        ("\n \n", "the task is missing: stdin is empty"),
    ];
    for (input, message) in mistakes {
        let (env, server) = working("true");
        piped(&env, &["run", "-"], input).assert_failed(2, &[message]);
        assert!(server.requests().is_empty());
    }
}

#[test]
fn too_much_input_is_refused() {
    let (env, server) = working("true");
    let large = "x".repeat(33 * 1024 * 1024);
    piped(&env, &["run", "Review this."], &large).assert_failed(2, &["larger than 32 MB"]);
    assert!(server.requests().is_empty());
}

#[test]
fn verbose_shows_requests_tool_calls_and_checks() {
    let (env, _server) = working("touch made");
    let check = ["--check", "test -e made"];
    let quiet = env.pi(&[&["run", "Make it."], check.as_slice()].concat());
    let quiet = String::from_utf8(quiet.stderr).unwrap();
    assert!(!quiet.contains("bash touch made"), "{quiet}");

    let (env, _server) = working("touch made");
    let output = env.pi(&[&["run", "Make it.", "--verbose"], check.as_slice()].concat());
    let shown = String::from_utf8(output.stderr).unwrap();
    let mut rest = shown.as_str();
    for line in [
        "pi: run: ",
        "pi: check: test -e made\n",
        "pi: fails before the run: test -e made (after ",
        "pi: round 1\n",
        "pi: request to mock/m1\n",
        "pi: answer after ",
        "pi: bash touch made\n",
        "pi: bash done after ",
        "pi: request to mock/m1\n",
        "pi: check: test -e made\n",
        "pi: passed: test -e made (after ",
        "pi: converged: ",
    ] {
        let at = rest.find(line).unwrap_or_else(|| panic!("{line}\n{shown}"));
        rest = &rest[at + line.len()..];
    }
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "Done.\n");
}

fn types(text: &str) -> Vec<(String, Value)> {
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.map(|line| (line["type"].as_str().unwrap_or_default().to_owned(), line)).collect()
}

#[test]
fn events_are_lines_and_the_report_is_the_last() {
    for option in [["--output-format", "stream-json"], ["--mode", "json"]] {
        let (env, _server) = working("touch made");
        let arguments = ["run", "Make it.", "--check", "test -e made"];
        let output = env.pi(&[arguments.as_slice(), &option].concat());
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let lines = types(&String::from_utf8(output.stdout).unwrap());
        let mut kinds = lines.iter().map(|(kind, _)| kind.as_str());
        for expected in [
            "run_start",
            "attempt_start",
            "check_start",
            "check_end",
            "session",
            "round_start",
            "agent_start",
            "turn_start",
            "message_end",
            "tool_execution_start",
            "tool_execution_end",
            "agent_end",
            "verification_start",
            "check_start",
            "check_end",
            "run_end",
            "report",
        ] {
            assert!(kinds.any(|kind| kind == expected), "{expected}: {lines:#?}");
        }
        assert_eq!(kinds.next(), None, "the report is the last line");
        let (_, mut report) = lines.last().unwrap().clone();
        report.as_object_mut().unwrap().remove("type");
        assert_eq!(report, run_file(&env, "report.json"));
        let checks: Vec<&Value> =
            lines.iter().filter(|(kind, _)| kind == "check_end").map(|(_, line)| line).collect();
        let facts = |line: &Value| (line["before"].clone(), line["check"]["passed"].clone());
        assert_eq!(facts(checks[0]), (json!(true), json!(false)));
        assert_eq!(facts(checks[1]), (json!(false), json!(true)));
    }
    let (env, _server) = working("true");
    let output = env.pi(&["run", "x", "--max-turns", "many", "--mode", "json"]);
    assert_eq!(output.status.code(), Some(2));
    let lines = types(&String::from_utf8(output.stdout).unwrap());
    assert_eq!(lines.len(), 1);
    assert_eq!((lines[0].0.as_str(), &lines[0].1["outcome"]), ("report", &json!("invalid-task")));
}

#[test]
fn a_reader_that_goes_away_ends_the_run() {
    let (env, _server) = working("touch made");
    let mut child = env
        .command(&["run", "Make it.", "--mode", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert_eq!(run_file(&env, "report.json")["outcome"], "terminated");
}

/// Returns the system prompt of the first request.
fn system(server: &Server) -> String {
    server.requests()[0]["messages"][0]["content"].to_string()
}

#[test]
fn the_agent_has_the_prompts_and_extensions_of_the_options() {
    let (env, server) = working("true");
    let extension = "export default (pi) => { pi.on('before_agent_start', () => ({ message: \
                     { customType: 'x', content: 'From the extension.', display: true } })); }";
    fs::write(env.project().join("extension.ts"), extension).unwrap();
    fs::write(env.project().join("system.md"), "You are a careful reviewer.\n").unwrap();
    fs::write(env.project().join("AGENTS.md"), "A rule of the project.\n").unwrap();
    let arguments = [
        "run",
        "Review.",
        "--system-prompt",
        "system.md",
        "--append-system-prompt",
        "Be brief.",
        "-e",
        "extension.ts",
        "-nc",
        "--workspace",
        "copy",
    ];
    let output = env.pi(&arguments);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let system = system(&server);
    assert!(system.contains("You are a careful reviewer."), "{system}");
    assert!(system.contains("Be brief."), "{system}");
    assert!(!system.contains("A rule of the project."), "{system}");
    let sent = server.requests()[0].to_string();
    assert!(sent.contains("From the extension."), "{output:?} {sent}");

    let refused = env.failure(&["run", "x", "-e", "npm:some-package"]);
    assert_eq!(refused.0, Some(2), "{refused:?}");
    assert!(refused.1.contains("npm:some-package is a package"), "{refused:?}");
}

#[test]
fn a_resumed_run_has_the_options_of_its_agent() {
    let replies =
        vec![commands(&[("call1", "tee log < /dev/null")]), Reply::Text("Done.".to_owned())];
    let server = Server::start(replies).unwrap();
    let env = TestEnv::new();
    configure(&env, &server);
    let system = env.agent().join("system.md");
    fs::write(&system, "You are a careful reviewer.\n").unwrap();
    let rules = "[[command]]\nprefix = [\"tee\"]\ndecision = \"ask\"\n";
    let file = env.agent().join("ask.toml");
    fs::write(&file, rules).unwrap();
    let text = system.to_str().unwrap();
    let options = ["--profile", "explore", "--approval", "defer", "--system-prompt", text];
    let rules = ["--rules", file.to_str().unwrap()];
    let (code, stderr) = env.failure(&[["run", "Go."].as_slice(), &options, &rules].concat());
    assert_eq!(code, Some(15), "{stderr}");
    assert_eq!(run_file(&env, "report.json")["limits"]["spent"]["toolCalls"], 0);
    fs::remove_file(&system).unwrap();
    let id = runs(&env)[0].file_name().unwrap().to_str().unwrap().to_owned();
    let (code, stderr) = env.failure(&["run", "--resume", &id, "--approve", "all"]);
    assert_eq!(code, Some(0), "{stderr}");
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    for request in requests {
        let system = request["messages"][0]["content"].to_string();
        assert!(system.contains("You are a careful reviewer."), "{system}");
    }
    // The call that waited is counted once.
    assert_eq!(run_file(&env, "report.json")["limits"]["spent"]["toolCalls"], 1);
}

/// Returns the files below the working directory that a CI job would upload.
fn reported(env: &TestEnv) -> (Value, String) {
    let report = fs::read_to_string(env.project().join("out/report.json")).unwrap_or_default();
    let junit = fs::read_to_string(env.project().join("out/junit.xml")).unwrap_or_default();
    (serde_json::from_str(&report).unwrap_or_default(), junit)
}

#[test]
fn a_run_that_cannot_start_writes_its_reports() {
    let files = ["--report", "out/report.json", "--junit", "out/junit.xml"];
    let cases: [(&[&str], &str, &str); 4] = [
        (&["run", "bad.yaml"], "invalid-task", "limts"),
        (&["run", "none.yaml"], "invalid-task", "none.yaml"),
        (&["run", "x", "-e", "npm:package"], "invalid-task", "package"),
        (&["run", "x", "--model", "no-such-model", "--check", "true"], "no-model", "no-such-model"),
    ];
    for (arguments, outcome, reason) in cases {
        let (env, _server) = working("true");
        fs::write(env.project().join("bad.yaml"), "goal: x\nlimts: {}\n").unwrap();
        let (_, stderr) = env.failure(&[arguments, &files].concat());
        let (report, junit) = reported(&env);
        assert_eq!(report["outcome"], outcome, "{stderr}");
        assert!(report["reason"].as_str().unwrap().contains(reason), "{report}");
        assert!(junit.contains(&format!("<error type=\"{outcome}\"")), "{junit}");
        assert_eq!(report["provesNothing"], outcome == "no-model" && report["before"] != json!([]));
    }
    let (env, _server) = working("true");
    let task = "goal: x\nlimts: {}\nreports: { json: out/report.json }\n";
    fs::write(env.project().join("bad.yaml"), task).unwrap();
    let _ = env.pi(&["run", "bad.yaml"]);
    assert_eq!(reported(&env).0["outcome"], "invalid-task");
    // Nothing is written by a look at the task.
    fs::remove_dir_all(env.project().join("out")).unwrap();
    let _ = env.pi(&["run", "bad.yaml", "--dry-run"]);
    assert!(!env.project().join("out").exists());
}

#[test]
fn checks_that_were_not_made_prove_neither() {
    let (env, _server) = working("true");
    let arguments = ["run", "x", "--model", "no-such-model", "--exist", "a"];
    let (code, stderr) = env.failure(&arguments);
    assert_eq!(code, Some(5), "{stderr}");
    assert!(!stderr.contains("prove nothing"), "{stderr}");
    assert_eq!(run_file(&env, "report.json")["provesNothing"], false);
}

#[test]
fn the_report_has_the_limits_in_force() {
    let (env, _server) = working("true");
    let _ = env.pi(&["run", "x", "--max-turns", "9", "--idle-timeout", "0"]);
    assert_eq!(
        run_file(&env, "report.json")["limits"]["limits"],
        json!({ "turns": 9, "tool_calls": 2000, "wall": "4h", "output_bytes": 64 << 20 })
    );
}

#[test]
fn a_limit_of_the_cost_without_a_price_is_a_warning() {
    let (env, _server) = working("true");
    let (_, stderr) = env.failure(&["run", "x", "--max-cost", "2"]);
    assert!(stderr.contains("warning: the limit of the cost has no effect"), "{stderr}");
    assert!(stderr.contains("note: the limit of the cost has no effect"), "{stderr}");
    let dry = env.out(&["run", "x", "--max-cost", "2", "--dry-run"]);
    assert!(dry.contains("warning  limits: the limit of the cost has no effect"), "{dry}");
    let (_, stderr) = env.failure(&["run", "x"]);
    assert!(!stderr.contains("limit of the cost"), "{stderr}");
}

/// A standard input that stays open and silent is mentioned, and `--no-stdin` skips it.
#[test]
fn open_input_is_mentioned() {
    let (env, _server) = working("true");
    let mut command: Command = env.command(&["run", "x"]);
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let stdin = child.stdin.take();
    let mut stderr = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut stderr, &mut line).unwrap();
    assert_eq!(line, "pi: reading standard input until it ends; --no-stdin skips it\n");
    drop(stdin);
    assert_eq!(child.wait().unwrap().code(), Some(0));

    let (env, _server) = working("true");
    let mut command: Command = env.command(&["run", "x", "--no-stdin"]);
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let stdin = child.stdin.take();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    drop(stdin);
}
