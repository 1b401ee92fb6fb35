//! Undo and redo of the open session, for the screen.

use std::path::{Path, PathBuf};

use pi_tools::checkpoint::{CheckpointError, Checkpoints, Limits};

use super::candidates::Direction;
use super::{difference, verb};
use crate::commands::plain::line;

/// Changes that undo or redo would make.
#[derive(Debug, Clone)]
pub(crate) struct Preview {
    pub(crate) direction: Direction,
    /// Prompt of the run.
    pub(crate) label: String,
    pub(crate) diff: String,
    store: PathBuf,
    root: PathBuf,
    run: (usize, usize),
}

/// Changes that were made.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) done: Vec<String>,
    pub(crate) left_alone: Vec<String>,
}

/// Returns what undo or redo would change. `store` has the checkpoints, `root` the files.
pub(crate) fn preview(
    store: &Path,
    root: &Path,
    direction: Direction,
) -> Result<Preview, CheckpointError> {
    let checkpoints = Checkpoints::open(store, root, Limits::default())?;
    let (from, to) = run(&checkpoints, direction)?;
    let number = from.max(to);
    let list = checkpoints.list();
    let label = list.into_iter().find(|one| one.number == number).map(|one| one.label);
    let diff = difference(&checkpoints, root, from, to)?;
    Ok(Preview {
        direction,
        label: line(&label.unwrap_or_default(), 60),
        diff,
        store: store.to_owned(),
        root: root.to_owned(),
        run: (from, to),
    })
}

/// Changes the files as the preview showed. Fails if the run to undo or redo is another one by now.
pub(crate) fn apply(preview: &Preview) -> Result<Report, CheckpointError> {
    let mut checkpoints = Checkpoints::open(&preview.store, &preview.root, Limits::default())?;
    let (from, to) = run(&checkpoints, preview.direction)?;
    if (from, to) != preview.run {
        return Err(CheckpointError::Unknown(preview.run.0.max(preview.run.1)));
    }
    let changes = checkpoints.diff(from, to)?;
    let restored = match preview.direction {
        Direction::Undo => checkpoints.undo()?,
        Direction::Redo => checkpoints.redo()?,
    };
    let done = restored.paths.iter().map(|path| {
        format!("{} {}", verb(path, &changes, preview.direction), line(path, usize::MAX))
    });
    let left_alone = restored.conflicts.iter().map(|conflict| {
        format!("left alone {}: {}", line(&conflict.path, usize::MAX), conflict.reason)
    });
    Ok(Report { done: done.collect(), left_alone: left_alone.collect() })
}

fn run(checkpoints: &Checkpoints, direction: Direction) -> Result<(usize, usize), CheckpointError> {
    match direction {
        Direction::Undo => checkpoints.undoable().ok_or(CheckpointError::NothingToUndo),
        Direction::Redo => checkpoints.redoable().ok_or(CheckpointError::NothingToRedo),
    }
}
