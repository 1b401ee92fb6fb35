//! Where the checkpoints of a session are kept: one function, for those who take them and those
//! who go back to them.

use std::path::{Path, PathBuf};

/// The store for [`pi_tools::checkpoint::Checkpoints`] of a session, which covers the files of the session's
/// working directory.
pub fn checkpoint_directory(agent_directory: &Path, session_id: &str) -> PathBuf {
    // Ids that we make are fit for a file name; one that is read from a file may say anything.
    let is_fit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let is_first_fit = session_id.starts_with(|c: char| c.is_ascii_alphanumeric());
    let fit = |c: char| if is_fit(c) || (c == '.' && is_first_fit) { c } else { '_' };
    // In front, so that no name is empty.
    let mark = if is_first_fit { "" } else { "_" };
    let name: String = mark.chars().chain(session_id.chars().map(fit)).collect();
    agent_directory.join("checkpoints").join(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_id_leads_elsewhere() {
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
