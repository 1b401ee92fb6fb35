//! Walking directories of resources: sorted by name, without ignored files, through symbolic links
//! but never in circles.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// Names of ignore files, which apply to their directory and everything below it.
const IGNORE_FILES: [&str; 3] = [".gitignore", ".ignore", ".fdignore"];

/// Identifies a file that may have several paths. Where files have numbers, one system call.
#[cfg(unix)]
pub(super) type Identity = (u64, u64);
#[cfg(not(unix))]
pub(super) type Identity = PathBuf;

/// Returns the identity of the file at a path, through links.
pub(super) fn identity(path: &Path) -> Option<Identity> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        fs::metadata(path).ok().map(|data| (data.dev(), data.ino()))
    }
    #[cfg(not(unix))]
    fs::canonicalize(path).ok()
}

/// An entry of a directory.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) path: PathBuf,
    pub(super) name: String,
    pub(super) is_directory: bool,
}

/// The state of a walk.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// Rules of the ignore files from the root to the current directory.
    rules: Vec<Gitignore>,
    /// Directories that were walked already.
    seen: HashSet<Identity>,
}

impl Scan {
    /// Returns the visible entries of a directory; none if it cannot be read or was walked before.
    /// After walking them, the caller passes the returned mark to [`Scan::leave`].
    pub(super) fn enter(&mut self, directory: &Path) -> (Vec<Entry>, usize) {
        let mark = self.rules.len();
        if !identity(directory).is_some_and(|real| self.seen.insert(real)) {
            return (Vec::new(), mark);
        }
        let Ok(listing) = fs::read_dir(directory) else { return (Vec::new(), mark) };
        let mut entries = Vec::new();
        let mut ignores = Vec::new();
        for entry in listing.flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            if IGNORE_FILES.contains(&name.as_str()) {
                ignores.push(entry.path());
            } else if !name.starts_with('.') && name != "node_modules" {
                let Ok(mut kind) = entry.file_type() else { continue };
                let path = entry.path();
                // Only links need a second system call.
                if kind.is_symlink() {
                    let Ok(target) = fs::metadata(&path) else { continue };
                    kind = target.file_type();
                }
                // Reading a pipe would block.
                if kind.is_dir() || kind.is_file() {
                    entries.push(Entry { path, name, is_directory: kind.is_dir() });
                }
            }
        }
        if !ignores.is_empty() {
            ignores.sort_by_key(|path| IGNORE_FILES.iter().position(|name| path.ends_with(name)));
            let mut builder = GitignoreBuilder::new(directory);
            for path in ignores {
                // An invalid line is skipped, as git does.
                builder.add(path);
            }
            self.rules.extend(builder.build());
        }
        entries.retain(|entry| !self.is_ignored(&entry.path, entry.is_directory));
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        (entries, mark)
    }

    /// Leaves a directory.
    pub(super) fn leave(&mut self, mark: usize) {
        self.rules.truncate(mark);
    }

    /// Returns true if the nearest matching rule ignores the path.
    fn is_ignored(&self, path: &Path, is_directory: bool) -> bool {
        let verdicts = self.rules.iter().rev().map(|rules| rules.matched(path, is_directory));
        verdicts.into_iter().find(|verdict| !verdict.is_none()).is_some_and(|v| v.is_ignore())
    }
}

/// The depth of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// Only the directory itself.
    Top,
    /// The directory and everything below it.
    Tree,
}

/// Returns the theme files of a directory.
pub(super) fn theme_files(directory: &Path) -> Vec<PathBuf> {
    let (entries, _) = Scan::default().enter(directory);
    let is_theme = |entry: &Entry| !entry.is_directory && entry.name.ends_with(".json");
    entries.into_iter().filter(is_theme).map(|entry| entry.path).collect()
}

/// Returns the Markdown files of a directory.
pub(super) fn markdown_files(directory: &Path, depth: Depth) -> Vec<PathBuf> {
    fn collect(scan: &mut Scan, directory: &Path, depth: Depth, files: &mut Vec<PathBuf>) {
        let (entries, mark) = scan.enter(directory);
        for entry in entries {
            if entry.is_directory && depth == Depth::Tree {
                collect(scan, &entry.path, depth, files);
            } else if !entry.is_directory && entry.name.ends_with(".md") {
                files.push(entry.path);
            }
        }
        scan.leave(mark);
    }
    let mut files = Vec::new();
    collect(&mut Scan::default(), directory, depth, &mut files);
    files
}
