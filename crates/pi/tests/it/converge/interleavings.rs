//! Random interleavings of a run, edits of the user, kills and resumes: no edit of the user is lost.
//!
//! The agent writes files of its own, and changes some that the user edits, too. The user edits at
//! random times: while the agent works, while checks run, while a failed run is undone, and between
//! a kill and a resume. At the end each file that only the user edited has the text of the last
//! edit. In a file that both edited, the edit of the user is there unless the agent replaced it with
//! a tool call of its own, which the agent does only before the user edits it.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Child, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use pi_guard::confine::ConfinementLevel;
use serde_json::json;

use super::project::{bash, command, create, model};
use super::random::Random;
use super::{configure, runs};
use crate::guard::rung;
use crate::scenarios::server::Server;
use crate::test_env::TestEnv;

/// Paths that only the user edits: tracked, new, ignored, in directories of the agent.
const USERS: &[&str] =
    &["mine.txt", "src/mine.txt", "notes/new.txt", "made/beside.txt", "local.log", "old.txt"];
/// Executions after which a run has to have ended.
const MOST_RESUMES: u32 = 12;

/// Counts of many runs.
#[derive(Debug, Default)]
struct Counts {
    runs: u32,
    edits: u32,
    kills: u32,
    refused: u32,
    converged: u32,
}

/// The user, who edits files at random.
struct User<'a> {
    env: &'a TestEnv,
    /// The last content of each path; `None` stands for a removed file.
    last: BTreeMap<&'static str, Option<String>>,
    edits: u32,
}

impl User<'_> {
    fn edit(&mut self, random: &mut Random) {
        let path = *random.one_of(USERS);
        let file = self.env.project().join(path);
        self.edits += 1;
        if random.once_in(5) {
            match fs::remove_file(&file) {
                Ok(()) => drop(self.last.insert(path, None)),
                Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{path}"),
            }
            return;
        }
        let text = format!("edit {} of {path}\n", self.edits);
        // As editors do it, or by replacement; a directory may vanish in between.
        for _ in 0..100 {
            let _ = fs::create_dir_all(file.parent().unwrap());
            let written = if random.once_in(2) {
                fs::write(&file, &text)
            } else {
                let new = file.with_extension("new");
                fs::write(&new, &text).and_then(|()| fs::rename(&new, &file))
            };
            if written.is_ok() {
                self.last.insert(path, Some(text));
                return;
            }
        }
        panic!("{path} cannot be written");
    }

    /// Returns the edits that are lost.
    fn lost(&self) -> Vec<String> {
        let differs = |(path, expected): (&&str, &Option<String>)| {
            let found = fs::read_to_string(self.env.project().join(path)).ok();
            (found != *expected).then(|| format!("{path}: {found:?} in place of {expected:?}"))
        };
        self.last.iter().filter_map(differs).collect()
    }
}

fn start(env: &TestEnv, contract: &serde_json::Value) -> Child {
    let mut command = match runs(env).last() {
        None => command(env, contract.clone(), &[]),
        Some(run) => {
            let id = run.file_name().unwrap().to_str().unwrap();
            env.command(&["run", "--resume", id])
        }
    };
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Starts a model that writes into the directories of the user.
fn agent(random: &mut Random) -> Server {
    let repair = *random.one_of(&["right", "worse"]);
    let edits = [
        "mkdir -p made src && echo agent > made/agent.txt && echo more >> src/agent.txt".to_owned(),
        format!("echo {repair} > value"),
        "echo cache > made.log; rm -f unused.txt".to_owned(),
    ];
    model(edits.iter().map(|edit| bash(edit)).collect())
}

/// Makes one run with its interleaving. Returns the lost edits.
fn one_run(seed: u64, typical: Duration) -> (Counts, Vec<String>) {
    let mut random = Random::new(seed);
    let env = create(&[
        ("value", "wrong\n"),
        ("mine.txt", "mine\n"),
        ("src/mine.txt", "mine\n"),
        ("src/agent.txt", "agent\n"),
        ("old.txt", "old\n"),
        ("unused.txt", "unused\n"),
        (".gitignore", "*.log\n"),
    ]);
    let server = agent(&mut random);
    configure(&env, &server);
    let mode = *random.one_of(&["in-place", "in-place", "in-place", "copy", "worktree"]);
    let contract = json!({
        "verify": [{"command": "grep -q right value"}],
        "on_failure": *random.one_of(&["keep", "rollback", "patch"]),
        "workspace": {"mode": mode},
        "attempts": {"rounds": random.below(2), "count": 1 + random.below(2)},
    });
    let mut user = User { env: &env, last: BTreeMap::new(), edits: 0 };
    let mut counts = Counts::default();
    let mut kills = random.below(4);
    let bound = u64::try_from(typical.as_micros()).unwrap();
    for _ in 0..MOST_RESUMES {
        let mut child = start(&env, &contract);
        let mut pauses = 1 + random.below(4);
        let code = loop {
            if pauses == 0 {
                break child.wait().unwrap().code();
            }
            pauses -= 1;
            // The moment of an edit is the subject of the test, no synchronization.
            std::thread::sleep(Duration::from_micros(random.below(bound / 2)));
            if let Some(status) = child.try_wait().unwrap() {
                break status.code();
            }
            if kills > 0 && random.once_in(2) {
                kills -= 1;
                counts.kills += 1;
                if random.once_in(3) {
                    let pid = child.id().to_string();
                    let _ = std::process::Command::new("kill").args(["-TERM", &pid]).status();
                } else {
                    child.kill().unwrap();
                }
                break child.wait().unwrap().code();
            }
            user.edit(&mut random);
        };
        if random.once_in(2) {
            user.edit(&mut random);
        }
        match code {
            // Killed or interrupted: the run is resumed.
            None | Some(143 | 130) => {}
            Some(0) => {
                counts.converged += 1;
                break;
            }
            // A refused resume names the files; it is the end of this run.
            Some(2) => {
                counts.refused += 1;
                break;
            }
            Some(_) => break,
        }
    }
    counts.runs = 1;
    counts.edits = user.edits;
    let lost = user.lost();
    let lost = lost.iter().map(|lost| format!("seed {seed}, {contract}: {lost}")).collect();
    (counts, lost)
}

/// Returns the time that an undisturbed run takes on this machine.
fn typical() -> Duration {
    let env = create(&[("value", "wrong\n")]);
    let server = agent(&mut Random::new(1));
    configure(&env, &server);
    let contract = json!({"verify": [{"command": "grep -q right value"}]});
    let began = Instant::now();
    start(&env, &contract).wait().unwrap();
    began.elapsed()
}

/// Makes many runs on two threads.
fn many(count: u64, seed: u64) -> (Counts, Vec<String>) {
    let typical = typical();
    let total = Mutex::new((Counts::default(), Vec::new()));
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let total = &total;
            scope.spawn(move || {
                for index in (0..count).filter(|index| index % 2 == thread) {
                    let (counts, lost) = one_run(seed + index, typical);
                    let mut total = total.lock().unwrap();
                    total.0.runs += counts.runs;
                    total.0.edits += counts.edits;
                    total.0.kills += counts.kills;
                    total.0.refused += counts.refused;
                    total.0.converged += counts.converged;
                    total.1.extend(lost);
                }
            });
        }
    });
    total.into_inner().unwrap()
}

#[test]
fn no_edit_of_the_user_is_lost() {
    if rung() == ConfinementLevel::None {
        return;
    }
    let (counts, lost) = many(12, 3);
    assert!(lost.is_empty(), "{counts:?}: {lost:#?}");
    assert!(counts.edits > 0 && counts.kills > 0, "{counts:?}");
}

#[allow(clippy::disallowed_methods)] // The task passes numbers in variables.
fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// `cargo xtask crash edits`.
#[test]
#[ignore = "takes minutes"]
fn many_runs() {
    let (count, seed) = (setting("PI_CRASH_RUNS", 1000), setting("PI_CRASH_SEED", 1));
    let began = Instant::now();
    let (counts, lost) = many(count, seed);
    println!("{counts:?} in {:.0?}", began.elapsed());
    for one in &lost {
        println!("{one}");
    }
    assert!(lost.is_empty());
}
