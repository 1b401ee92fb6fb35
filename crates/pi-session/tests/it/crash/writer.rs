//! The process that is killed. It is this test binary again, told by its environment what to do.
//!
//! It says `ready`, then `ack ID LENGTH` after each append that returned, `refused` after each
//! that failed, and `fork PATH COUNT` after each fork.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use pi_protocol::{BranchSummary, Compaction, Message};
use pi_session::{NewSession, OpenOptions, Session, SessionError};
use serde::{Deserialize, Serialize};

use crate::script::Dice;

const VARIABLE: &str = "PI_CRASH_WRITER";

/// What a writer does.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Task {
    /// The file to continue; without one a session is created in `directory`.
    pub(super) file: Option<PathBuf>,
    pub(super) directory: PathBuf,
    pub(super) seed: u64,
    /// How many appends there are at most.
    pub(super) appends: usize,
    pub(super) largest: usize,
    /// Go back, summarize and compact now and then.
    pub(super) compact: bool,
    /// Fork after every few appends.
    pub(super) fork: bool,
}

/// The command that runs a task. With `file_limit`, files may grow to so many blocks only (of 512
/// or 1024 bytes, shells differ).
pub(super) fn command(task: &Task, file_limit: Option<usize>) -> Command {
    let program = std::env::current_exe().unwrap();
    let mut command = match file_limit {
        None => Command::new(program),
        Some(limit) => {
            let mut shell = Command::new("sh");
            // Ignored, the signal becomes an error of `write`.
            let script = format!("trap '' XFSZ; ulimit -f {limit}; exec \"$0\" \"$@\"");
            shell.arg("-c").arg(script).arg(program);
            shell
        }
    };
    command
        .args(["--exact", "crash::writer::write_until_killed", "--ignored", "--nocapture"])
        .env(VARIABLE, serde_json::to_string(task).unwrap())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
}

#[test]
#[ignore = "a process that the crash tests start"]
fn write_until_killed() {
    let task = std::env::var_os(VARIABLE).expect("started by the crash tests");
    let task: Task = serde_json::from_str(task.to_str().unwrap()).unwrap();
    say("ready");
    let mut session = match &task.file {
        Some(file) => Session::open(file, &OpenOptions::append()).unwrap(),
        None => Session::create(NewSession::new("/proj").directory(&task.directory)).unwrap(),
    };
    say("open");
    let mut dice = Dice(task.seed);
    for number in 0..task.appends {
        let length = size(&mut dice, task.largest);
        match append(&mut session, &mut dice, &task, number, length) {
            Ok(id) => say(&format!("ack {id} {length}")),
            Err(SessionError::Io { .. }) => say("refused"),
            Err(error) => panic!("{error}"),
        }
        if task.fork && number % 3 == 2 {
            let fork = session.clone_branch().unwrap();
            say(&format!("fork {} {}", fork.path().unwrap().display(), fork.len()));
        }
    }
}

fn append(
    session: &mut Session,
    dice: &mut Dice,
    task: &Task,
    number: usize,
    length: usize,
) -> Result<String, SessionError> {
    if task.compact && number > 0 {
        let summary = text(length);
        match dice.below(5) {
            0 => {
                let first_kept_entry_id = session.leaf_id().unwrap_or_default().to_owned();
                return session.append_compaction(Compaction {
                    summary,
                    first_kept_entry_id,
                    ..Compaction::default()
                });
            }
            1 => {
                let to = session.branch_ids(None)?[0].to_owned();
                let summary = BranchSummary { summary, ..BranchSummary::default() };
                return session.branch_with_summary(Some(&to), summary);
            }
            _ => {}
        }
    }
    session.append_message(Message::user(text(length)))
}

/// Mostly small, sometimes much larger than a page.
fn size(dice: &mut Dice, largest: usize) -> usize {
    match dice.below(10) {
        0..=5 => 1 + dice.below(200),
        6..=8 => 1 + dice.below(largest.min(20_000)),
        _ => 1 + dice.below(largest),
    }
}

/// A text of this length in which a hole would be seen.
pub(super) fn text(length: usize) -> String {
    "abcdefghijklmnopqrstuvwxyz0123456789".chars().cycle().take(length).collect()
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // Nobody listens any more: then nobody was promised anything either.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// A version 1 file with many entries.
pub(super) fn old_file(path: &Path, entries: usize) {
    let mut lines = String::from(
        "{\"type\":\"session\",\"id\":\"old\",\"timestamp\":\"2025-01-02T03:04:05.006Z\",\"cwd\":\"/old\"}\n",
    );
    for number in 0..entries {
        let text = text(number % 500);
        lines.push_str(&format!("{{\"type\":\"message\",\"timestamp\":\"2025-01-02T03:04:05.006Z\",\"message\":{{\"role\":\"user\",\"content\":\"{text}\",\"timestamp\":{number}}}}}\n"));
    }
    std::fs::write(path, lines).unwrap();
}
