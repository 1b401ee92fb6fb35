//! Files of other agents, editors and shells in the workspace: what they name runs without a
//! question, as soon as the user works in the directory with that program.
//!
//! In a run that no one watches, those that exist are read-only. Those that a command creates are
//! renamed after it, because a cover for each of them would be seen by every program that lists the
//! directory.

use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};

use super::roots;
use crate::protected::{Protection, in_project};

/// The end of the names of files that were renamed.
const DISABLED: &str = ".disabled-by-pi";
/// Attempts to find a free name with a short number; the next ones are random.
const SHORT_NAMES: usize = 8;
/// Most names that are tried.
const MOST_NAMES: usize = 64;

/// The reason in refusals and notes.
const REASON: &str = "other programs run what it names without a question";

/// The paths of such files in the writable directories.
#[derive(Debug, Default)]
pub struct AgentFiles {
    files: Vec<AgentFile>,
    /// A sentence about what the user can do.
    advice: &'static str,
}

#[derive(Debug)]
struct AgentFile {
    path: PathBuf,
    before: Before,
}

/// What was at a path before the first command.
#[derive(Debug, PartialEq, Eq)]
enum Before {
    Nothing,
    /// A link with this target. The target is protected, the link cannot be.
    Link(PathBuf),
    /// A file or directory, which is protected.
    Present,
}

impl AgentFiles {
    /// Looks for the files in these directories. Refusals and notes end with the `advice`.
    pub fn find<'a>(roots: impl IntoIterator<Item = &'a Path>, advice: &'static str) -> Self {
        let roots = roots.into_iter().filter_map(|root| roots::real(root).ok());
        let named = |root: PathBuf| in_project(Protection::RunByOthers).map(move |n| root.join(n));
        let files = roots.flat_map(named).map(|path| {
            let before = match fs::symlink_metadata(&path) {
                Err(_) => Before::Nothing,
                Ok(found) if found.is_symlink() => {
                    Before::Link(fs::read_link(&path).unwrap_or_default())
                }
                Ok(_) => Before::Present,
            };
            AgentFile { path, before }
        });
        Self { files: files.collect(), advice }
    }

    /// Returns the real paths that stay read-only.
    pub fn protected(&self) -> impl Iterator<Item = PathBuf> {
        let existing = self.files.iter().filter(|file| file.before != Before::Nothing);
        existing.filter_map(|file| fs::canonicalize(&file.path).ok())
    }

    /// Returns the rule that forbids a tool to write a path.
    pub fn rule(&self, path: &Path) -> Option<String> {
        let file = self.files.iter().find(|file| path.starts_with(&file.path))?;
        Some(format!("{} is protected: {REASON}. {}", file.path.display(), self.advice))
    }

    /// Renames the files that appeared. Returns a note for each.
    pub fn disable_new(&self) -> Vec<String> {
        let is_new = |file: &&AgentFile| match &file.before {
            Before::Present => false,
            Before::Nothing => fs::symlink_metadata(&file.path).is_ok(),
            Before::Link(target) => {
                fs::symlink_metadata(&file.path).is_ok()
                    && fs::read_link(&file.path).ok().as_ref() != Some(target)
            }
        };
        let disable = |file: &AgentFile| {
            let path = file.path.display();
            match disable(&file.path) {
                Ok(new) => {
                    format!("{path} was renamed to {}: {REASON}. {}.", new.display(), self.advice)
                }
                Err(error) => format!(
                    "{path} was created and could not be renamed: {error}. Remove it: {REASON}. {}.",
                    self.advice
                ),
            }
        };
        self.files.iter().filter(is_new).map(disable).collect()
    }
}

/// Gives a file or directory another name.
fn disable(path: &Path) -> io::Result<PathBuf> {
    match rename(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            // A command can take the right from the directory, which belongs to the user.
            make_writable(path.parent().unwrap_or(path))?;
            rename(path)
        }
        renamed => renamed,
    }
}

fn rename(path: &Path) -> io::Result<PathBuf> {
    let mut name = path.as_os_str().to_owned();
    name.push(DISABLED);
    for number in 1..=MOST_NAMES {
        let mut new = name.clone();
        match number {
            1 => {}
            2..SHORT_NAMES => new.push(format!("-{number}")),
            // Commands can take names in advance, but not random ones.
            _ => new.push(format!("-{:016x}", RandomState::new().build_hasher().finish())),
        }
        let new = PathBuf::from(new);
        if fs::symlink_metadata(&new).is_ok() {
            continue;
        }
        match fs::rename(path, &new) {
            // Another process was faster.
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
            renamed => return renamed.map(|()| new),
        }
    }
    Err(io::Error::other("too many files have the name that it would get"))
}

#[cfg(unix)]
fn make_writable(directory: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = fs::metadata(directory)?.permissions().mode();
    fs::set_permissions(directory, fs::Permissions::from_mode(mode | 0o700))
}

#[cfg(not(unix))]
fn make_writable(_: &Path) -> io::Result<()> {
    Ok(())
}
