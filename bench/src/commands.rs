//! The cost of commands: long output, many commands, an abort; and of checkpoints.

mod checkpoints;
mod worker;

use std::io;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pi_agent::{AgentTool, Invocation, Updates};
use pi_protocol::CancelToken;
use pi_tools::{Workspace, bash};
use serde_json::json;

use crate::Outcome;
use crate::clock::{children, median, typical};
use crate::home::complete;
use crate::table::{Table, budget, millis, time};
pub(crate) use worker::perform;
use worker::{Output, Short, workspace};

/// Budget for the CPU time of output, relative to `cat` into a file.
const OUTPUT_BUDGET: f64 = 2.0;
/// Budget from an abort to its result, in milliseconds.
const ABORT_BUDGET: f64 = 50.0;

type Failure = Box<dyn std::error::Error>;

pub(crate) fn tables(quick: bool) -> Outcome {
    let (gigabyte, commands, files) =
        if quick { (100_000_000, 500, 1_000) } else { (1_000_000_000, 10_000, 10_000) };
    Ok(vec![
        much_output(gigabyte)?,
        many_commands(commands)?,
        aborts(20)?,
        checkpoints::table(files)?,
    ])
}

/// Measures the output of a file by a command, each in a separate process, and a copy of the file.
fn much_output(most: u64) -> Result<Table, Failure> {
    let directory = tempfile::tempdir()?;
    let columns = ["MB", "pi", "supervisor", "cat", "ratio", "peak", "budget"];
    let mut table = Table::new("Output of one command, stored in a file; CPU in ms", &columns);
    for bytes in [most / 100, most / 10, most] {
        let big = directory.path().join("big");
        write_lines(&big, bytes)?;
        let copy = directory.path().join("copy");
        let cat = typical(3, children, || {
            complete(Command::new("cat").arg(&big).stdout(std::fs::File::create(&copy)?))
        })?;
        std::fs::remove_file(&copy)?;
        let Output { own, supervisor, peak } =
            worker::measure(&["output", &big.to_string_lossy()])?;
        let times = (own + supervisor) / millis(cat).max(1.0);
        table.row([
            (bytes / 1_000_000).to_string(),
            format!("{own:.0}"),
            format!("{supervisor:.1}"),
            format!("{:.0}", millis(cat)),
            format!("{times:.2}"),
            format!("{peak:.1} MB"),
            budget(times > OUTPUT_BUDGET, OUTPUT_BUDGET),
        ]);
    }
    Ok(table)
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
fn many_commands(commands: usize) -> Result<Table, Failure> {
    let Short { before, after, own, children } = worker::measure(&["many", &commands.to_string()])?;
    let columns = ["", "descriptors", "threads", "children", "zombies"];
    let mut table = Table::new(format!("{commands} short commands in one process"), &columns);
    for (when, holdings) in [("before", before), ("after", after)] {
        let cells = holdings.iter().map(ToString::to_string);
        table.row([when.to_owned()].into_iter().chain(cells).collect::<Vec<_>>());
    }
    table
        .note(format!("CPU per command: {own:.2} ms ours, {children:.2} ms supervisor and shell."));
    Ok(table)
}

/// Commands that do not end by themselves.
const STUBBORN: [(&str, &str); 4] = [
    ("sleeps", "echo ready; sleep 1000"),
    ("ignores signals", "trap '' TERM INT HUP; echo ready; while :; do sleep 1000; done"),
    ("prints for ever", "echo ready; yes"),
    ("left a daemon", "setsid -f sleep 1000 >/dev/null 2>&1; echo ready; sleep 1000"),
];

/// Measures the time from an abort to the result.
fn aborts(runs: usize) -> Result<Table, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let workspace = workspace(Path::new("/"), None);
    let columns = ["command", "median", "longest", "budget"];
    let mut table = Table::new("From an abort to the result of a command; wall time", &columns);
    for (what, command) in STUBBORN {
        let mut took = Vec::new();
        for _ in 0..runs {
            took.push(runtime.block_on(abort(&workspace, command))?);
        }
        let longest = took.iter().max().copied().unwrap_or_default();
        let limit = budget(millis(longest) > ABORT_BUDGET, format!("{ABORT_BUDGET} ms"));
        let middle = median(took).unwrap_or_default();
        table.row([what.to_owned(), time(middle), time(longest), limit]);
    }
    Ok(table)
}

async fn abort(workspace: &Arc<Workspace>, command: &str) -> Result<Duration, Failure> {
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
        (_, ended) => Err(format!("the command was not aborted: {ended:?}").into()),
    }
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
