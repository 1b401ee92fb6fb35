//! Programs by name, as a shell finds them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Returns the path of a program: as given if it has a slash, else the first file of this name in a
/// search path. Relative paths start at `cwd`; without it they are skipped, since a workspace may
/// contain anything.
pub fn find_program(name: &str, cwd: Option<&Path>, search: Option<&OsStr>) -> Option<PathBuf> {
    let absolute = |path: PathBuf| match cwd {
        Some(cwd) => Some(cwd.join(path)),
        None => path.is_absolute().then_some(path),
    };
    if name.contains('/') {
        return absolute(name.into()).filter(|path| path.is_file());
    }
    let mut directories = std::env::split_paths(search?).filter_map(absolute);
    directories.find_map(|directory| Some(directory.join(name)).filter(|path| path.is_file()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_places_need_a_directory() {
        let top = tempfile::tempdir().unwrap();
        let bin = top.path().join("bin");
        std::fs::create_dir(&bin).unwrap();
        std::fs::write(bin.join("tool"), "").unwrap();
        let find = |name: &str, cwd: Option<&Path>, search: &str| {
            find_program(name, cwd, Some(OsStr::new(search))).is_some()
        };
        let absolute = bin.to_str().unwrap();
        assert!(find("tool", None, absolute) && !find("other", None, absolute));
        assert!(!find("tool", None, "bin") && find("tool", Some(top.path()), "bin"));
        assert!(!find("bin/tool", None, "") && find("bin/tool", Some(top.path()), ""));
        assert!(find_program("tool", None, None).is_none());
    }
}
