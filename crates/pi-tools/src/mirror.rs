//! A local copy of the files that a search needs, for executors whose files this process cannot
//! reach.
//!
//! The copy starts as a skeleton: every directory, file and link below the search root, without
//! content, and the ignore files with their content, including those above the root. The same walk
//! as on this machine then selects the files, and only their contents are fetched. So the results
//! are the same by construction. The copy is removed after the search.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use pi_agent::ToolError;
use tempfile::TempDir;

use crate::executor::{Executor, FileKind, TreeEntry};
use crate::truncate::format_size;

/// Maximum number of copied files and directories.
const MAX_FILES: usize = 200_000;
/// Maximum size of all copied contents.
const MAX_BYTES: usize = 256 * 1024 * 1024;
/// Files with patterns of ignored files.
const IGNORE_FILES: &[&str] = &[".gitignore", ".ignore", ".rgignore", ".fdignore"];
/// File with patterns of ignored files in a repository.
const EXCLUDE: &str = ".git/info/exclude";

/// A partial copy of the files of an executor.
#[derive(Debug)]
pub(crate) struct Mirror {
    directory: TempDir,
    /// Canonical path of the search root on the executor.
    real: PathBuf,
    /// Local paths of files and directories that could not be read.
    unreadable: HashSet<PathBuf>,
}

impl Mirror {
    /// Copies a file, or the skeleton of a directory.
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
            let local = mirror.local_path(&mirror.real.clone());
            let parent = local.parent().unwrap_or(&local);
            fs::create_dir_all(parent).and_then(|()| fs::write(&local, "")).map_err(failed)?;
        }
        mirror.link(path).map_err(failed)?;
        Ok(mirror)
    }

    /// Returns the local path of a path of the executor.
    pub(crate) fn local_path(&self, path: &Path) -> PathBuf {
        self.directory.path().join(path.strip_prefix("/").unwrap_or(path))
    }

    /// Returns the root directory of the copy.
    pub(crate) fn root(&self) -> &Path {
        self.directory.path()
    }

    /// Returns true if a file or directory could not be read.
    pub(crate) fn is_unreadable(&self, local: &Path) -> bool {
        self.unreadable.contains(local)
    }

    /// Fetches the contents of files, given relative to the search root; the root itself is the
    /// empty path.
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
                    fs::write(self.local_path(path), content)
                        .map_err(|error| failed(&error, path))?;
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
        let is_ignore_file = |found: &&TreeEntry| is_ignore_file(&found.path);
        ignore_files.extend(found.iter().filter(is_ignore_file).map(|found| found.path.clone()));
        let contents = executor.read_many(&ignore_files, MAX_BYTES as u64).await?;
        fs::create_dir_all(self.local_path(&self.real))?;
        for found in &found {
            let local = self.local_path(&found.path);
            match found.kind {
                FileKind::Directory => fs::create_dir_all(&local)?,
                FileKind::File => fs::write(&local, "")?,
                FileKind::Link | FileKind::Other => dangling_link(&local)?,
            }
            if !found.readable {
                self.unreadable.insert(local);
            }
        }
        for (number, (path, content)) in ignore_files.iter().zip(contents).enumerate() {
            let Ok(content) = content else { continue };
            let local = self.local_path(path);
            if local.is_symlink() {
                // Links are not searched, so it stays a link; but its content has an effect.
                let aside = self.directory.path().join(format!("\u{1}{number}"));
                fs::write(&aside, content)?;
                fs::remove_file(&local)?;
                symlink(&aside, &local)?;
            } else {
                fs::create_dir_all(local.parent().unwrap_or(&local))?;
                fs::write(&local, content)?;
            }
        }
        Ok(())
    }

    /// Returns the ignore files of a directory above the search root.
    async fn above(
        &self,
        executor: &dyn Executor,
        directory: &Path,
        ignore_files: &mut Vec<PathBuf>,
    ) -> Vec<TreeEntry> {
        // A directory that cannot be listed has no effect on this machine either.
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

    /// Makes the search root available under the path that the call named.
    fn link(&self, path: &Path) -> io::Result<()> {
        let local = self.local_path(path);
        if path == self.real || local.exists() {
            return Ok(());
        }
        fs::create_dir_all(local.parent().unwrap_or(&local))?;
        symlink(&self.local_path(&self.real), &local)
    }
}

fn is_ignore_file(path: &Path) -> bool {
    let is_named = |name: &std::ffi::OsStr| IGNORE_FILES.iter().any(|file| name == *file);
    path.file_name().is_some_and(is_named) || path.ends_with(EXCLUDE)
}

/// Refuses a temporary directory below ignore files of this machine: the walk would apply them.
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

fn dangling_link(local: &Path) -> io::Result<()> {
    symlink(Path::new("\u{1}"), local)
}

#[cfg(unix)]
fn symlink(to: &Path, local: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(to, local)
}

#[cfg(not(unix))]
fn symlink(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
