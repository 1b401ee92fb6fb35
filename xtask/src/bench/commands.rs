//! The cost of commands: long output, many commands, an abort; and of checkpoints.

mod checkpoints;
mod worker;

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pi_agent::{AgentTool, Invocation, ToolError, Updates};
use pi_protocol::CancelToken;
use pi_tools::checkpoint::CheckpointError;
use pi_tools::{Workspace, bash};
use serde_json::json;

use super::clock::Clock;
use super::process::{Whose, cpu_of};
pub(crate) use worker::perform;
use worker::{Output, Short, workspace};

/// Budget for the CPU time of output, relative to `cat` into a file.
const OUTPUT_BUDGET: f64 = 2.0;
/// Budget from an abort to its result, in milliseconds.
const ABORT_BUDGET: f64 = 50.0;

/// Errors while measuring.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandsError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("{0}")]
    Tool(#[from] ToolError),
    #[error("{0}")]
    Checkpoint(#[from] CheckpointError),
    #[error("the measuring process failed: {0}")]
    Worker(String),
}

type Lines = Result<Vec<String>, CommandsError>;

/// Measures everything and prints each table when it is known.
#[allow(clippy::print_stdout)] // The result of the task.
pub(super) fn print(clock: Clock, quick: bool) {
    let (gigabyte, commands, files) =
        if quick { (100_000_000, 500, 1_000) } else { (1_000_000_000, 10_000, 10_000) };
    let parts: [&dyn Fn() -> Lines; 4] =
        [&|| much_output(gigabyte), &|| many_commands(commands), &|| aborts(20), &|| {
            checkpoints::table(clock, files)
        }];
    for part in parts {
        match part() {
            Ok(lines) => println!("\n{}", lines.join("\n")),
            Err(error) => println!("\nNot measured: {error}"),
        }
    }
    println!("\nBudget: {OUTPUT_BUDGET} times what cat takes, {ABORT_BUDGET} ms for an abort,");
    println!("{} ms for a checkpoint of 10,000 files that have not changed.", checkpoints::BUDGET);
}

/// Measures the output of a file by a command, each in a separate process, and a copy of the file.
fn much_output(most: u64) -> Lines {
    let directory = tempfile::tempdir()?;
    let mut lines = vec![
        "Output of one command, stored in a file; CPU in ms:\n".to_owned(),
        format!(
            "{:<20} {:>8} {:>11} {:>8} {:>8} {:>9}",
            "MB", "pi", "supervisor", "cat", "times", "peak, MB"
        ),
    ];
    for bytes in [most / 100, most / 10, most] {
        let big = directory.path().join("big");
        write_lines(&big, bytes)?;
        let copy = directory.path().join("copy");
        let cat = cpu_of(1, Whose::Children, || {
            let copy = std::fs::File::create(&copy)?;
            let done = Command::new("cat").arg(&big).stdout(copy).status();
            done.map(drop)
        })?;
        std::fs::remove_file(&copy)?;
        let Output { own, supervisor, peak } =
            worker::measure(&["output", &big.to_string_lossy()])?;
        let cat = millis(cat.unwrap_or_default());
        let times = (own + supervisor) / cat.max(1.0);
        let mark = if times > OUTPUT_BUDGET { "  over budget" } else { "" };
        lines.push(format!(
            "{:<20} {own:>8.0} {supervisor:>11.1} {cat:>8.0} {times:>8.2} {peak:>9.1}{mark}",
            bytes / 1_000_000
        ));
    }
    Ok(lines)
}

fn write_lines(path: &Path, bytes: u64) -> io::Result<()> {
    use std::io::Write;
    let mut file = io::BufWriter::new(std::fs::File::create(path)?);
    let text =
        "2026-11-15 12:00:00 INFO  one line of a log, as long as such lines are: caf\u{e9}\n";
    for _ in 0..bytes / text.len() as u64 {
        file.write_all(text.as_bytes())?;
    }
    file.flush()
}

/// Measures short commands, one after the other in one process.
fn many_commands(commands: usize) -> Lines {
    let Short { before, after, own, children } = worker::measure(&["many", &commands.to_string()])?;
    let holdings = |[descriptors, threads, running, dead]: [usize; 4]| {
        format!("{descriptors:>12} {threads:>8} {running:>9} {dead:>8}")
    };
    Ok(vec![
        format!("{commands} short commands in one process:\n"),
        format!(
            "{:<20} {:>12} {:>8} {:>9} {:>8}",
            "", "descriptors", "threads", "children", "zombies"
        ),
        format!("{:<20} {}", "before", holdings(before)),
        format!("{:<20} {}", "after", holdings(after)),
        format!("\nCPU per command: {own:.2} ms ours, {children:.2} ms supervisor and shell."),
    ])
}

/// Commands that do not end by themselves.
const STUBBORN: [(&str, &str); 4] = [
    ("sleeps", "echo ready; sleep 1000"),
    ("ignores signals", "trap '' TERM INT HUP; echo ready; while :; do sleep 1000; done"),
    ("prints for ever", "echo ready; yes"),
    ("left a daemon", "setsid -f sleep 1000 >/dev/null 2>&1; echo ready; sleep 1000"),
];

/// Measures the time from an abort to the result.
fn aborts(runs: usize) -> Lines {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let workspace = workspace(Path::new("/"), None);
    let mut lines = vec![
        "From an abort to the result of a command; wall time, ms:\n".to_owned(),
        format!("{:<20} {:>8} {:>8}", "", "median", "longest"),
    ];
    for (what, command) in STUBBORN {
        let mut took = Vec::new();
        for _ in 0..runs {
            took.push(millis(runtime.block_on(abort(&workspace, command))?));
        }
        took.sort_by(f64::total_cmp);
        let (median, longest) = (took[runs / 2], took[runs - 1]);
        let mark = if longest > ABORT_BUDGET { "  over budget" } else { "" };
        lines.push(format!("{what:<20} {median:>8.1} {longest:>8.1}{mark}"));
    }
    Ok(lines)
}

async fn abort(workspace: &Arc<Workspace>, command: &str) -> Result<Duration, CommandsError> {
    let cancel = CancelToken::new();
    let aborted = Arc::new(Mutex::new(None));
    let (canceller, at) = (cancel.clone(), Arc::clone(&aborted));
    let updates = Updates::new(move |update| {
        if let (false, Ok(mut at)) = (update.content.is_empty(), at.lock()) {
            at.get_or_insert_with(Instant::now);
            canceller.cancel();
        }
    });
    let arguments = json!({ "command": command }).as_object().cloned().unwrap_or_default();
    let invocation = Invocation::new("", arguments, cancel, updates);
    let ended = bash(Arc::clone(workspace)).execute(invocation).await;
    let took = aborted.lock().ok().and_then(|at| *at).map(|at| at.elapsed());
    match (took, ended) {
        (Some(took), Err(_)) => Ok(took),
        (_, ended) => Err(CommandsError::Worker(format!("the command was not aborted: {ended:?}"))),
    }
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Returns a command that starts this program.
fn this_program() -> io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.stdin(Stdio::null());
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_has_the_requested_size() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f");
        write_lines(&path, 1000).unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        assert!((900..=1000).contains(&text.len()) && text.ends_with('\n'), "{}", text.len());
    }

    #[test]
    fn only_an_abort_is_timed() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        // The test program cannot be a supervisor.
        let host = Arc::new(pi_tools::Host::default());
        let workspace = Arc::new(Workspace::new(host, "/".into(), None));
        assert!(runtime.block_on(abort(&workspace, "echo ready; sleep 1000")).is_ok());
        assert!(runtime.block_on(abort(&workspace, "true")).is_err());
    }
}
