//! `pi undo`: takes back and repeats the file changes of runs.
//!
//! Without `--session`, the latest run of the directory that changed something counts, in any
//! session.

use std::io::{BufWriter, Write as _};

use pi_base::text::{line, one_line};
use pi_host::sessions::{SessionStore, title};
use pi_host::undo::{Candidate, Direction, UndoError, append_note};

use super::plain::{self, PlainWriter};
use super::{CommandResult, Failure, sessions, success};
use crate::exit::{Exit, note};
use crate::flags::parse::CommandArgs;

impl From<UndoError> for Failure {
    fn from(error: UndoError) -> Self {
        match error {
            UndoError::Find(error) => error.into(),
            UndoError::Open(error) => error.into(),
            UndoError::Session(error) => error.into(),
            UndoError::NoSession => {
                Self::failed(error.to_string()).hint("choose a session with --session")
            }
            error => Self::failed(error.to_string()),
        }
    }
}

pub(super) fn run(args: &CommandArgs) -> CommandResult {
    let modes = ["list", "diff", "redo"];
    if modes.iter().filter(|mode| args.has(mode)).count() > 1 {
        return Err(Failure::usage("--list, --diff and --redo cannot be combined"));
    }
    let mut store = sessions::open(args)?;
    let direction = if args.has("redo") { Direction::Redo } else { Direction::Undo };
    let candidate = match args.value("session") {
        Some(reference) => Candidate::of_session(&mut store, reference)?,
        None => {
            let mut listed = sessions::list_readable(&mut store, false);
            // Without this, a run of `pi run` could only be undone by its directory.
            listed.extend(store.of_runs());
            Candidate::latest(&store.project, listed, direction)?
        }
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
fn list(candidate: &Candidate, store: &mut SessionStore) -> CommandResult {
    let checkpoints = candidate.checkpoints.list();
    // The first checkpoint is the state before the first run.
    let runs = checkpoints.iter().skip(1).filter(|checkpoint| !checkpoint.found).rev();
    let mut runs = runs.peekable();
    if runs.peek().is_none() {
        return Err(Failure::failed(format!(
            "no run of the session {} changed files",
            candidate.session.id
        )));
    }
    let next = candidate.checkpoints.undoable().map(|(run, _)| run);
    let mut out = BufWriter::new(std::io::stdout().lock());
    let session = &candidate.session;
    writeln!(out, "session {}  {}", store.short_ids().of(&session.id), title(session, 60))?;
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
fn restore(
    mut candidate: Candidate,
    direction: Direction,
    store: &mut SessionStore,
) -> CommandResult {
    let run = candidate.run(direction)?;
    let restored = candidate.restore(&run, direction)?;
    let verb = match direction {
        Direction::Undo => "took back",
        Direction::Redo => "repeated",
    };
    let mut out = BufWriter::new(std::io::stdout().lock());
    let of = run.time.map(|time| format!(" of {}", plain::date(time))).unwrap_or_default();
    let id = store.short_ids().of(&candidate.session.id);
    writeln!(out, "{verb} the run{of} in session {id}: {}", line(&run.label, 60))?;
    for file in &restored.files {
        writeln!(out, "{} {}", file.verb, one_line(&file.path))?;
    }
    out.flush()?;
    for conflict in &restored.conflicts {
        note(&format!("left alone {}: {}", one_line(&conflict.path), conflict.reason));
    }
    if let Some(text) = restored.note(direction, &run.label)
        && let Err(error) = append_note(&candidate.session.path, &text)
    {
        note(&format!("the model of the session is not told of this: {error}"));
    }
    Ok(if restored.conflicts.is_empty() { Exit::Completed } else { Exit::Failed }.into())
}

/// Shows what `undo` would change.
fn diff(candidate: &Candidate) -> CommandResult {
    let difference = candidate.difference()?;
    let mut out = PlainWriter::new(BufWriter::new(std::io::stdout().lock()));
    write!(out, "{difference}")?;
    out.flush()?;
    Ok(success())
}
