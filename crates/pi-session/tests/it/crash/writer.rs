//! The process that is killed: this test binary again, with a task in its environment.
//!
//! It prints `ready`, then `ack ID LENGTH` after each successful append, `refused` after each
//! failed one, and `fork PATH COUNT` after each fork.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use pi_protocol::{BranchSummary, Compaction, Message};
use pi_session::{NewSession, OpenOptions, Session, SessionError};
use serde::{Deserialize, Serialize};

use crate::script::Rng;

const VARIABLE: &str = "PI_CRASH_WRITER";

/// The task of a writer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Task {
    /// The file to continue; without one a session is created in `directory`.
    pub(super) file: Option<PathBuf>,
    pub(super) directory: PathBuf,
    pub(super) seed: u64,
    /// Maximum number of appends.
    pub(super) appends: usize,
    pub(super) largest: usize,
    /// Also appends compactions and branch summaries.
    pub(super) compact: bool,
    /// Forks the session after every few appends.
    pub(super) fork: bool,
}

/// Returns the command that runs a task. `file_limit` is the maximum size of files in blocks, of
/// 512 or 1024 bytes depending on the shell.
pub(super) fn command(task: &Task, file_limit: Option<usize>) -> Command {
    let program = std::env::current_exe().unwrap();
    let mut command = match file_limit {
        None => Command::new(program),
        Some(limit) => {
            let mut shell = Command::new("sh");
            // If the signal is ignored, `write` returns an error.
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
    print_line("ready");
    let mut session = match &task.file {
        Some(file) => Session::open(file, &OpenOptions::append()).unwrap(),
        None => Session::create(NewSession::new("/proj").directory(&task.directory)).unwrap(),
    };
    print_line("open");
    let mut rng = Rng(task.seed);
    for number in 0..task.appends {
        let length = size(&mut rng, task.largest);
        match append(&mut session, &mut rng, &task, number, length) {
            Ok(id) => print_line(&format!("ack {id} {length}")),
            Err(SessionError::Io { .. }) => print_line("refused"),
            Err(error) => panic!("{error}"),
        }
        if task.fork && number % 3 == 2 {
            let fork = session.clone_branch().unwrap();
            print_line(&format!("fork {} {}", fork.path().unwrap().display(), fork.len()));
        }
    }
}

fn append(
    session: &mut Session,
    rng: &mut Rng,
    task: &Task,
    number: usize,
    length: usize,
) -> Result<String, SessionError> {
    if task.compact && number > 0 {
        let summary = text(length);
        match rng.below(5) {
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

/// Returns a size that is mostly small and sometimes much larger than a page.
fn size(rng: &mut Rng, largest: usize) -> usize {
    match rng.below(10) {
        0..=5 => 1 + rng.below(200),
        6..=8 => 1 + rng.below(largest.min(20_000)),
        _ => 1 + rng.below(largest),
    }
}

/// Returns a text of this length in which missing parts are detectable.
pub(super) fn text(length: usize) -> String {
    "abcdefghijklmnopqrstuvwxyz0123456789".chars().cycle().take(length).collect()
}

fn print_line(line: &str) {
    let mut out = std::io::stdout().lock();
    // If the reader is gone, nothing is acknowledged.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// Writes a file of version 1 with this many entries.
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
