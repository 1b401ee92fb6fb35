//! Undo and redo of a known session, in two steps: a preview, and the change that it showed.

use std::path::{Path, PathBuf};

use pi_tools::checkpoint::{CheckpointError, Checkpoints, Limits};

use super::{Direction, Restored, difference, restore, run_of};

/// The changes that undo or redo would make.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Preview {
    /// The direction.
    pub direction: Direction,
    /// Prompt of the run.
    pub label: String,
    /// The changes as a unified diff, with a heading per file.
    pub diff: String,
    store: PathBuf,
    root: PathBuf,
    run: (usize, usize),
}

/// Returns the changes that undo or redo would make. `store` has the checkpoints, `root` the files.
pub fn preview(
    store: &Path,
    root: &Path,
    direction: Direction,
) -> Result<Preview, CheckpointError> {
    let checkpoints = Checkpoints::open(store, root, Limits::default())?;
    let (from, to) = run_of(&checkpoints, direction)?;
    let number = from.max(to);
    let list = checkpoints.list();
    let label = list.into_iter().find(|one| one.number == number).map(|one| one.label);
    let diff = difference(&checkpoints, root, from, to)?;
    Ok(Preview {
        direction,
        label: label.unwrap_or_default(),
        diff,
        store: store.to_owned(),
        root: root.to_owned(),
        run: (from, to),
    })
}

/// Changes the files as the preview showed. Fails if the run to undo or redo is another one by now.
pub fn apply(preview: &Preview) -> Result<Restored, CheckpointError> {
    let mut checkpoints = Checkpoints::open(&preview.store, &preview.root, Limits::default())?;
    let run = run_of(&checkpoints, preview.direction)?;
    if run != preview.run {
        return Err(CheckpointError::Unknown(preview.run.0.max(preview.run.1)));
    }
    restore(&mut checkpoints, preview.direction, run)
}
