//! Undo and redo: take back and repeat the file changes of runs.
//!
//! [`Candidate`] finds the session of a directory whose run is undone; [`preview`] and [`apply`] are
//! the two steps for a session that is known. [`rewind()`] moves the files, the conversation or both
//! back in a session that is open, and tells the model what it could not know.

mod candidate;
mod note;
mod preview;
mod rewind;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use imara_diff::{Algorithm, BasicLineDiffPrinter, Diff, InternedInput, UnifiedDiffConfig};
use pi_config::checkpoints::CheckpointsOff;
use pi_session::SessionError;
use pi_tools::checkpoint::{Change, CheckpointError, Checkpoints, Conflict, FileState};

use crate::export::ExportError;
use crate::sessions::FindError;

pub use candidate::{Candidate, Run};
pub use note::{NOTE_TYPE, append_note};
pub use preview::{Preview, apply, preview};
pub use rewind::{
    RewindError, RewindPlan, RewindScope, Rewound, plan_redo, plan_rewind, plan_undo, rewind,
};

/// The direction in which checkpoints are restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// To the state before a run.
    Undo,
    /// To the state after a run that was undone.
    Redo,
}

/// Reasons why no run can be undone or redone.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UndoError {
    /// The reference names no session, or several.
    #[error(transparent)]
    Find(#[from] FindError),
    /// The session cannot be opened.
    #[error(transparent)]
    Open(#[from] ExportError),
    /// The session cannot be read.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The session of this id has no checkpoints.
    #[error("the session {0} has no checkpoints")]
    NoCheckpoints(String),
    /// No checkpoints are taken in this directory.
    #[error("there is nothing to undo: {0}")]
    Off(CheckpointsOff),
    /// No session of the directory has checkpoints.
    #[error("no session of this directory has checkpoints")]
    NoSession,
    /// The working directory of the session was removed.
    #[error("{} does not exist any more", .0.display())]
    DirectoryGone(PathBuf),
    /// The checkpoints cannot be read or restored.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
}

/// The result of undo or redo.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Restored {
    /// The files that were changed.
    pub files: Vec<RestoredFile>,
    /// Files that were left alone, with the reason.
    pub conflicts: Vec<Conflict>,
    /// The reason why only the later ones of several runs were restored.
    pub stopped: Option<CheckpointError>,
}

impl Restored {
    /// Adds the result of the run before.
    fn add(&mut self, earlier: Self) {
        for file in earlier.files {
            // The state before the earlier run is the one that stays.
            self.files.retain(|known| known.path != file.path);
            self.files.push(file);
        }
        for conflict in earlier.conflicts {
            if self.conflicts.iter().all(|known| known.path != conflict.path) {
                self.conflicts.push(conflict);
            }
        }
    }
}

/// A file that undo or redo changed.
#[derive(Debug)]
#[non_exhaustive]
pub struct RestoredFile {
    /// Path below the working directory.
    pub path: String,
    /// The change, as a verb in the past tense.
    pub verb: &'static str,
}

/// Restores the checkpoints in a direction.
fn restore(
    checkpoints: &mut Checkpoints,
    direction: Direction,
    (from, to): (usize, usize),
) -> Result<Restored, CheckpointError> {
    let mut changes = checkpoints.diff(from, to)?;
    changes.extend(checkpoints.hidden_diff(from, to)?);
    let report = match direction {
        Direction::Undo => checkpoints.undo()?,
        Direction::Redo => checkpoints.redo()?,
    };
    let files = report.paths.into_iter();
    let files =
        files.map(|path| RestoredFile { verb: verb(&path, &changes, direction), path }).collect();
    Ok(Restored { files, conflicts: report.conflicts, stopped: None })
}

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

/// Returns the run to undo or redo: its checkpoints, in the direction of the change.
fn run_of(
    checkpoints: &Checkpoints,
    direction: Direction,
) -> Result<(usize, usize), CheckpointError> {
    match direction {
        Direction::Undo => checkpoints.undoable().ok_or(CheckpointError::NothingToUndo),
        Direction::Redo => checkpoints.redoable().ok_or(CheckpointError::NothingToRedo),
    }
}

/// Returns the difference between the files as they are and a checkpoint, for the files that
/// changed between two checkpoints and are among `paths`.
fn difference(
    checkpoints: &Checkpoints,
    root: &Path,
    from: usize,
    to: usize,
    paths: &BTreeSet<String>,
) -> Result<String, CheckpointError> {
    let mut text = String::new();
    for change in checkpoints.diff(from, to)? {
        if !paths.contains(&change.path) {
            continue;
        }
        let now = match change.before {
            Some(FileState::File { .. }) => std::fs::read(root.join(&change.path)).ok(),
            _ => None,
        };
        let then = checkpoints.content(to, &change.path)?;
        text.push_str(&shown(&change, now, then));
    }
    // The content of ignored files may be secret, and that of references says little.
    for change in checkpoints.hidden_diff(from, to)? {
        let is_log = change.path.contains("/logs/");
        if !is_log && change.after.is_some() {
            text.push_str(&heading(&change));
        }
    }
    Ok(text)
}

fn heading(change: &Change) -> String {
    let what = match (&change.before, &change.after) {
        (None, _) => "create",
        (_, None) => "remove",
        _ => "change",
    };
    format!("{what} {}\n", change.path)
}

fn shown(change: &Change, before: Option<Vec<u8>>, after: Option<Vec<u8>>) -> String {
    let heading = heading(change);
    let text = |bytes: Option<Vec<u8>>| String::from_utf8(bytes.unwrap_or_default());
    let (Ok(before), Ok(after)) = (text(before), text(after)) else { return heading };
    let input = InternedInput::new(before.as_str(), after.as_str());
    let mut difference = Diff::compute(Algorithm::Histogram, &input);
    difference.postprocess_lines(&input);
    let printer = BasicLineDiffPrinter(&input.interner);
    let unified = difference.unified_diff(&printer, UnifiedDiffConfig::default(), &input);
    format!("{heading}{unified}")
}
