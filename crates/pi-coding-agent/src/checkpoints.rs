//! The directory of a session's checkpoints, for the code that creates them and the code that
//! restores them.

use std::path::{Path, PathBuf};

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
