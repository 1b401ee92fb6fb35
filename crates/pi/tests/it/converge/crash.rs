//! Runs that are killed at random points and resumed until they are complete.
//!
//! The model wants six lines in a ledger. Each call that it makes appends a line of its own, so that
//! a call that is executed twice is seen. After an interruption the model looks at the ledger, as a
//! model would, and repeats what is missing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::random::Random;
use super::{commands, configure, run_file, runs};
use crate::scenarios::format::Reply;
use crate::scenarios::server::Server;
use crate::test_env::TestEnv;

/// Number of lines that the model wants.
const STEPS: usize = 6;
const CHECK: &str = "test $(grep -c . ledger) -eq 6";

/// Counts of many runs.
#[derive(Debug, Default)]
struct Counts {
    runs: u32,
    kills: u32,
    kills_before_start: u32,
    interrupted_calls: u32,
    restored_results: u32,
    processes: u32,
}

/// Starts a model that looks at the ledger and calls for the next missing lines.
fn model(ledger: PathBuf) -> Server {
    let issued = AtomicU32::new(0);
    Server::choosing(move |_, _| {
        let present = lines(&ledger);
        let has = |step: usize| present.iter().any(|line| line.starts_with(&format!("{step} ")));
        let missing: Vec<usize> = (1..=STEPS).filter(|step| !has(*step)).collect();
        if missing.is_empty() {
            return Reply::Text("Done.".to_owned());
        }
        // One, two or three calls at once.
        let count = 1 + (issued.load(Ordering::SeqCst) as usize % 3);
        let calls: Vec<(String, String)> = missing
            .iter()
            .take(count)
            .map(|step| {
                let id = format!("call{}", issued.fetch_add(1, Ordering::SeqCst));
                let command = format!("echo '{step} {id}' >> ledger");
                (id, command)
            })
            .collect();
        let calls: Vec<(&str, &str)> =
            calls.iter().map(|(id, command)| (id.as_str(), command.as_str())).collect();
        commands(&calls)
    })
    .unwrap()
}

fn lines(ledger: &Path) -> Vec<String> {
    let text = fs::read_to_string(ledger).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn start(env: &TestEnv) -> Child {
    let runs = runs(env);
    let mut command = match runs.last() {
        None => env.command(&["run", "Write the ledger.", "--check", CHECK]),
        Some(run) => {
            let id = run.file_name().unwrap().to_str().unwrap();
            env.command(&["run", "--resume", id])
        }
    };
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Runs a task, kills its process up to `kills` times, and checks the result.
fn one_run(random: &mut Random, typical: Duration, counts: &mut Counts) -> Duration {
    let env = TestEnv::new();
    let ledger = env.project().join("ledger");
    let server = model(ledger.clone());
    configure(&env, &server);
    let mut left = 1 + random.below(3);
    let began = Instant::now();
    let output: Output = loop {
        let mut child = start(&env);
        counts.processes += 1;
        if left > 0 {
            let bound = u64::try_from(typical.as_micros()).unwrap();
            std::thread::sleep(Duration::from_micros(random.below(bound)));
            left -= 1;
            if child.try_wait().unwrap().is_none() {
                child.kill().unwrap();
                child.wait().unwrap();
                counts.kills += 1;
                counts.kills_before_start += u32::from(runs(&env).is_empty());
                continue;
            }
        }
        break child.wait_with_output().unwrap();
    };
    let took = began.elapsed();
    let shown = format!("{}\n{:?}", String::from_utf8_lossy(&output.stderr), lines(&ledger));
    assert_eq!(output.status.code(), Some(0), "{shown}");
    counts.runs += 1;
    check(&env, &ledger, counts, &shown);
    took
}

/// Checks the ledger, the report and the session.
fn check(env: &TestEnv, ledger: &Path, counts: &mut Counts, shown: &str) {
    let lines = lines(ledger);
    let calls: BTreeSet<&str> = lines.iter().filter_map(|line| line.split(' ').nth(1)).collect();
    assert_eq!(calls.len(), lines.len(), "a call was executed twice: {shown}");
    let steps: BTreeSet<&str> = lines.iter().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!((steps.len(), lines.len()), (STEPS, STEPS), "{shown}");
    let report = run_file(env, "report.json");
    assert_eq!(report["outcome"], "converged", "{report}");
    assert_eq!(report["checks"][0]["passed"], true, "{report}");
    assert_eq!(run_file(env, "state.json")["outcome"], "converged");

    // Every call has one result, and a recorded result is the one that the model read.
    let run = &runs(env)[0];
    let session = report["session"].as_str().unwrap();
    let mut called = Vec::new();
    let mut answered: BTreeMap<String, String> = BTreeMap::new();
    for line in fs::read_to_string(session).unwrap().lines() {
        let entry: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("torn: {line}"));
        let message = &entry["message"];
        match message["role"].as_str() {
            Some("assistant") => {
                let blocks = message["content"].as_array().unwrap().iter();
                called.extend(
                    blocks
                        .filter(|block| block["type"] == "toolCall")
                        .map(|block| block["id"].as_str().unwrap().to_owned()),
                );
            }
            Some("toolResult") => {
                let id = message["toolCallId"].as_str().unwrap().to_owned();
                let text = message["content"].to_string();
                assert_eq!(answered.insert(id, text), None, "two results: {shown}");
            }
            _ => {}
        }
    }
    let journal = fs::read_to_string(run.join("journal.jsonl")).unwrap();
    let entries: Vec<Value> =
        journal.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let recorded: BTreeSet<&str> = entries
        .iter()
        .filter(|entry| entry["type"] == "result")
        .filter_map(|entry| entry["result"]["toolCallId"].as_str())
        .collect();
    for id in &called {
        let result = answered.get(id).unwrap_or_else(|| panic!("no result of {id}: {shown}"));
        let is_interrupted = result.contains("Interrupted: ");
        counts.interrupted_calls += u32::from(is_interrupted);
        counts.restored_results += u32::from(recorded.contains(id.as_str()) && !is_interrupted);
        assert!(!(is_interrupted && recorded.contains(id.as_str())), "a lost result: {shown}");
        assert!(calls.contains(id.as_str()) || is_interrupted, "a result without effect: {shown}");
    }
}

/// Returns the time that a run takes on this machine.
fn typical() -> Duration {
    let mut counts = Counts::default();
    let mut random = Random::new(1);
    (0..2).map(|_| one_run(&mut random, Duration::from_nanos(1), &mut counts)).max().unwrap()
}

#[allow(clippy::disallowed_methods)] // The task passes numbers in variables.
fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Runs many tasks on two threads.
fn many(count: u64, seed: u64) -> Counts {
    let typical = typical();
    let total = Arc::new(Mutex::new(Counts::default()));
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let total = Arc::clone(&total);
            scope.spawn(move || {
                for index in (0..count).filter(|index| index % 2 == thread) {
                    let mut random = Random::new(seed + index);
                    let mut counts = Counts::default();
                    one_run(&mut random, typical, &mut counts);
                    let mut total = total.lock().unwrap();
                    total.runs += counts.runs;
                    total.kills += counts.kills;
                    total.kills_before_start += counts.kills_before_start;
                    total.interrupted_calls += counts.interrupted_calls;
                    total.restored_results += counts.restored_results;
                    total.processes += counts.processes;
                }
            });
        }
    });
    Arc::into_inner(total).unwrap().into_inner().unwrap()
}

#[test]
fn killed_runs_are_resumed_without_repeated_calls_or_lost_results() {
    let counts = many(10, 7);
    assert_eq!(counts.runs, 10, "{counts:?}");
    assert!(counts.kills > 0, "{counts:?}");
}

/// `cargo xtask crash run`.
#[test]
#[ignore = "takes minutes"]
fn many_runs() {
    let (count, seed) = (setting("PI_CRASH_RUNS", 1000), setting("PI_CRASH_SEED", 1));
    let began = Instant::now();
    let counts = many(count, seed);
    println!("{counts:?} in {:.0?}", began.elapsed());
    assert_eq!(u64::from(counts.runs), count);
}
