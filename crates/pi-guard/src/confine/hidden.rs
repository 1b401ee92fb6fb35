//! The paths that are hidden by default: those of the list that exist and that this user can read.

use std::fs;
use std::path::{Path, PathBuf};

use crate::protected::{self, Protection};

/// Returns the existing places of credentials: in the home, and those of the system that belong to
/// this user, since modes protect the others. A place that contains the home or the working
/// directory is left out: commands could not work there.
///
/// A path that does not exist costs every command time, so only existing ones are returned.
pub fn credential_paths(home: Option<&Path>, cwd: &Path) -> Vec<PathBuf> {
    let in_use =
        |path: &Path| cwd.starts_with(path) || home.is_some_and(|home| home.starts_with(path));
    let mut found: Vec<PathBuf> = protected::paths(Protection::Hidden)
        .filter_map(|path| match path.strip_prefix("~/") {
            Some(name) => Some(home?.join(name)).filter(|path| path.exists()),
            None => Some(PathBuf::from(path)).filter(|path| is_own(path)),
        })
        .filter(|path| !in_use(path))
        .collect();
    found.sort();
    found
}

#[cfg(target_os = "linux")]
fn is_own(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let user = rustix::process::geteuid().as_raw();
    fs::metadata(path).is_ok_and(|found| found.uid() == user)
}

#[cfg(not(target_os = "linux"))]
fn is_own(path: &Path) -> bool {
    fs::File::open(path).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn existing_places_are_hidden_unless_work_is_done_in_them() {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path();
        for name in [".ssh", ".kube/cache", ".mozilla/firefox", "project"] {
            fs::create_dir_all(home.join(name)).unwrap();
        }
        fs::write(home.join(".npmrc"), "").unwrap();
        let hidden = |cwd: &str| -> Vec<PathBuf> {
            let mut hidden = credential_paths(Some(home), &home.join(cwd));
            hidden.retain(|path| path.starts_with(home));
            hidden
        };
        let all = [".kube", ".mozilla", ".npmrc", ".ssh"].map(|name| home.join(name));
        assert_eq!(hidden("project"), all);
        assert_eq!(hidden(".kube/cache"), all[1..]);
        assert!(credential_paths(None, home).iter().all(|path| !path.starts_with(home)));
    }
}
