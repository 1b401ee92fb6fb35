//! `pi undo`: the files of a session as they were before its last prompt, and back again.

use std::io::{BufWriter, Write};
use std::path::PathBuf;

use imara_diff::{Algorithm, BasicLineDiffPrinter, Diff, InternedInput, UnifiedDiffConfig};
use pi_coding_agent::checkpoint_directory;
use pi_tools::checkpoint::{
    Change, CheckpointError, Checkpoints, FileState, Limits, RestoreReport,
};

use super::plain::{Plain, line};
use super::sessions::Store;
use super::{Done, Failure, success};
use crate::exit::{Exit, note};
use crate::flags::parse::Given;

pub(super) fn run(given: &Given) -> Done {
    let modes = ["list", "diff", "redo"];
    if modes.iter().filter(|mode| given.has(mode)).count() > 1 {
        return Err(Failure::Usage("give one of --list, --diff and --redo".to_owned()));
    }
    let (mut checkpoints, root) = open(given)?;
    if given.has("list") {
        list(&checkpoints)
    } else if given.has("diff") {
        diff(&mut checkpoints, &root)
    } else if given.has("redo") {
        report(&checkpoints.redo()?)
    } else {
        report(&checkpoints.undo()?)
    }
}

/// The checkpoints of the session that is meant, and the directory that they are about.
fn open(given: &Given) -> Result<(Checkpoints, PathBuf), Failure> {
    let mut store = Store::open(given)?;
    let agent = store.environment.agent_directory.clone();
    let (id, cwd) = match given.value("session") {
        Some(reference) => {
            let path = store.find(reference)?;
            let session = super::export::open(&path)?;
            (session.id().to_owned(), session.cwd().to_owned())
        }
        None => store
            .list(false)
            .into_iter()
            .find(|session| checkpoint_directory(&agent, &session.id).is_dir())
            .map(|session| (session.id, PathBuf::from(session.cwd)))
            .ok_or_else(|| {
                Failure::Failed(
                    "no session of this directory has checkpoints; name one with --session"
                        .to_owned(),
                )
            })?,
    };
    let directory = checkpoint_directory(&agent, &id);
    // Opening would create it.
    if !directory.is_dir() {
        return Err(Failure::Failed(format!("the session {id} has no checkpoints")));
    }
    if !cwd.is_dir() {
        return Err(Failure::Failed(format!("{} is not there any more", cwd.display())));
    }
    Ok((Checkpoints::open(&directory, &cwd, Limits::default())?, cwd))
}

fn list(checkpoints: &Checkpoints) -> Done {
    let mut out = BufWriter::new(std::io::stdout().lock());
    for checkpoint in checkpoints.list() {
        let mark = if checkpoints.current() == Some(checkpoint.number) { '*' } else { ' ' };
        let label = line(&checkpoint.label, 60);
        writeln!(
            out,
            "{mark} {:>4}  {:>5} changed  {label}",
            checkpoint.number, checkpoint.changes
        )?;
    }
    out.flush()?;
    Ok(success())
}

/// Says what was done, and what was not.
fn report(restored: &RestoreReport) -> Done {
    let mut out = BufWriter::new(std::io::stdout().lock());
    for path in &restored.paths {
        writeln!(out, "{}", line(path, usize::MAX))?;
    }
    out.flush()?;
    for conflict in &restored.conflicts {
        note(&format!("left as it is: {}: {}", line(&conflict.path, usize::MAX), conflict.reason));
    }
    Ok(if restored.conflicts.is_empty() { Exit::Success } else { Exit::Failed }.into())
}

/// Shows what `undo` would do to the files as they are now.
fn diff(checkpoints: &mut Checkpoints, root: &std::path::Path) -> Done {
    let numbers: Vec<usize> = checkpoints.list().iter().map(|one| one.number).collect();
    let at = numbers.iter().position(|number| checkpoints.current() == Some(*number));
    let target = at.and_then(|at| at.checked_sub(1)).map(|before| numbers[before]);
    let (Some(at), Some(target)) = (at, target) else {
        return Err(CheckpointError::NothingToUndo.into());
    };
    let mut out = Plain::new(BufWriter::new(std::io::stdout().lock()));
    for change in checkpoints.diff(numbers[at], target)? {
        let before = match change.before {
            Some(FileState::File { .. }) => std::fs::read(root.join(&change.path)).ok(),
            _ => None,
        };
        let after = checkpoints.content(target, &change.path)?;
        show(&change, before, after, &mut out)?;
    }
    out.flush()?;
    Ok(success())
}

fn show(
    change: &Change,
    before: Option<Vec<u8>>,
    after: Option<Vec<u8>>,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let what = match (&change.before, &change.after) {
        (None, _) => "create",
        (_, None) => "remove",
        _ => "change",
    };
    writeln!(out, "{what} {}", change.path)?;
    let text = |bytes: Option<Vec<u8>>| String::from_utf8(bytes.unwrap_or_default());
    if let (Ok(before), Ok(after)) = (text(before), text(after)) {
        let input = InternedInput::new(before.as_str(), after.as_str());
        let mut difference = Diff::compute(Algorithm::Histogram, &input);
        difference.postprocess_lines(&input);
        let printer = BasicLineDiffPrinter(&input.interner);
        write!(out, "{}", difference.unified_diff(&printer, UnifiedDiffConfig::default(), &input))?;
    }
    Ok(())
}
