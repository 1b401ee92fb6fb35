//! Agents that repeat themselves, and agents that only look as if they did.

use std::fs;

use serde_json::{Value, json};

use super::{commands, configure, run_file};
use crate::bad_input::{Finished, finish};
use crate::scenarios::format::{Call, Part, Reply};
use crate::scenarios::server::Server;
use crate::test_env::TestEnv;

/// The end of a run.
struct Ended {
    finished: Finished,
    report: Value,
    requests: Vec<Value>,
}

fn run(
    task: &Value,
    prepare: impl FnOnce(&TestEnv),
    choose: impl Fn(usize) -> Reply + Send + Sync + 'static,
) -> Ended {
    let env = TestEnv::new();
    let server = Server::choosing(move |_, number| choose(number)).unwrap();
    configure(&env, &server);
    prepare(&env);
    fs::write(env.project().join("task.json"), task.to_string()).unwrap();
    let finished = finish(env.command(&["run", "task.json"]), &[]);
    Ended { finished, report: run_file(&env, "report.json"), requests: server.requests() }
}

impl Ended {
    /// Asserts that the run ended as stuck after this many requests, and that the agent was told
    /// before.
    #[track_caller]
    fn assert_stuck(&self, signal: &str, requests: usize) {
        let Self { finished, report, .. } = self;
        assert_eq!(finished.code, Some(11), "{finished:?} {report}");
        assert_eq!(report["outcome"], "stuck");
        assert_eq!(report["stuck"]["signal"], signal, "{report}");
        assert_eq!(self.requests.len(), requests, "{signal}");
        let last = self.requests.last().unwrap().to_string();
        assert!(last.contains("The run ends soon if this continues."), "no note: {last}");
    }
}

fn bash(number: usize, command: &str) -> Reply {
    commands(&[(&format!("call{number}"), command)])
}

fn write(number: usize, path: &str, content: &str) -> Reply {
    let args = json!({ "path": path, "content": content });
    let (id, name) = (format!("call{number}"), "write".to_owned());
    Reply::Parts(vec![Part::Call(Call { id, name, args, pieces: None })])
}

fn goal() -> Value {
    json!({ "goal": "Work." })
}

#[test]
fn repeated_calls_end_the_run() {
    let ended = run(&goal(), |_| {}, |number| bash(number, "ls"));
    ended.assert_stuck("identical-calls", 5);
    assert_eq!(ended.report["stuck"]["what"], json!(["bash: ls"]));

    // The spelling varies, the effect does not.
    let ended = run(
        &goal(),
        |_| {},
        |number| bash(number, &format!("ls {}; echo attempt-{number}", " ".repeat(number))),
    );
    ended.assert_stuck("identical-calls", 5);
}

#[test]
fn repeated_errors_end_the_run() {
    let ended =
        run(&goal(), |_| {}, |number| bash(number, &format!("OPTION={number} cat missing-file")));
    ended.assert_stuck("same-error", 4);
}

#[test]
fn oscillating_edits_end_the_run() {
    let ended = run(
        &goal(),
        |env| fs::write(env.project().join("f"), "one").unwrap(),
        |number| {
            let (content, other) = if number % 2 == 0 { ("two", "b") } else { ("one", "a") };
            write(number, if number > 40 { other } else { "f" }, content)
        },
    );
    ended.assert_stuck("oscillating-edits", 4);
    assert_eq!(ended.report["stuck"]["what"], json!(["f"]));
}

#[test]
fn turns_without_news_end_the_run() {
    // Four calls in turn, with numbers that vary.
    let ended = run(
        &goal(),
        |_| {},
        |number| {
            let command = ["true", "printf ''", ": 1", "test -d ."][number % 4];
            bash(number, command)
        },
    );
    assert_eq!(ended.report["stuck"]["signal"], "no-progress", "{}", ended.report);
    assert!(ended.requests.len() <= 16, "{}", ended.requests.len());

    // New calls have more turns, but not for ever.
    let ended = run(&goal(), |_| {}, |number| bash(number, &format!("expr {number} + 1 + 16")));
    ended.assert_stuck("no-progress", 61);
    let reason = ended.report["reason"].as_str().unwrap();
    assert!(reason.contains("--set stuck.turns_without_progress=0"), "{reason}");
    assert_eq!(ended.report["limits"]["spent"]["turns"], 61, "a request that was sent");
}

#[test]
fn the_same_failure_ends_the_run() {
    // The agent claims success each time, and writes something that does not matter.
    let task = json!({ "goal": "Work.", "verify": [{ "command": "echo $$ failed; exit 1" }] });
    let ended = run(
        &task,
        |_| {},
        |number| match number % 2 {
            0 => write(number, &format!("notes-{number}"), "text"),
            _ => Reply::Text("Done.".to_owned()),
        },
    );
    ended.assert_stuck("same-failure", 6);
    assert_eq!(ended.report["attempts"][0]["rounds"], 3);
}

#[test]
fn work_and_waiting_are_not_stuck() {
    let work = |number: usize| match number {
        40 => Reply::Text("Done.".to_owned()),
        number => write(number, &format!("file-{number}"), "The same text."),
    };
    let ended = run(&goal(), |_| {}, work);
    assert_eq!(ended.finished.code, Some(0), "{:?} {}", ended.finished, ended.report);
    assert_eq!(ended.requests.len(), 41);

    let polls = [("sleep 0.01; cat status", json!([])), ("cat status", json!(["cat stat*"]))];
    for (command, polling) in polls {
        let task = json!({ "goal": "Wait.", "stuck": { "polling": polling } });
        let ended = run(
            &task,
            |env| fs::write(env.project().join("status"), "pending\n").unwrap(),
            move |number| match number {
                20 => Reply::Text("Done.".to_owned()),
                number => bash(number, command),
            },
        );
        assert_eq!(ended.finished.code, Some(0), "{:?} {}", ended.finished, ended.report);
    }
}

#[test]
fn exploring_is_not_stuck() {
    // Tables that differ in their numbers only, and searches that find nothing.
    let table = |number: usize| bash(number, &format!("cat data/table-{number}.csv"));
    let search = |number: usize| bash(number, &format!("grep -rn name{number} data"));
    let explorers: [fn(usize) -> Reply; 2] = [table, search];
    for explore in explorers {
        let ended = run(
            &goal(),
            |env| {
                fs::create_dir(env.project().join("data")).unwrap();
                for number in 0..30 {
                    let table = format!("id,count\n{number},{}\n", number * 7);
                    let path = env.project().join(format!("data/table-{number}.csv"));
                    fs::write(path, table).unwrap();
                }
            },
            move |number| match number {
                30 => Reply::Text("Done.".to_owned()),
                number => explore(number),
            },
        );
        assert_eq!(ended.finished.code, Some(0), "{:?} {}", ended.finished, ended.report);
    }
}

#[test]
fn a_check_can_be_turned_off() {
    let limits = json!({ "identical_calls": 0, "turns_without_progress": 0 });
    let task = json!({ "goal": "Work.", "stuck": limits });
    let ended = run(
        &task,
        |_| {},
        |number| match number {
            20 => Reply::Text("Done.".to_owned()),
            number => bash(number, "ls"),
        },
    );
    assert_eq!(ended.finished.code, Some(0), "{:?} {}", ended.finished, ended.report);
}
