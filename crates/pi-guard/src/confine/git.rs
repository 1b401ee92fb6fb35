//! The other files that decide what `git` runs in a repository: included configuration, the
//! configured directory of hooks, and the repositories of submodules and work trees.
//!
//! Only existing paths can be protected: an empty file or directory in the place of a missing one
//! would break `git`. The configuration is untrusted input, so all reading is bounded.

pub(super) mod config;

use std::fs;
use std::path::{Path, PathBuf};

/// Limits on the size of a file, the number of files and repositories, and the depth of nesting.
const MOST_TEXT: u64 = 1 << 20;
const MOST_FILES: usize = 32;
const MOST_REPOSITORIES: usize = 256;
const DEEPEST: usize = 6;

/// Returns true if the directory is a repository itself, like a bare one or a `.git`.
pub(super) fn is_repository(directory: &Path) -> bool {
    directory.join("HEAD").is_file() && directory.join("objects").is_dir()
}

/// Returns the directories of the repository that `git` uses in `base`: that of its work tree, the
/// one that it shares, and `base` itself if it is a repository.
pub(super) fn directories(base: &Path) -> Vec<PathBuf> {
    let named = base.join(".git");
    let mut directories = Vec::new();
    if named.is_dir() {
        directories.push(named);
    } else if let Some(target) = small_text(&named)
        && let Some(target) = target.strip_prefix("gitdir:")
    {
        directories.extend(fs::canonicalize(base.join(target.trim())));
    }
    if is_repository(base) {
        directories.push(base.to_owned());
    }
    let shared = |directory: &PathBuf| {
        let text = small_text(&directory.join("commondir"))?;
        fs::canonicalize(directory.join(text.trim_end_matches(['\n', '\r']))).ok()
    };
    let shared: Vec<PathBuf> = directories.iter().filter_map(shared).collect();
    for directory in shared {
        if !directories.iter().any(|known| fs::canonicalize(known).is_ok_and(|k| k == directory)) {
            directories.push(directory);
        }
    }
    directories
}

fn small_text(file: &Path) -> Option<String> {
    let small = fs::metadata(file).is_ok_and(|file| file.is_file() && file.len() < MOST_TEXT);
    small.then(|| fs::read_to_string(file).ok()).flatten()
}

/// Files that lead `git` to another repository or to more settings, with a content that has no
/// effect: the repository shares its own directory.
const COVERS: [(&str, &str); 2] = [("commondir", ".\n"), ("config.worktree", "")];

/// Returns the files to cover in a repository: those that do not exist, but would decide what `git`
/// runs. A repository with a work tree elsewhere has none, since a shared one ignores that setting.
pub(super) fn covers(repository: &Path) -> Vec<(PathBuf, &'static str)> {
    let text = small_text(&repository.join("config")).unwrap_or_default();
    let (settings, complete) = config::parse(&text);
    let has = |name: &str, value: Option<&str>| {
        settings.iter().any(|setting| {
            format!("{}.{}", setting.section, setting.name) == name
                && value.is_none_or(|value| setting.value.eq_ignore_ascii_case(value))
        })
    };
    if !complete || !is_repository(repository) || has("core.worktree", None) {
        return Vec::new();
    }
    let needs = |name: &str| match name {
        "commondir" => !has("core.bare", Some("true")),
        _ => has("extensions.worktreeconfig", None),
    };
    let missing = COVERS.iter().filter(|(name, _)| needs(name));
    missing
        .map(|(name, text)| (repository.join(name), *text))
        .filter(|(path, text)| fs::symlink_metadata(path).is_err() || is_cover(path, text))
        .collect()
}

/// Returns true if a file is a cover: it has no effect on `git`.
fn is_cover(path: &Path, text: &str) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_file() && found.len() <= 2)
        && fs::read_to_string(path).is_ok_and(|found| found == text)
}

/// Returns true if a file has the name and the content of a cover.
pub(super) fn is_left_cover(path: &Path) -> bool {
    COVERS.iter().any(|(name, text)| path.ends_with(name) && is_cover(path, text))
}

/// Returns the paths to protect besides hooks and configuration of `repository`, a `.git`
/// directory. Some do not exist, and links may lead to them.
pub(super) fn used_paths(repository: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let Named { files, mut hooks, programs } = named_paths(repository, home);
    let mut found = [files, hooks.clone(), programs].concat();
    let mut left = MOST_REPOSITORIES;
    let before = found.len();
    submodules(&repository.join("modules"), DEEPEST, &mut left, &mut found);
    hooks.extend(found.iter().skip(before).filter(|path| path.ends_with("hooks")).cloned());
    found.extend(hooks.iter().flat_map(|hooks| linked_hooks(hooks)));
    for tree in children(&repository.join("worktrees")).take(MOST_REPOSITORIES) {
        found.extend(["commondir", "gitdir", "config.worktree"].map(|name| tree.join(name)));
    }
    found.extend(COVERS.map(|(name, _)| repository.join(name)));
    found.retain(|path| !is_left_cover(path));
    found
}

/// Returns the hooks in a directory that are links.
fn linked_hooks(directory: &Path) -> Vec<PathBuf> {
    let listed = fs::read_dir(directory).into_iter().flatten().flatten();
    let links = listed.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
    links.map(|entry| entry.path()).take(MOST_FILES).collect()
}

/// The paths that the configuration of a repository names, whether they exist or not.
#[derive(Default)]
pub(super) struct Named {
    /// Files with more settings.
    pub(super) files: Vec<PathBuf>,
    /// Directories of hooks.
    pub(super) hooks: Vec<PathBuf>,
    /// Programs that git runs: hooks that are links, and those of settings.
    pub(super) programs: Vec<PathBuf>,
}

/// The files with settings of the user and of the machine, in the home and absolute.
const GLOBAL: [&str; 2] = [".gitconfig", ".config/git/config"];
const SYSTEM: &str = "/etc/gitconfig";

/// Returns the paths that the configuration of `repository` names, and those that the configuration of
/// the user names for every repository.
pub(super) fn named_paths(repository: &Path, home: Option<&Path>) -> Named {
    let mut hooks = vec![repository.join("hooks")];
    let mut programs = Vec::new();
    let mut files = vec![repository.join("config")];
    files.extend(home.iter().flat_map(|home| GLOBAL.map(|name| home.join(name))));
    files.push(SYSTEM.into());
    let own = files.len();
    files.push(repository.join("config.worktree"));
    let mut at = 0;
    while at < MOST_FILES {
        let Some(file) = files.get(at).cloned() else { break };
        at += 1;
        let small = fs::metadata(&file).is_ok_and(|file| file.is_file() && file.len() < MOST_TEXT);
        let Some(bytes) = small.then(|| fs::read(&file).ok()).flatten() else { continue };
        for setting in config::parse(&String::from_utf8_lossy(&bytes)).0 {
            let from = |base: &Path, text: &str| match (text.strip_prefix("~/"), home) {
                (Some(rest), Some(home)) => home.join(rest),
                _ => base.join(text),
            };
            // Hooks and programs run in the top directory of the work tree.
            let top = repository.parent();
            match (setting.section.as_str(), setting.name.as_str()) {
                ("include" | "includeif", "path") => {
                    files.extend(file.parent().map(|base| from(base, &setting.value)));
                }
                ("core", "hookspath") => hooks.extend(top.map(|top| from(top, &setting.value))),
                _ => {
                    let words = config::words_of_program(&setting);
                    programs.extend(words.filter_map(|word| Some(from(top?, word))));
                }
            }
        }
    }
    files.drain(..own);
    programs.retain(|path| path.is_file());
    programs.extend(hooks.iter().flat_map(|hooks| linked_hooks(hooks)));
    hooks.remove(0);
    Named { files, hooks, programs }
}

/// Adds hooks and configuration of the repositories below `directory`, whose names may contain
/// slashes.
fn submodules(directory: &Path, depth: usize, left: &mut usize, found: &mut Vec<PathBuf>) {
    for child in children(directory) {
        if *left == 0 || depth == 0 {
            return;
        }
        *left -= 1;
        if child.join("HEAD").is_file() {
            found.extend(["hooks", "config", "config.worktree"].map(|name| child.join(name)));
            submodules(&child.join("modules"), depth - 1, left, found);
        } else {
            submodules(&child, depth - 1, left, found);
        }
    }
}

fn children(directory: &Path) -> impl Iterator<Item = PathBuf> {
    let listed = fs::read_dir(directory).into_iter().flatten().flatten();
    listed.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|e| e.path())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn included_files_hooks_submodules_and_work_trees_are_found() {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path();
        let files = [
            (
                ".git/config",
                "[core] ; a comment\n\thooksPath = .husky/_ # mine\n[include]\npath = ../one\n\
                 [includeIf \"gitdir:]x/\"]\n path=\"../tw\\\no\"\n[Include] Path = ~/three\n\
                 [other]\npath = ../four\n",
            ),
            ("one", "[include]\n\tpath = deeper/five\n"),
            ("two", ""),
            ("four", ""),
            ("deeper/five", "[include]\npath = ../one\n"),
            ("home/three", ""),
            (".husky/_/pre-commit", ""),
            (".git/modules/a/b/HEAD", ""),
            (".git/modules/a/b/config", ""),
            (".git/modules/a/b/hooks/x", ""),
            (".git/modules/a/b/modules/c/HEAD", ""),
            (".git/modules/a/b/modules/c/config", ""),
            (".git/worktrees/w/commondir", ""),
        ];
        for (name, text) in files {
            fs::create_dir_all(top.join(name).parent().unwrap()).unwrap();
            fs::write(top.join(name), text).unwrap();
        }
        let found = used_paths(&top.join(".git"), Some(&top.join("home")));
        let top = fs::canonicalize(top).unwrap();
        let mut names: Vec<String> = found
            .iter()
            .filter_map(|path| fs::canonicalize(path).ok())
            .map(|path| path.strip_prefix(&top).unwrap().display().to_string())
            .collect();
        names.sort();
        names.dedup();
        let expected = [
            ".git/modules/a/b/config",
            ".git/modules/a/b/hooks",
            ".git/modules/a/b/modules/c/config",
            ".git/worktrees/w/commondir",
            ".husky/_",
            "deeper/five",
            "home/three",
            "one",
            "two",
        ];
        assert_eq!(names, expected);
    }
}
