//! Instructions that apply wherever the agent works: `AGENTS.md` and its relatives, from the
//! user's directory and from every directory between the root and the working directory.

use std::fs;
use std::path::{Path, PathBuf};

use super::text;
use crate::{Diagnostic, Environment};

/// The first that a directory has is its context file.
const NAMES: [&str; 5] = ["AGENTS.override.md", "AGENTS.md", "AGENTS.MD", "CLAUDE.md", "CLAUDE.MD"];

/// One file of instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextFile {
    /// Where it is.
    pub path: PathBuf,
    /// What it says.
    pub content: String,
}

/// All of them, the most general first.
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

    // A worktree inside its own repository has copies of the repository's files: the copy at its
    // top speaks for both.
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
        // Something else of that name, a directory or a pipe, is not what we look for.
        if !path.is_file() {
            continue;
        }
        return match text::read(&path, diagnostics) {
            Ok(content) => Some(ContextFile { path, content }),
            Err(error) => {
                let message = format!("these instructions are not used: {error}; make it readable");
                diagnostics.push(Diagnostic::warning(path, message));
                None
            }
        };
    }
    None
}

/// The main repository and the linked worktree within it that a directory belongs to.
fn nested_worktree(cwd: &Path) -> Option<(PathBuf, PathBuf)> {
    let worktree = repository_root(cwd)?;
    let link = fs::read_to_string(worktree.join(".git")).ok()?;
    let git_directory = worktree.join(link.strip_prefix("gitdir:")?.trim());
    let common = fs::read_to_string(git_directory.join("commondir")).ok()?;
    let common = fs::canonicalize(git_directory.join(common.trim())).ok()?;
    let main = common.parent()?;
    // The real place decides whether it is inside; the name it is known by here is what we drop.
    let real = fs::canonicalize(worktree).ok()?;
    let levels = real.strip_prefix(main).ok()?.components().count();
    let main = worktree.ancestors().nth(levels).filter(|_| levels > 0)?;
    Some((main.to_path_buf(), worktree.to_path_buf()))
}

/// The nearest directory with a `.git`, from a directory up.
pub(super) fn repository_root(directory: &Path) -> Option<&Path> {
    directory.ancestors().find(|directory| directory.join(".git").exists())
}
