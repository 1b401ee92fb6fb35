//! Directories of resources, walked: in the order of names, without what ignore files name, and
//! through symbolic links but never in circles.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// Files that say what to leave out, here and below.
const IGNORE_FILES: [&str; 3] = [".gitignore", ".ignore", ".fdignore"];

/// What makes two paths the same file: one look at it, where the system numbers its files.
#[cfg(unix)]
pub(super) type Identity = (u64, u64);
#[cfg(not(unix))]
pub(super) type Identity = PathBuf;

/// The file behind a path, through links.
pub(super) fn identity(path: &Path) -> Option<Identity> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        fs::metadata(path).ok().map(|data| (data.dev(), data.ino()))
    }
    #[cfg(not(unix))]
    fs::canonicalize(path).ok()
}

/// One step of a walk.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) path: PathBuf,
    pub(super) name: String,
    pub(super) is_directory: bool,
}

/// The state of one walk, from a root down.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// One per directory on the way down that has ignore files.
    rules: Vec<Gitignore>,
    /// The directories that were walked: links that lead back to one end here.
    seen: HashSet<Identity>,
}

impl Scan {
    /// The visible entries of a directory, or none if it cannot be read or was walked before.
    /// Whoever goes down into them calls [`Scan::leave`] with the answer's mark afterwards.
    pub(super) fn enter(&mut self, directory: &Path) -> (Vec<Entry>, usize) {
        let mark = self.rules.len();
        let fresh = identity(directory).is_some_and(|real| self.seen.insert(real));
        let Some(listing) = fresh.then(|| fs::read_dir(directory).ok()).flatten() else {
            return (Vec::new(), mark);
        };
        let mut entries = Vec::new();
        let mut ignores = Vec::new();
        for entry in listing.flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            if IGNORE_FILES.contains(&name.as_str()) {
                ignores.push(entry.path());
            } else if !name.starts_with('.') && name != "node_modules" {
                let Ok(mut kind) = entry.file_type() else { continue };
                let path = entry.path();
                // Only links cost a second look.
                if kind.is_symlink() {
                    let Ok(target) = fs::metadata(&path) else { continue };
                    kind = target.file_type();
                }
                // Reading a pipe would wait for its writer.
                if kind.is_dir() || kind.is_file() {
                    entries.push(Entry { path, name, is_directory: kind.is_dir() });
                }
            }
        }
        if !ignores.is_empty() {
            ignores.sort_by_key(|path| IGNORE_FILES.iter().position(|name| path.ends_with(name)));
            let mut builder = GitignoreBuilder::new(directory);
            for path in ignores {
                // A line that is no pattern is skipped, as git does.
                builder.add(path);
            }
            self.rules.extend(builder.build());
        }
        entries.retain(|entry| !self.is_ignored(&entry.path, entry.is_directory));
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        (entries, mark)
    }

    /// Back to where [`Scan::enter`] was called.
    pub(super) fn leave(&mut self, mark: usize) {
        self.rules.truncate(mark);
    }

    /// The nearest rule that says something decides.
    fn is_ignored(&self, path: &Path, is_directory: bool) -> bool {
        let verdicts = self.rules.iter().rev().map(|rules| rules.matched(path, is_directory));
        verdicts.into_iter().find(|verdict| !verdict.is_none()).is_some_and(|v| v.is_ignore())
    }
}

/// The Markdown files of a directory, and of those below it if asked.
pub(super) fn markdown_files(directory: &Path, below: bool) -> Vec<PathBuf> {
    fn collect(scan: &mut Scan, directory: &Path, below: bool, files: &mut Vec<PathBuf>) {
        let (entries, mark) = scan.enter(directory);
        for entry in entries {
            if entry.is_directory && below {
                collect(scan, &entry.path, below, files);
            } else if !entry.is_directory && entry.name.ends_with(".md") {
                files.push(entry.path);
            }
        }
        scan.leave(mark);
    }
    let mut files = Vec::new();
    collect(&mut Scan::default(), directory, below, &mut files);
    files
}
