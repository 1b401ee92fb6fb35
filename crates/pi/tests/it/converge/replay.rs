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

/// A fixed run of four requests: two commands, a file, the end.
fn fixed() -> Vec<Reply> {
    vec![
        commands(&[("c1", "echo one")]),
        commands(&[("c2", "ls -a")]),
        commands(&[("c3", "touch done")]),
        Reply::Text("Done.".to_owned()),
    ]
}

#[test]
fn planted_changes_are_reported_at_their_step_with_their_cause() {
    let env = TestEnv::new();
    fs::write(env.project().join("AGENTS.md"), "Be brief.\n").unwrap();
    let run = record(&env, fixed(), None);
    let run = run.to_str().unwrap();
    assert_eq!(replay(&env, &[run]).0, Some(0));
    let divergence = |arguments: &[&str]| {
        let output = env.pi(&[&["replay", "--json", run], arguments].concat());
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        report["divergence"].clone()
    };
    let found = |divergence: &Value| {
        (divergence["step"].as_u64().unwrap(), divergence["cause"].as_str().unwrap().to_owned())
    };
    // A project file, which is a section of the system prompt.
    fs::write(env.project().join("AGENTS.md"), "Be verbose.\n").unwrap();
    let changed = divergence(&[]);
    assert_eq!(found(&changed), (1, "system-prompt".to_owned()), "{changed}");
    assert!(changed["recorded"].as_str().unwrap().contains("Be brief."), "{changed}");
    assert!(changed["now"].as_str().unwrap().contains("Be verbose."), "{changed}");
    fs::write(env.project().join("AGENTS.md"), "Be brief.\n").unwrap();
    // A rule that forbids the second command.
    let rules = env.project().join("rules.toml");
    let rule = "[[command]]\nprefix = [\"ls\"]\ndecision = \"forbid\"\n";
    fs::write(&rules, rule).unwrap();
    let changed = divergence(&["--policy", "rules.toml"]);
    assert_eq!(found(&changed), (2, "policy".to_owned()), "{changed}");
    assert!(changed["now"].as_str().unwrap().starts_with("refused"), "{changed}");
    // Tools and the model of the settings.
    let settings = fs::read(env.agent().join("settings.json")).unwrap();
    set(&env, "settings.json", |settings| settings["defaultTools"] = json!(["bash", "read"]));
    let changed = divergence(&[]);
    assert_eq!(found(&changed).0, 1, "{changed}");
    assert!(changed["notes"].to_string().contains("defaultTools"), "{changed}");
    fs::write(env.agent().join("settings.json"), &settings).unwrap();
    set(&env, "settings.json", |settings| settings["defaultModel"] = json!("m2"));
    assert_eq!(found(&divergence(&[])), (1, "settings".to_owned()));
    fs::write(env.agent().join("settings.json"), &settings).unwrap();
    set(&env, "models.json", |models| {
        models["providers"]["mock"]["models"][0]["contextWindow"] = json!(5000);
    });
    assert_eq!(found(&divergence(&[])), (1, "model".to_owned()));
}

#[test]
fn a_replay_changes_nothing_and_sends_nothing() {
    let env = TestEnv::new();
    let run = record(&env, fixed(), None);
    let before = runs(&env);
    let (code, text) = replay(&env, &[run.to_str().unwrap()]);
    assert_eq!((code, text.lines().count()), (Some(0), 1), "{text}");
    assert!(text.contains("4 requests, converged"), "{text}");
    assert!(!env.project().join("done").exists());
    assert_eq!(runs(&env), before);
}

#[test]
fn a_damaged_recording_is_refused_with_the_problem() {
    let env = TestEnv::new();
    let run = record(&env, fixed(), None);
    let file = run.join("recording.jsonl");
    let whole = fs::read_to_string(&file).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    let without_end = lines[..lines.len() - 1].join("\n") + "\n";
    let cases = [
        (whole[..whole.len() / 2].to_owned(), "it has no end"),
        (without_end, "it has no end"),
        (whole.replacen("echo one", "echo two", 1), "do not match their digest"),
        (whole.replacen("{\"type\":\"answer\"", "{\"type\":\"ans", 1), "is damaged: line "),
        (whole.replacen("\"version\":1", "\"version\":99", 1), "has version 99"),
        ("hello\n".to_owned(), "this is not a recording"),
        (String::new(), "it has no end"),
    ];
    for (text, problem) in cases {
        fs::write(&file, text).unwrap();
        let (code, text) = replay(&env, &[run.to_str().unwrap()]);
        assert_eq!(code, Some(2), "{problem}: {text}");
        assert!(text.contains(problem), "{problem}: {text}");
    }
    let (code, text) = replay(&env, &["no-such-run"]);
    assert_eq!(code, Some(2), "{text}");
    let (code, text) = replay(&env, &["--from", "2", run.to_str().unwrap()]);
    assert_eq!((code, text.contains("--live")), (Some(2), true), "{text}");
}

#[test]
fn a_replay_continues_with_a_real_model_from_a_request_on() {
    let env = TestEnv::new();
    let run = record(&env, fixed(), None);
    let server = serve(vec![commands(&[("n1", "touch done")]), Reply::Text("New.".to_owned())]);
    configure(&env, &server);
    let (code, text) = replay(&env, &["--from", "3", "--live", run.to_str().unwrap()]);
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(server.requests().len(), 2, "{text}");
    assert!(env.project().join("done").exists());
}

#[test]
#[ignore = "100 runs; `cargo test -p pi --test it a_hundred_runs -- --ignored`"]
fn a_hundred_runs_replay_without_a_difference() {
    replays_are_identical(1000..1100);
}
