//! The directory of a session's checkpoints, and the directories that have none, for the code that
//! creates checkpoints and the code that restores them.

use std::path::{Path, PathBuf};

use crate::environment::Environment;
use crate::settings::Settings;

/// Reasons why runs in the working directory cannot be undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointsOff {
    /// The setting `checkpoints.enabled` is false.
    #[error("checkpoints are disabled in the settings (checkpoints.enabled)")]
    Disabled,
    /// The home directory contains far more than a project.
    #[error("no checkpoints are taken of the home directory or a directory that contains it")]
    TooWide,
}

/// Returns the reason why runs in the working directory cannot be undone, if there is one.
pub fn checkpoints_off(environment: &Environment, settings: &Settings) -> Option<CheckpointsOff> {
    if settings.checkpoints().is_none() {
        Some(CheckpointsOff::Disabled)
    } else if is_too_wide(&environment.cwd, environment) {
        Some(CheckpointsOff::TooWide)
    } else {
        None
    }
}

/// Returns true if the home directory is below this directory, or the directory is the root.
pub fn is_too_wide(root: &Path, environment: &Environment) -> bool {
    let contains_home = environment.home.as_ref().is_some_and(|home| home.starts_with(root));
    root.parent().is_none() || contains_home
}

/// Returns the directory with the checkpoints of all sessions, for
/// [`pi_tools::checkpoint::usage`] and [`pi_tools::checkpoint::prune`].
pub fn checkpoints_directory(agent_directory: &Path) -> PathBuf {
    agent_directory.join("checkpoints")
}

/// Returns the directory for [`pi_tools::checkpoint::Checkpoints`] of a session, which cover the files of
/// its working directory.
pub fn checkpoint_directory(agent_directory: &Path, session_id: &str) -> PathBuf {
    // Generated ids are valid file names; an id from a file may be any text.
    let is_valid = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let is_first_valid = session_id.starts_with(|c: char| c.is_ascii_alphanumeric());
    let replaced = |c: char| if is_valid(c) || (c == '.' && is_first_valid) { c } else { '_' };
    // A prefix, so that no name is empty.
    let prefix = if is_first_valid { "" } else { "_" };
    let name: String = prefix.chars().chain(session_id.chars().map(replaced)).collect();
    checkpoints_directory(agent_directory).join(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_session_id_leaves_the_directory() {
        let cases = [
            ("0193-ab.c_d", "0193-ab.c_d"),
            ("", "_"),
            ("..", "___"),
            ("../../etc", "_______etc"),
            ("a/../b", "a_.._b"),
            ("/etc", "__etc"),
            ("ä b", "___b"),
        ];
        for (id, name) in cases {
            let path = checkpoint_directory(Path::new("agent"), id);
            let parent = Path::new("agent").join("checkpoints");
            assert_eq!(path.parent(), Some(parent.as_path()), "{id:?}");
            assert_eq!(path, parent.join(name), "{id:?}");
        }
    }
}
