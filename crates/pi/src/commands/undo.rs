//! `pi undo`: takes back and repeats the file changes of runs.
//!
//! Without `--session`, the latest run of the directory that changed something counts, in any
//! session.

mod candidates;
mod session;

use std::io::{BufWriter, Write};
use std::path::Path;

use imara_diff::{Algorithm, BasicLineDiffPrinter, Diff, InternedInput, UnifiedDiffConfig};
use pi_tools::checkpoint::{Change, CheckpointError, Checkpoints, FileState, RestoreReport};

use super::plain::{self, PlainWriter, line};
use super::sessions::Store;
use super::{CommandResult, Failure, success};
use crate::exit::{Exit, note};
use crate::flags::parse::CommandArgs;
use candidates::Candidate;
pub(crate) use candidates::Direction;
pub(crate) use session::{Preview, apply, preview};

pub(super) fn run(args: &CommandArgs) -> CommandResult {
    let modes = ["list", "diff", "redo"];
    if modes.iter().filter(|mode| args.has(mode)).count() > 1 {
        return Err(Failure::usage("--list, --diff and --redo cannot be combined"));
    }
    let mut store = Store::open(args)?;
    let direction = if args.has("redo") { Direction::Redo } else { Direction::Undo };
    let candidate = match args.value("session") {
        Some(reference) => Candidate::of_session(&mut store, reference)?,
        None => Candidate::latest(&mut store, direction)?,
    };
    if args.has("list") {
        list(&candidate, &mut store)
    } else if args.has("diff") {
        diff(&candidate)
    } else {
        restore(candidate, direction, &mut store)
    }
}

/// Prints the runs of a session, newest first.
fn list(candidate: &Candidate, store: &mut Store) -> CommandResult {
    let checkpoints = candidate.checkpoints.list();
    // The first checkpoint is the state before the first run.
    let runs = checkpoints.iter().skip(1).filter(|checkpoint| !checkpoint.found).rev();
    let mut runs = runs.peekable();
    if runs.peek().is_none() {
        return Err(Failure::failed(format!(
            "no run of the session {} changed files",
            candidate.id
        )));
    }
    let next = candidate.checkpoints.undoable().map(|(run, _)| run);
    let mut out = BufWriter::new(std::io::stdout().lock());
    writeln!(out, "session {}  {}", store.short_ids().of(&candidate.id), candidate.title)?;
    writeln!(out, "  {:16}  {:>7}  RUN", "TIME", "CHANGES")?;
    for run in runs {
        // Runs after the next one to undo were undone already.
        let (mark, undone) = match next {
            Some(next) if run.number == next => ('*', ""),
            Some(next) if run.number < next => (' ', ""),
            _ => (' ', " (undone)"),
        };
        let time = run.time.map_or_else(|| "unknown".to_owned(), plain::date);
        writeln!(out, "{mark} {time:16}  {:>7}  {}{undone}", run.changes, line(&run.label, 60))?;
    }
    out.flush()?;
    Ok(success())
}

/// Undoes or redoes a run. Prints the changes, and the files that were left alone on stderr.
fn restore(mut candidate: Candidate, direction: Direction, store: &mut Store) -> CommandResult {
    let run = candidate.run(direction)?;
    let changes = candidate.checkpoints.diff(run.from, run.to)?;
    let restored = match direction {
        Direction::Undo => candidate.checkpoints.undo()?,
        Direction::Redo => candidate.checkpoints.redo()?,
    };
    let verb = match direction {
        Direction::Undo => "took back",
        Direction::Redo => "repeated",
    };
    let mut out = BufWriter::new(std::io::stdout().lock());
    let of = run.time.map(|time| format!(" of {}", plain::date(time))).unwrap_or_default();
    let id = store.short_ids().of(&candidate.id);
    writeln!(out, "{verb} the run{of} in session {id}: {}", line(&run.label, 60))?;
    report(&restored, &changes, direction, &mut out)?;
    out.flush()?;
    for conflict in &restored.conflicts {
        note(&format!("left alone {}: {}", line(&conflict.path, usize::MAX), conflict.reason));
    }
    Ok(if restored.conflicts.is_empty() { Exit::Completed } else { Exit::Failed }.into())
}

fn report(
    restored: &RestoreReport,
    changes: &[Change],
    direction: Direction,
    out: &mut impl Write,
) -> Result<(), Failure> {
    for path in &restored.paths {
        writeln!(out, "{} {}", verb(path, changes, direction), line(path, usize::MAX))?;
    }
    Ok(())
}

/// Returns what was done with a file.
fn verb(path: &str, changes: &[Change], direction: Direction) -> &'static str {
    let change = changes.iter().find(|change| change.path == path);
    let (existed, exists) =
        change.map_or((true, true), |change| (change.before.is_some(), change.after.is_some()));
    match (existed, exists, direction) {
        (_, false, _) => "removed",
        (false, _, Direction::Undo) => "recreated",
        (false, _, Direction::Redo) => "created",
        (true, _, Direction::Undo) => "restored",
        (true, _, Direction::Redo) => "changed",
    }
}

/// Shows what `undo` would change.
fn diff(candidate: &Candidate) -> CommandResult {
    let Some((run, before)) = candidate.checkpoints.undoable() else {
        return Err(CheckpointError::NothingToUndo.into());
    };
    let mut out = PlainWriter::new(BufWriter::new(std::io::stdout().lock()));
    write!(out, "{}", difference(&candidate.checkpoints, &candidate.root, run, before)?)?;
    out.flush()?;
    Ok(success())
}

/// Returns the difference between the files as they are and a checkpoint, for the files that
/// changed between two checkpoints.
fn difference(
    checkpoints: &Checkpoints,
    root: &Path,
    from: usize,
    to: usize,
) -> Result<String, CheckpointError> {
    let mut text = String::new();
    for change in checkpoints.diff(from, to)? {
        let now = match change.before {
            Some(FileState::File { .. }) => std::fs::read(root.join(&change.path)).ok(),
            _ => None,
        };
        let then = checkpoints.content(to, &change.path)?;
        text.push_str(&shown(&change, now, then));
    }
    Ok(text)
}

fn shown(change: &Change, before: Option<Vec<u8>>, after: Option<Vec<u8>>) -> String {
    let what = match (&change.before, &change.after) {
        (None, _) => "create",
        (_, None) => "remove",
        _ => "change",
    };
    let heading = format!("{what} {}\n", change.path);
    let text = |bytes: Option<Vec<u8>>| String::from_utf8(bytes.unwrap_or_default());
    let (Ok(before), Ok(after)) = (text(before), text(after)) else { return heading };
    let input = InternedInput::new(before.as_str(), after.as_str());
    let mut difference = Diff::compute(Algorithm::Histogram, &input);
    difference.postprocess_lines(&input);
    let printer = BasicLineDiffPrinter(&input.interner);
    let unified = difference.unified_diff(&printer, UnifiedDiffConfig::default(), &input);
    format!("{heading}{unified}")
}
