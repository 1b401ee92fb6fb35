//! Undo and redo of a known session, in two steps: a preview, and the change that it showed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use pi_tools::checkpoint::{Checkpoint, CheckpointError, Checkpoints, Limits};

use super::{Direction, Restored, difference, restore, run_of};

/// The changes that undo or redo would make.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Preview {
    /// The direction.
    pub direction: Direction,
    /// Prompt of the run; of the first one if there are several.
    pub label: String,
    /// Time of that run, in milliseconds since the epoch.
    pub time: Option<i64>,
    /// The changes as a unified diff, with a heading per file.
    pub diff: String,
    /// Paths of the files that the runs changed.
    pub paths: Vec<String>,
    store: PathBuf,
    root: PathBuf,
    /// The runs in the order in which they are restored, as checkpoints.
    runs: Vec<(usize, usize)>,
}

/// Returns the changes that undo or redo would make. `store` has the checkpoints, `root` the files.
pub fn preview(
    store: &Path,
    root: &Path,
    direction: Direction,
) -> Result<Preview, CheckpointError> {
    let checkpoints = Checkpoints::open(store, root, Limits::default())?;
    let run = run_of(&checkpoints, direction)?;
    let number = run.0.max(run.1);
    let list = checkpoints.list();
    let first = list.iter().find(|one| one.number == number);
    Preview::new(&checkpoints, (store, root), direction, first, vec![run])
}

impl Preview {
    /// Returns the preview of taking back the runs that were not undone, from the latest to the
    /// first one that `is_left` selects. `None` if it selects none.
    pub(super) fn of_runs(
        checkpoints: &Checkpoints,
        store: &Path,
        root: &Path,
        is_left: impl Fn(&Checkpoint) -> bool,
    ) -> Result<Option<Self>, CheckpointError> {
        let list = checkpoints.list();
        let current = checkpoints.current().unwrap_or_default();
        // A run and the checkpoint before it.
        let mut runs: Vec<(&Checkpoint, usize)> = list
            .iter()
            .zip(list.iter().skip(1))
            .filter(|(_, run)| !run.found && run.number <= current)
            .map(|(before, run)| (run, before.number))
            .collect();
        let Some(first) = runs.iter().position(|(run, _)| is_left(run)) else { return Ok(None) };
        runs.drain(..first);
        let oldest = runs.first().map(|(run, _)| *run);
        let pairs = runs.iter().rev().map(|(run, before)| (run.number, *before)).collect();
        Self::new(checkpoints, (store, root), Direction::Undo, oldest, pairs).map(Some)
    }

    fn new(
        checkpoints: &Checkpoints,
        (store, root): (&Path, &Path),
        direction: Direction,
        first: Option<&Checkpoint>,
        runs: Vec<(usize, usize)>,
    ) -> Result<Self, CheckpointError> {
        let mut paths = BTreeSet::new();
        for (from, to) in &runs {
            paths.extend(checkpoints.diff(*from, *to)?.into_iter().map(|change| change.path));
        }
        let (Some((from, _)), Some((_, to))) = (runs.first(), runs.last()) else {
            return Err(CheckpointError::NothingToUndo);
        };
        let diff = difference(checkpoints, root, *from, *to, &paths)?;
        Ok(Self {
            direction,
            label: first.map(|run| run.label.clone()).unwrap_or_default(),
            time: first.and_then(|run| run.time),
            diff,
            paths: paths.into_iter().collect(),
            store: store.to_owned(),
            root: root.to_owned(),
            runs,
        })
    }
}

/// Changes the files as the preview showed. Fails if the run to undo or redo is another one by now;
/// if that happens after the first of several runs, the result says so.
pub fn apply(preview: &Preview) -> Result<Restored, CheckpointError> {
    let mut checkpoints = Checkpoints::open(&preview.store, &preview.root, Limits::default())?;
    let mut all = Restored::default();
    for (at, run) in preview.runs.iter().enumerate() {
        match restore_run(&mut checkpoints, preview.direction, *run) {
            Ok(restored) => all.add(restored),
            Err(error) if at == 0 => return Err(error),
            Err(error) => {
                all.stopped = Some(error);
                break;
            }
        }
    }
    Ok(all)
}

fn restore_run(
    checkpoints: &mut Checkpoints,
    direction: Direction,
    run: (usize, usize),
) -> Result<Restored, CheckpointError> {
    if run_of(checkpoints, direction)? != run {
        return Err(CheckpointError::Unknown(run.0.max(run.1)));
    }
    restore(checkpoints, direction, run)
}
