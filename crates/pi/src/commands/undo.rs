//! `pi undo`: undoes and redoes the file changes of the prompts of a session.

use std::io::{BufWriter, Write};
use std::path::PathBuf;

use imara_diff::{Algorithm, BasicLineDiffPrinter, Diff, InternedInput, UnifiedDiffConfig};
use pi_coding_agent::checkpoint_directory;
use pi_tools::checkpoint::{
    Change, CheckpointError, Checkpoints, FileState, Limits, RestoreReport,
};

use super::plain::{PlainWriter, line};
use super::sessions::Store;
use super::{CommandResult, Failure, success};
use crate::exit::{Exit, note};
use crate::flags::parse::CommandArgs;

pub(super) fn run(args: &CommandArgs) -> CommandResult {
    let modes = ["list", "diff", "redo"];
    if modes.iter().filter(|mode| args.has(mode)).count() > 1 {
        return Err(Failure::usage("--list, --diff and --redo cannot be combined"));
    }
    let (mut checkpoints, root) = open(args)?;
    if args.has("list") {
        list(&checkpoints)
    } else if args.has("diff") {
        diff(&mut checkpoints, &root)
    } else if args.has("redo") {
        report(&checkpoints.redo()?)
    } else {
        report(&checkpoints.undo()?)
    }
}

/// Opens the checkpoints of the selected session. Also returns their working directory.
fn open(args: &CommandArgs) -> Result<(Checkpoints, PathBuf), Failure> {
    let mut store = Store::open(args)?;
    let agent = store.environment.agent_directory.clone();
    let (id, cwd) = match args.value("session") {
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
                Failure::failed("no session of this directory has checkpoints")
                    .hint("choose a session with --session")
            })?,
    };
    let directory = checkpoint_directory(&agent, &id);
    // Opening would create the directory.
    if !directory.is_dir() {
        return Err(Failure::failed(format!("the session {id} has no checkpoints")));
    }
    if !cwd.is_dir() {
        return Err(Failure::failed(format!("{} does not exist any more", cwd.display())));
    }
    Ok((Checkpoints::open(&directory, &cwd, Limits::default())?, cwd))
}

fn list(checkpoints: &Checkpoints) -> CommandResult {
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

/// Prints the restored files, and the conflicts on stderr.
fn report(restored: &RestoreReport) -> CommandResult {
    let mut out = BufWriter::new(std::io::stdout().lock());
    for path in &restored.paths {
        writeln!(out, "{}", line(path, usize::MAX))?;
    }
    out.flush()?;
    for conflict in &restored.conflicts {
        note(&format!("not restored: {}: {}", line(&conflict.path, usize::MAX), conflict.reason));
    }
    Ok(if restored.conflicts.is_empty() { Exit::Success } else { Exit::Failed }.into())
}

/// Shows what `undo` would change.
fn diff(checkpoints: &mut Checkpoints, root: &std::path::Path) -> CommandResult {
    let numbers: Vec<usize> = checkpoints.list().iter().map(|one| one.number).collect();
    let at = numbers.iter().position(|number| checkpoints.current() == Some(*number));
    let target = at.and_then(|at| at.checked_sub(1)).map(|before| numbers[before]);
    let (Some(at), Some(target)) = (at, target) else {
        return Err(CheckpointError::NothingToUndo.into());
    };
    let mut out = PlainWriter::new(BufWriter::new(std::io::stdout().lock()));
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
