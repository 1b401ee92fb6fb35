//! `pi run --record` and `pi replay`: identical replays, planted changes, damaged recordings.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{commands, configure, runs};
use crate::scenarios::format::{Call, Part, Reply, Status};
use crate::scenarios::server::Server;
use crate::test_env::TestEnv;

/// A generator of pseudo-random numbers (xorshift), so that every plan can be repeated.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

fn call(id: String, name: &str, args: Value, random: &mut Random) -> Part {
    // Some calls arrive in one piece, others in several.
    let pieces = (random.below(2) == 0).then_some(3);
    Part::Call(Call { id, name: name.to_owned(), args, pieces })
}

/// Returns one random call of a tool.
fn random_call(id: String, random: &mut Random) -> Part {
    let file = format!("file{}.txt", random.below(3));
    let (name, args) = match random.below(9) {
        0 => ("bash", json!({"command": format!("echo {id}; date +%N; echo $$")})),
        1 => ("bash", json!({"command": "ls -la; exit 3"})),
        2 => ("write", json!({"path": file, "content": format!("text of {id}\n")})),
        3 => ("edit", json!({"path": file, "edits": [{"oldText": "text", "newText": "words"}]})),
        4 => ("read", json!({"path": file})),
        5 => ("bash", json!({"command": "sudo reboot"})),
        6 => ("no_such_tool", json!({"x": 1})),
        7 => ("read", json!({"wrong": true})),
        _ => ("bash", json!({"command": "head -c 6000 /dev/urandom | od -x | head -150"})),
    };
    call(id, name, args, random)
}

/// Returns the replies of a random plan: calls, texts, failures, and at the end the work itself.
fn plan(seed: u64) -> Vec<Reply> {
    let mut random = Random::new(seed);
    let mut replies = Vec::new();
    for turn in 0..2 + random.below(6) {
        if random.below(6) == 0 {
            let body = json!({"error": {"message": "overloaded"}});
            let headers = Default::default();
            replies.push(Reply::Parts(vec![Part::Status(Status { code: 503, headers, body })]));
        }
        let mut parts = Vec::new();
        if random.below(2) == 0 {
            parts.push(Part::Text(format!("Turn {turn} begins.")));
        }
        for number in 0..1 + random.below(3) {
            parts.push(random_call(format!("call-{turn}-{number}"), &mut random));
        }
        replies.push(Reply::Parts(parts));
        // A claim of success makes pi check the work and return the failure.
        if random.below(4) == 0 {
            replies.push(Reply::Text("Done, I think.".to_owned()));
        }
    }
    replies.push(commands(&[("last", "touch done")]));
    replies.push(Reply::Text("Done.".to_owned()));
    replies
}

/// Returns true if a request asks for a summary.
fn asks_for_summary(request: &Value) -> bool {
    request.get("tools").is_none()
}

/// Starts a server that plays a plan, and answers requests for summaries in between.
fn serve(replies: Vec<Reply>) -> Server {
    let position = std::sync::Mutex::new(0);
    Server::choosing(move |request, _| {
        if asks_for_summary(request) {
            return Reply::Text(
                "## Goal\nDo it.\n## Progress\nSome files were written.".to_owned(),
            );
        }
        let mut position = position.lock().unwrap();
        let reply = replies.get(*position).cloned();
        *position += 1;
        reply.unwrap_or_else(|| Reply::Text("Nothing is left.".to_owned()))
    })
    .unwrap()
}

fn set(env: &TestEnv, file: &str, change: impl FnOnce(&mut Value)) {
    let path = env.agent().join(file);
    let mut value: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    change(&mut value);
    fs::write(&path, value.to_string()).unwrap();
}

/// Records a run with these replies and returns its directory.
fn record(env: &TestEnv, replies: Vec<Reply>, window: Option<u64>) -> PathBuf {
    let before = runs(env);
    let server = serve(replies);
    configure(env, &server);
    set(env, "settings.json", |settings| {
        settings["retry"] = json!({"enabled": true, "baseDelayMs": 1});
        if window.is_some() {
            settings["compaction"] = json!({"reserveTokens": 1000, "keepRecentTokens": 500});
        }
    });
    if let Some(window) = window {
        set(env, "models.json", |models| {
            models["providers"]["mock"]["models"][0]["contextWindow"] = json!(window);
        });
    }
    let output = env.pi(&["run", "Do it", "--check", "test -e done", "--record"]);
    let _ = fs::remove_file(env.project().join("done"));
    let run = runs(env).into_iter().find(|run| !before.contains(run));
    let run = run.unwrap_or_else(|| panic!("{output:?}"));
    assert!(run.join("recording.jsonl").exists(), "{output:?}");
    run
}

fn requests(recording: &Path) -> usize {
    let text = fs::read_to_string(recording.join("recording.jsonl")).unwrap();
    text.lines().filter(|line| line.starts_with("{\"type\":\"request\"")).count()
}

/// Replays recordings and returns the exit code and what was printed.
fn replay(env: &TestEnv, arguments: &[&str]) -> (Option<i32>, String) {
    let output = env.pi(&[&["replay"], arguments].concat());
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(text).unwrap())
}

/// Records and replays runs with these seeds.
fn replays_are_identical(seeds: std::ops::Range<u64>) {
    let env = TestEnv::new();
    let count = seeds.clone().count();
    for seed in seeds {
        let window = (seed % 4 == 3).then_some(9000);
        let run = record(&env, plan(seed), window);
        let (code, text) = replay(&env, &[run.to_str().unwrap()]);
        assert_eq!(code, Some(0), "seed {seed}: {text}");
        assert!(requests(&run) >= 3, "seed {seed}");
    }
    // Settings and models are those of the last run now; recordings of others differ by them.
    assert_eq!(runs(&env).len(), count);
}

#[test]
fn random_runs_replay_without_a_difference() {
    replays_are_identical(0..12);
}

#[test]
#[ignore = "100 runs; `cargo test -p pi --test it a_hundred_runs -- --ignored`"]
fn a_hundred_runs_replay_without_a_difference() {
    replays_are_identical(1000..1100);
}
