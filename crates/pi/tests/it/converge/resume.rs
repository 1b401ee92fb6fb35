//! Runs that end before they are complete, and continue exactly there.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{commands, configure, run_file, runs};
use crate::guard::{results, stderr};
use crate::scenarios::format::{Part, Reply, Status};
use crate::scenarios::server::Server;
use crate::test_env::TestEnv;

const RULES: &str = "[[command]]\nprefix = [\"tee\"]\ndecision = \"ask\"\n";

/// A project, and a model whose calls of `tee` need approval.
struct ResumeEnv {
    env: TestEnv,
    server: Server,
}

impl ResumeEnv {
    fn new(replies: Vec<Reply>) -> Self {
        let env = TestEnv::new();
        let server = Server::start(replies).unwrap();
        configure(&env, &server);
        fs::write(env.agent().join("ask.toml"), RULES).unwrap();
        Self { env, server }
    }

    fn run_arguments<'a>(&self, rules: &'a str) -> Vec<&'a str> {
        // Without a sandbox, a person has to accept the result.
        let options = ["run", "Go", "--profile", "explore", "--accept-review"];
        let options = [&options[..], &["--approval", "defer", "--rules"]].concat();
        [options.as_slice(), &[rules]].concat()
    }

    /// Starts a run.
    fn run(&self, more: &[&str]) -> (Option<i32>, String) {
        let rules = self.env.agent().join("ask.toml").display().to_string();
        self.env.failure(&[self.run_arguments(&rules).as_slice(), more].concat())
    }

    /// Starts a run in the background.
    fn start(&self) -> Child {
        let rules = self.env.agent().join("ask.toml").display().to_string();
        let mut command = self.env.command(&self.run_arguments(&rules));
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    fn id(&self) -> String {
        let runs = runs(&self.env);
        runs[0].file_name().unwrap().to_str().unwrap().to_owned()
    }

    fn resume(&self, more: &[&str]) -> (Option<i32>, String) {
        let id = self.id();
        self.env.failure(&[&["run", "--resume", &id], more].concat())
    }

    fn log(&self) -> String {
        fs::read_to_string(self.env.project().join("log")).unwrap_or_default()
    }

    fn outcome(&self) -> Value {
        run_file(&self.env, "report.json")["outcome"].clone()
    }
}

fn done() -> Reply {
    Reply::Text("Done.".to_owned())
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if source.is_dir() {
            copy(&source, &target);
        } else {
            fs::copy(source, target).unwrap();
        }
    }
}

/// Waits for a condition that another process brings about.
fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < Duration::from_secs(120), "{what}");
        std::thread::yield_now();
    }
}

#[test]
fn an_approved_call_is_executed_once() {
    let env = ResumeEnv::new(vec![commands(&[("a", "echo one | tee -a log")]), done()]);
    let (code, shown) = env.run(&["--check", "grep -q one log"]);
    assert_eq!(code, Some(15), "{shown}");
    assert!(shown.contains("1. bash: echo one | tee -a log"), "{shown}");
    assert_eq!(env.log(), "");
    let report = run_file(&env.env, "report.json");
    let pending = &report["pending"][0];
    assert_eq!(pending["arguments"]["command"], "echo one | tee -a log", "{report}");
    assert!(pending["reasons"][0].as_str().unwrap().contains("ask.toml"), "{report}");

    // Without a decision, nothing changes.
    let (code, shown) = env.resume(&[]);
    assert_eq!((code, env.log()), (Some(15), String::new()), "{shown}");
    let (code, shown) = env.resume(&["--approve", "2"]);
    assert_eq!(code, Some(2), "{shown}");
    assert!(shown.contains("no pending action has the number 2; pending: 1"), "{shown}");
    let (code, shown) = env.resume(&["--approve", "1", "--reject", "1"]);
    assert_eq!(code, Some(2), "{shown}");
    assert_eq!(env.server.requests().len(), 1);

    let (code, shown) = env.resume(&["--approve", "1"]);
    assert_eq!((code, env.log().as_str()), (Some(0), "one\n"), "{shown}");
    assert_eq!(run_file(&env.env, "report.json")["limits"]["spent"]["turns"], 2);
    // A run that is complete shows its report again.
    let (code, shown) = env.resume(&[]);
    assert_eq!((code, env.log().as_str()), (Some(0), "one\n"), "{shown}");
    assert_eq!(env.server.requests().len(), 2);
    let listed = env.env.out(&["run", "--list"]);
    assert!(listed.contains("converged") && listed.contains(&env.id()), "{listed}");
}

#[test]
fn some_of_several_calls_are_approved_and_some_rejected() {
    let calls = [
        ("a", "echo one | tee -a log"),
        ("b", "echo free > free"),
        ("c", "echo three | tee -a log"),
        ("d", "echo four | tee -a log"),
    ];
    let env = ResumeEnv::new(vec![commands(&calls), done()]);
    assert_eq!(env.run(&[]).0, Some(15));
    assert!(env.env.project().join("free").exists());
    let (code, shown) = env.resume(&["--approve", "1", "--reject", "2", "Not on Mondays."]);
    assert_eq!(code, Some(15), "{shown}");
    assert!(shown.contains("3. bash: echo four"), "{shown}");
    assert_eq!(env.log(), "one\n");
    assert_eq!(env.server.requests().len(), 1);
    let (code, shown) = env.resume(&["--approve", "3"]);
    assert_eq!((code, env.log().as_str()), (Some(0), "one\nfour\n"), "{shown}");
    let results = results(&env.server);
    assert_eq!(results.len(), 4, "{results:?}");
    assert!(results.iter().any(|text| text.contains("Not on Mondays.")), "{results:?}");
}

#[test]
fn a_run_is_resumed_on_another_machine_from_a_copy_of_its_directory() {
    let replies = || {
        let first = [("a", "echo made > made; rm old; echo new >> kept")];
        vec![commands(&first), commands(&[("b", "cat made kept | tee -a log")]), done()]
    };
    let project = |env: &TestEnv| {
        fs::write(env.project().join("old"), "old\n").unwrap();
        fs::write(env.project().join("kept"), "kept\n").unwrap();
    };
    let env = ResumeEnv::new(replies());
    project(&env.env);
    assert_eq!(env.run(&[]).0, Some(15));
    let run = runs(&env.env).remove(0);

    // Another user with the same files as at the start.
    let other = TestEnv::new();
    configure(&other, &env.server);
    fs::write(other.agent().join("ask.toml"), RULES).unwrap();
    project(&other);
    let moved: PathBuf = other.agent().join("runs").join(run.file_name().unwrap());
    copy(&run, &moved);
    let id = run.file_name().unwrap().to_str().unwrap();
    let directory = other.project().display().to_string();
    let arguments = ["run", "--resume", id, "--approve", "all", "--directory", &directory];

    fs::write(other.project().join("kept"), "changed by another program\n").unwrap();
    let (code, shown) = other.failure(&arguments);
    assert_eq!(code, Some(2), "{shown}");
    assert!(shown.contains("neither as the run left it nor as it was at the start"), "{shown}");
    assert!(shown.contains("kept"), "{shown}");
    assert!(!other.project().join("made").exists());

    fs::write(other.project().join("kept"), "kept\n").unwrap();
    let output = other.pi(&arguments);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let read = |name: &str| fs::read_to_string(other.project().join(name)).unwrap_or_default();
    assert_eq!(read("log"), "made\nkept\nnew\n");
    assert!(!other.project().join("old").exists());
    let report = run_file(&other, "report.json");
    let changed: Vec<&str> = report["files"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|file| file["path"].as_str())
        .collect();
    assert_eq!(changed, ["kept", "log", "made", "old"], "{report}");
    assert_eq!(env.log(), "", "the first machine is not touched");
}

#[test]
fn directories_that_cannot_be_read_are_refused() {
    let env = ResumeEnv::new(vec![commands(&[("a", "echo one | tee -a log")]), done()]);
    assert_eq!(env.run(&[]).0, Some(15));
    let state = runs(&env.env).remove(0).join("state.json");
    let good = fs::read_to_string(&state).unwrap();
    let newer = good.replacen("\"version\": 1", "\"version\": 2", 1);
    let cases = [
        (newer.as_str(), "has version 2, and this program reads versions up to 1"),
        ("{\"version\": 1, \"attempt\": \"x\"}", "is damaged"),
        ("{\"ver", "is damaged"),
        ("{}", "it has no version"),
    ];
    for (content, expected) in cases {
        fs::write(&state, content).unwrap();
        let (code, shown) = env.resume(&["--approve", "1"]);
        assert_eq!(code, Some(2), "{shown}");
        assert!(shown.contains(expected), "{shown}");
        assert_eq!(fs::read_to_string(&state).unwrap(), content, "the file is left as it is");
    }
    fs::write(&state, &good).unwrap();
    let (code, shown) = env.env.failure(&["run", "--resume", "nonsense"]);
    assert_eq!(code, Some(2), "{shown}");
    assert!(shown.contains("no run matches \"nonsense\""), "{shown}");
    let (code, shown) = env.resume(&["--approve", "1"]);
    assert_eq!((code, env.log().as_str()), (Some(0), "one\n"), "{shown}");
}

#[test]
fn a_run_is_in_use_by_one_process() {
    let held = Reply::Parts(vec![Part::Gate("hold".to_owned()), Part::Text("Done.".to_owned())]);
    let env = ResumeEnv::new(vec![held]);
    let first = env.start();
    assert!(env.server.wait_for_requests(1, Duration::from_secs(120)));
    let (code, shown) = env.resume(&[]);
    assert_eq!(code, Some(2), "{shown}");
    assert!(shown.contains("is in use by another process"), "{shown}");
    env.server.open("hold");
    let output: Output = first.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn signals_end_a_run_that_can_be_resumed() {
    for (signal, code, outcome) in [("-INT", 130, "interrupted"), ("-TERM", 143, "terminated")] {
        let replies = vec![
            commands(&[("a", "echo one >> log")]),
            Reply::Parts(vec![Part::Hang]),
            commands(&[("b", "echo two >> log")]),
            done(),
        ];
        let env = ResumeEnv::new(replies);
        let child = env.start();
        assert!(env.server.wait_for_requests(2, Duration::from_secs(120)));
        let pid = child.id().to_string();
        let sent = std::process::Command::new("kill").args([signal, &pid]).status();
        assert!(sent.unwrap().success());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        assert_eq!(env.outcome(), outcome);
        assert!(stderr(&output).contains("resume with: pi run --resume"), "{}", stderr(&output));
        let (code, shown) = env.resume(&[]);
        assert_eq!((code, env.log().as_str()), (Some(0), "one\ntwo\n"), "{shown}");
        assert_eq!(env.outcome(), "converged");
    }
}

#[test]
fn a_provider_that_is_down_for_a_while_ends_a_run_that_can_be_resumed() {
    let body = json!({"error": {"message": "The server is overloaded."}});
    let down = Part::Status(Status { code: 503, headers: Default::default(), body });
    let replies = vec![
        commands(&[("a", "echo one >> log")]),
        Reply::Parts(vec![down]),
        commands(&[("b", "echo two >> log")]),
        done(),
    ];
    let env = ResumeEnv::new(replies);
    let (code, shown) = env.run(&["--check", "grep -q two log"]);
    assert_eq!(code, Some(75), "{shown}");
    assert_eq!(env.outcome(), "provider-unavailable");
    let (code, shown) = env.resume(&[]);
    assert_eq!((code, env.log().as_str()), (Some(0), "one\ntwo\n"), "{shown}");
    let last = env.server.requests().pop().unwrap().to_string();
    assert!(!last.contains("overloaded"), "{last}");
}

#[test]
fn a_call_of_a_killed_process_is_not_repeated() {
    let replies = vec![
        commands(&[("a", "echo one >> log; sleep 1000"), ("b", "echo two | tee -a other")]),
        done(),
    ];
    let env = ResumeEnv::new(replies);
    let mut child = env.start();
    wait_until("the call begins", || env.log() == "one\n");
    child.kill().unwrap();
    child.wait().unwrap();
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert!(env.env.out(&["run", "--list"]).contains("unfinished"));
    // The other call was not started, and still needs its approval.
    let (code, shown) = env.resume(&[]);
    assert_eq!(code, Some(15), "{shown}");
    let (code, shown) = env.resume(&["--approve", "1"]);
    assert_eq!((code, env.log().as_str()), (Some(0), "one\n"), "{shown}");
    assert_eq!(fs::read_to_string(env.env.project().join("other")).unwrap(), "two\n");
    let results = results(&env.server);
    assert!(results[0].contains("Interrupted: ") && results[0].contains("- log"), "{results:?}");
}
