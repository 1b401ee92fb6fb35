//! The files of programs: each file with a name, on the path and in the directories of packages, and
//! its hard links. Nothing here knows rules.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Finds the files of programs.
#[derive(Debug, Clone, Default)]
pub struct ProgramFiles {
    path: Vec<PathBuf>,
    #[cfg_attr(not(target_os = "linux"), allow(dead_code))]
    writable: Vec<PathBuf>,
    /// Directories of packages, listed once.
    packages: OnceLock<HashSet<PathBuf>>,
}

impl ProgramFiles {
    /// Searches these directories, which are those of the variable `PATH`.
    #[must_use]
    pub fn new(path: Vec<PathBuf>) -> Self {
        Self { path, writable: Vec::new(), packages: OnceLock::new() }
    }

    /// Does not rely on links in these directories, because commands can create them.
    #[must_use]
    pub fn with_writable(self, writable: Vec<PathBuf>) -> Self {
        Self { writable, ..self }
    }

    /// Returns the real paths of all programs with this name: in every directory of the path, not
    /// only the first one, and beside it where packages have another (`lib/NAME-core/NAME`).
    #[must_use]
    pub fn named(&self, name: &str) -> Vec<PathBuf> {
        if name.is_empty() {
            return Vec::new();
        }
        if name.contains('/') {
            return fs::canonicalize(name).into_iter().filter(|path| is_program(path)).collect();
        }
        let mut found: Vec<PathBuf> = Vec::new();
        let mut beside: Vec<PathBuf> = Vec::new();
        for package in self.path.iter().flat_map(|directory| self.packages(directory, name)) {
            if !beside.contains(&package) {
                beside.push(package);
            }
        }
        for directory in self.path.iter().chain(&beside) {
            let program = directory.join(name);
            if is_program(&program)
                && let Ok(real) = fs::canonicalize(program)
                && !found.contains(&real)
            {
                found.push(real);
            }
        }
        found
    }

    /// Returns the files and their hard links: in the directories of the path, of the files and of
    /// their packages.
    #[must_use]
    pub fn with_links(&self, files: Vec<PathBuf>) -> Vec<PathBuf> {
        let linked: HashSet<(u64, u64)> =
            files.iter().filter_map(|file| linked_file(&file.metadata().ok()?)).collect();
        if linked.is_empty() {
            return files;
        }
        let mut directories: HashSet<PathBuf> = self.path.iter().cloned().collect();
        for file in &files {
            let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let own = file.parent().map(Path::to_owned);
            let places = self.path.iter().chain(&own);
            directories.extend(places.flat_map(|place| self.packages(place, name)));
            directories.extend(own.clone());
        }
        let mut all = files;
        let real: HashSet<PathBuf> =
            directories.iter().filter_map(|path| fs::canonicalize(path).ok()).collect();
        for entry in real.iter().filter_map(|path| fs::read_dir(path).ok()).flatten().flatten() {
            let file = entry.metadata().ok().and_then(|found| linked_file(&found));
            if file.is_some_and(|file| linked.contains(&file)) {
                all.push(entry.path());
            }
        }
        all.sort();
        all.dedup();
        all
    }

    /// Returns the directories in which the package of a program may keep another file of it, given
    /// a directory of the path.
    fn packages(&self, directory: &Path, name: &str) -> Vec<PathBuf> {
        let places = |directory: &Path| {
            let prefix = directory.parent().map(Path::to_owned);
            prefix.into_iter().flat_map(|prefix| ["lib", "libexec"].map(|place| prefix.join(place)))
        };
        let listed = self.packages.get_or_init(|| {
            let all: HashSet<PathBuf> = self.path.iter().flat_map(|path| places(path)).collect();
            let entries = all.iter().filter_map(|place| fs::read_dir(place).ok()).flatten();
            entries.flatten().map(|entry| entry.path()).collect()
        });
        let inside = |place: PathBuf| [place.join(format!("{name}-core")), place.join(name)];
        let known = places(directory).flat_map(inside).filter(|package| listed.contains(package));
        known.flat_map(|package| [package.join("bin"), package]).collect()
    }

    /// Returns the programs on the path with this name, as they are called: the links, in
    /// directories in which commands cannot create any.
    #[cfg(target_os = "linux")]
    pub(super) fn installed(&self, name: &str) -> impl Iterator<Item = PathBuf> {
        let is_fixed =
            |directory: &&PathBuf| !self.writable.iter().any(|root| directory.starts_with(root));
        let name = if name.contains('/') { "" } else { name };
        self.path.iter().filter(is_fixed).map(move |directory| directory.join(name))
    }
}

/// Returns the identity of a file that has several names.
fn linked_file(found: &fs::Metadata) -> Option<(u64, u64)> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let is_linked = found.is_file() && found.nlink() > 1;
        is_linked.then(|| (found.dev(), found.ino()))
    }
    #[cfg(not(unix))]
    {
        let _ = found;
        None
    }
}

fn is_program(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        path.metadata()
            .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    }
    #[cfg(not(unix))]
    path.is_file()
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn every_file_of_a_name_is_found_with_its_links() {
        let base = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(base.path()).unwrap();
        for directory in ["a/bin", "b/bin", "b/lib/tool-core"] {
            fs::create_dir_all(base.join(directory)).unwrap();
        }
        let program = |name: &str| {
            fs::write(base.join(name), name).unwrap();
            fs::set_permissions(base.join(name), fs::Permissions::from_mode(0o755)).unwrap();
            base.join(name)
        };
        let (first, second) = (program("a/bin/tool"), program("b/bin/tool"));
        let inner = program("b/lib/tool-core/tool");
        fs::write(base.join("b/bin/text"), "").unwrap();
        let link = base.join("b/lib/tool-core/tool-add");
        fs::hard_link(&second, &link).unwrap();
        let files = ProgramFiles::new(vec![base.join("a/bin"), base.join("b/bin")]);
        let named = files.named("tool");
        assert_eq!(named, [first.clone(), second.clone(), inner.clone()]);
        assert_eq!(files.with_links(named), [first, second, inner, link]);
        assert!(files.named("text").is_empty());
        #[cfg(target_os = "linux")]
        let fixed = files.with_writable(vec![base.join("a")]);
        #[cfg(target_os = "linux")]
        assert_eq!(fixed.installed("tool").collect::<Vec<_>>(), [base.join("b/bin/tool")]);
    }
}
