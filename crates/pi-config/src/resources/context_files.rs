//! Context files: `AGENTS.md` and similar instructions from the user's directory and from every
//! directory between the root and the working directory.

use std::fs;
use std::path::{Path, PathBuf};

use super::text;
use crate::{Diagnostic, Environment};

/// Names of context files. The first one that exists in a directory is used.
const NAMES: [&str; 5] = ["AGENTS.override.md", "AGENTS.md", "AGENTS.MD", "CLAUDE.md", "CLAUDE.MD"];

/// A file of instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContextFile {
    /// Path of the file.
    pub path: PathBuf,
    /// Text of the file.
    pub content: String,
}

/// Loads all context files, from general to specific.
pub(super) fn load(
    environment: &Environment,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<ContextFile> {
    let mut directories = vec![environment.agent_directory.as_path()];
    let ancestors: Vec<&Path> = environment.cwd.ancestors().collect();
    let above = ancestors.into_iter().rev();
    directories.extend(above.filter(|directory| *directory != environment.agent_directory));
    let mut files: Vec<ContextFile> =
        directories.into_iter().filter_map(|directory| find(directory, diagnostics)).collect();

    // A worktree inside of its own repository has copies of the repository's files. The copy at the
    // top of the worktree replaces the original.
    if let Some((main, worktree)) = nested_worktree(&environment.cwd) {
        let copy = files.iter().find(|file| file.path.parent() == Some(&worktree));
        if let Some(name) = copy.and_then(|file| file.path.file_name()) {
            let original = main.join(name);
            files.retain(|file| file.path != original);
        }
    }
    files
}

fn find(directory: &Path, diagnostics: &mut Vec<Diagnostic>) -> Option<ContextFile> {
    for name in NAMES {
        let path = directory.join(name);
        // A directory or a pipe of that name is not a context file.
        if !path.is_file() {
            continue;
        }
        return match text::read(&path, diagnostics) {
            Ok(content) => Some(ContextFile { path, content }),
            Err(error) => {
                let message =
                    format!("these instructions are ignored: {error}; make the file readable");
                diagnostics.push(Diagnostic::warning(path, message));
                None
            }
        };
    }
    None
}

/// Returns the main repository and the linked worktree inside of it that contain a directory.
fn nested_worktree(cwd: &Path) -> Option<(PathBuf, PathBuf)> {
    let worktree = repository_root(cwd)?;
    let link = fs::read_to_string(worktree.join(".git")).ok()?;
    let git_directory = worktree.join(link.strip_prefix("gitdir:")?.trim());
    let common = fs::read_to_string(git_directory.join("commondir")).ok()?;
    let common = fs::canonicalize(git_directory.join(common.trim())).ok()?;
    let main = common.parent()?;
    // The real path decides whether the worktree is inside; the result has the paths as given.
    let real = fs::canonicalize(worktree).ok()?;
    let levels = real.strip_prefix(main).ok()?.components().count();
    if levels == 0 {
        return None;
    }
    Some((worktree.ancestors().nth(levels)?.to_path_buf(), worktree.to_path_buf()))
}

/// Returns the nearest ancestor with a `.git`.
pub(super) fn repository_root(directory: &Path) -> Option<&Path> {
    directory.ancestors().find(|directory| directory.join(".git").exists())
}
