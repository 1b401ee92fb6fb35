//! A copy of what a search needs, for executors whose files this process cannot reach.
//!
//! First there is a skeleton: every directory, file and link below the place to search, empty, and
//! the files that say what is ignored, with their contents, also those above it. Which files count
//! is then decided by the same walk as on this machine, and only their contents are fetched. So the
//! results are the same by construction. The copy disappears with the search.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use pi_agent::ToolError;
use tempfile::TempDir;

use crate::executor::{Executor, FileKind, TreeEntry};
use crate::truncate::format_size;

/// How many files and directories are copied.
const MAX_FILES: usize = 200_000;
/// Bytes of files that are copied.
const MAX_BYTES: usize = 256 * 1024 * 1024;
/// The files that say what is ignored.
const IGNORE_FILES: &[&str] = &[".gitignore", ".ignore", ".rgignore", ".fdignore"];
/// The same, of a repository.
const EXCLUDE: &str = ".git/info/exclude";

/// The copy of a part of an executor's files.
#[derive(Debug)]
pub(crate) struct Mirror {
    directory: TempDir,
    /// The place to search, without links.
    real: PathBuf,
    /// What could not be read there, as paths of this machine.
    unreadable: HashSet<PathBuf>,
}

impl Mirror {
    /// A copy of a file, or the skeleton of a directory.
    pub(crate) async fn new(
        executor: &dyn Executor,
        path: &Path,
        kind: FileKind,
    ) -> Result<Self, ToolError> {
        let failed = |error: io::Error| failed(&error, path);
        let real = executor.canonical(path).await.map_err(failed)?;
        let directory = tempfile::Builder::new().prefix("pi-search-").tempdir().map_err(failed)?;
        check_above(directory.path())?;
        let mut mirror = Self { directory, real, unreadable: HashSet::new() };
        if kind == FileKind::Directory {
            mirror.copy_skeleton(executor).await.map_err(failed)?;
        } else {
            let place = mirror.place(&mirror.real.clone());
            let parent = place.parent().unwrap_or(&place);
            fs::create_dir_all(parent).and_then(|()| fs::write(&place, "")).map_err(failed)?;
        }
        mirror.link(path).map_err(failed)?;
        Ok(mirror)
    }

    /// Where a path of the executor is in the copy.
    pub(crate) fn place(&self, path: &Path) -> PathBuf {
        self.directory.path().join(path.strip_prefix("/").unwrap_or(path))
    }

    /// Where the copy begins.
    pub(crate) fn root(&self) -> &Path {
        self.directory.path()
    }

    /// Whether a file or directory was there and could not be read.
    pub(crate) fn is_unreadable(&self, place: &Path) -> bool {
        self.unreadable.contains(place)
    }

    /// Fetches the contents of files, given as paths seen from the place to search; the place
    /// itself is the empty path.
    pub(crate) async fn fill(
        &mut self,
        executor: &dyn Executor,
        files: &[PathBuf],
        start: &Path,
    ) -> Result<(), ToolError> {
        let real = |file: &PathBuf| match file.as_os_str().is_empty() {
            true => self.real.clone(),
            false => self.real.join(file),
        };
        let paths: Vec<PathBuf> = files.iter().map(real).collect();
        let contents = executor.read_many(&paths, MAX_BYTES as u64).await;
        let contents = contents.map_err(|error| failed(&error, &self.real))?;
        for (file, (path, content)) in files.iter().zip(paths.iter().zip(contents)) {
            match content {
                Ok(content) => {
                    fs::write(self.place(path), content).map_err(|error| failed(&error, path))?;
                }
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {
                    return Err(failed(&error, path));
                }
                Err(_) => drop(self.unreadable.insert(start.join(file))),
            }
        }
        Ok(())
    }

    async fn copy_skeleton(&mut self, executor: &dyn Executor) -> io::Result<()> {
        let mut found = executor.tree(&self.real, MAX_FILES).await?;
        found.iter_mut().for_each(|found| found.path = self.real.join(&found.path));
        let mut ignore_files = Vec::new();
        for above in self.real.ancestors().skip(1) {
            found.extend(self.above(executor, above, &mut ignore_files).await);
        }
        let says = |found: &&TreeEntry| says_what_is_ignored(&found.path);
        ignore_files.extend(found.iter().filter(says).map(|found| found.path.clone()));
        let contents = executor.read_many(&ignore_files, MAX_BYTES as u64).await?;
        fs::create_dir_all(self.place(&self.real))?;
        for found in &found {
            let place = self.place(&found.path);
            match found.kind {
                FileKind::Directory => fs::create_dir_all(&place)?,
                FileKind::File => fs::write(&place, "")?,
                FileKind::Link | FileKind::Other => link_to_nothing(&place)?,
            }
            if !found.readable {
                self.unreadable.insert(place);
            }
        }
        for (number, (path, content)) in ignore_files.iter().zip(contents).enumerate() {
            let Ok(content) = content else { continue };
            let place = self.place(path);
            if place.is_symlink() {
                // It stays a link: links are not searched, but what they lead to is obeyed.
                let aside = self.directory.path().join(format!("\u{1}{number}"));
                fs::write(&aside, content)?;
                fs::remove_file(&place)?;
                symlink(&aside, &place)?;
            } else {
                fs::create_dir_all(place.parent().unwrap_or(&place))?;
                fs::write(&place, content)?;
            }
        }
        Ok(())
    }

    /// What counts of a directory above the place to search.
    async fn above(
        &self,
        executor: &dyn Executor,
        directory: &Path,
        ignore_files: &mut Vec<PathBuf>,
    ) -> Vec<TreeEntry> {
        // One that may not be listed has nothing to say on this machine either.
        let entries = executor.list(directory).await.unwrap_or_default();
        let mut found = Vec::new();
        for entry in entries {
            let path = directory.join(&entry.name);
            if entry.name == ".git" {
                ignore_files.push(directory.join(EXCLUDE));
            } else if !IGNORE_FILES.contains(&entry.name.as_str()) {
                continue;
            }
            found.push(TreeEntry { path, kind: entry.kind, readable: true });
        }
        found
    }

    /// Makes the place to be found under the name that it was asked for.
    fn link(&self, path: &Path) -> io::Result<()> {
        let place = self.place(path);
        if path == self.real || place.exists() {
            return Ok(());
        }
        fs::create_dir_all(place.parent().unwrap_or(&place))?;
        symlink(&self.place(&self.real), &place)
    }
}

fn says_what_is_ignored(path: &Path) -> bool {
    let is_named = |name: &std::ffi::OsStr| IGNORE_FILES.iter().any(|file| name == *file);
    path.file_name().is_some_and(is_named) || path.ends_with(EXCLUDE)
}

/// A walk also obeys what is above the copy, on this machine; there must be nothing.
fn check_above(directory: &Path) -> Result<(), ToolError> {
    for above in directory.ancestors().skip(1) {
        let named = IGNORE_FILES.iter().chain(&[".git"]).find(|name| above.join(name).exists());
        if let Some(name) = named {
            return Err(ToolError::new(format!(
                "Cannot search: the temporary directory is below {}, which contains {name}",
                above.display()
            )));
        }
    }
    Ok(())
}

fn failed(error: &io::Error, path: &Path) -> ToolError {
    let path = path.display();
    if error.kind() == io::ErrorKind::FileTooLarge {
        return ToolError::new(format!(
            "Cannot search {path}: it contains more than {MAX_FILES} files, or more than {} to search. Search a smaller directory, or run grep or find with bash.",
            format_size(MAX_BYTES)
        ));
    }
    ToolError::new(format!("Cannot search {path}: {error}"))
}

fn link_to_nothing(place: &Path) -> io::Result<()> {
    symlink(Path::new("\u{1}"), place)
}

#[cfg(unix)]
fn symlink(to: &Path, place: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(to, place)
}

#[cfg(not(unix))]
fn symlink(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
