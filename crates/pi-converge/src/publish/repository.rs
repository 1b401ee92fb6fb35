//! The facts of a git repository that a publication needs, read as text before the agent starts.
//!
//! Git is not started in the repository: its configuration can name programs, and the agent may
//! have written it. What the agent does to branches and remotes later changes nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::config;
use super::remote::RemoteUrl;

/// Number of symbolic references that are followed.
const MOST_LINKS: usize = 5;

/// The repository of a workspace at the start of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Repository {
    /// Top directory of the working tree.
    pub(super) top: PathBuf,
    /// Directory that all working trees share: objects, configuration, branches.
    common: PathBuf,
    /// The workspace, relative to the top directory, with slashes; empty for the top itself.
    pub(super) prefix: String,
    /// The commit that the run starts from. It is not resolved if it is an abbreviation.
    pub(crate) commit: Option<String>,
    /// The branch of the working tree.
    pub(super) branch: Option<String>,
    /// Remotes with an address that can be used.
    pub(super) remotes: BTreeMap<String, RemoteUrl>,
}

impl Repository {
    /// Reads the repository that contains a directory; `None` without one. `base` is the commit of
    /// a worktree instead of `HEAD`.
    pub(crate) fn read(directory: &Path, base: Option<&str>) -> Option<Self> {
        let directory = directory.canonicalize().ok()?;
        let top = directory.ancestors().find(|above| above.join(".git").exists())?;
        let own = git_directory(top)?;
        let common = match fs::read_to_string(own.join("commondir")) {
            Ok(text) => own.join(text.trim()).canonicalize().ok()?,
            Err(_) => own.clone(),
        };
        let references = References { own: &own, common: &common };
        let head = fs::read_to_string(own.join("HEAD")).unwrap_or_default();
        let branch = head.trim().strip_prefix("ref: refs/heads/");
        let config = fs::read_to_string(common.join("config")).unwrap_or_default();
        let remotes = config::remotes(&config).into_iter();
        let remotes = remotes.filter_map(|(name, url)| Some((name, RemoteUrl::parse(&url)?)));
        let parts = directory.strip_prefix(top).ok()?.components().map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        });
        let prefix: Option<Vec<&str>> = parts.collect();
        Some(Self {
            prefix: prefix?.join("/"),
            commit: references.commit(base.unwrap_or("HEAD")),
            branch: branch.map(str::to_owned),
            remotes: remotes.collect(),
            top: top.to_owned(),
            common: common.clone(),
        })
    }

    /// Returns the directory of the objects.
    pub(super) fn objects(&self) -> PathBuf {
        self.common.join("objects")
    }

    /// Returns the commits at which the history of a shallow clone ends, one per line.
    pub(super) fn shallow(&self) -> Option<String> {
        let text = fs::read_to_string(self.common.join("shallow")).ok()?;
        let ids = text.lines().filter(|line| is_id(line));
        Some(ids.map(|id| format!("{id}\n")).collect())
    }
}

/// Returns the git directory of a working tree: `.git`, or what the file `.git` names.
fn git_directory(top: &Path) -> Option<PathBuf> {
    let path = top.join(".git");
    if path.is_dir() {
        return path.canonicalize().ok();
    }
    let text = fs::read_to_string(&path).ok()?;
    top.join(text.trim().strip_prefix("gitdir:")?.trim()).canonicalize().ok()
}

/// The references of a repository.
struct References<'a> {
    own: &'a Path,
    common: &'a Path,
}

impl References<'_> {
    /// Returns the commit that a name stands for: an id, a branch, a tag or a remote branch.
    fn commit(&self, name: &str) -> Option<String> {
        if is_id(name) {
            return Some(name.to_owned());
        }
        let places = ["", "refs/", "refs/tags/", "refs/heads/", "refs/remotes/"];
        let found = places.iter().find_map(|place| self.read(&format!("{place}{name}")));
        // An abbreviated id is resolved by git, which then reads nothing but objects.
        let is_part = name.len() >= 4 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        found.or_else(|| is_part.then(|| name.to_owned()))
    }

    fn read(&self, name: &str) -> Option<String> {
        let mut name = name.to_owned();
        for _ in 0..MOST_LINKS {
            if name.split('/').any(|part| part.is_empty() || part == "..") {
                return None;
            }
            let loose = fs::read_to_string(self.own.join(&name));
            let loose = loose.or_else(|_| fs::read_to_string(self.common.join(&name)));
            let Ok(text) = loose else { return self.packed(&name) };
            match text.trim().strip_prefix("ref: ") {
                Some(target) => name = target.to_owned(),
                None => return Some(text.trim().to_owned()).filter(|id| is_id(id)),
            }
        }
        None
    }

    fn packed(&self, name: &str) -> Option<String> {
        let text = fs::read_to_string(self.common.join("packed-refs")).ok()?;
        let lines = text.lines().filter_map(|line| line.split_once(' '));
        let found = lines.into_iter().find(|(id, found)| *found == name && is_id(id));
        found.map(|(id, _)| id.to_owned())
    }
}

/// Returns true for the id of an object, SHA-1 or SHA-256.
pub(super) fn is_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn facts_are_read_without_git() {
        let temporary = tempfile::tempdir().unwrap();
        let top = temporary.path().canonicalize().unwrap();
        let git = top.join("main/.git");
        let (one, two, three) = ("1".repeat(40), "2".repeat(40), "3".repeat(40));
        write(&git.join("HEAD"), "ref: refs/heads/feature/x\n");
        write(&git.join("refs/heads/feature/x"), &format!("{one}\n"));
        write(&git.join("packed-refs"), &format!("# pack\n{two} refs/tags/v1\n^{three}\n"));
        write(
            &git.join("config"),
            "[remote \"origin\"]\nurl = git@github.com:a/b.git\n[remote \"local\"]\nurl = /x\n",
        );
        write(&git.join("shallow"), &format!("{three}\nnonsense\n"));
        fs::create_dir_all(top.join("main/a/b")).unwrap();
        // A worktree of the repository.
        let own = git.join("worktrees/w");
        write(&own.join("HEAD"), &format!("{two}\n"));
        write(&own.join("commondir"), "../..\n");
        write(&top.join("w/.git"), &format!("gitdir: {}\n", own.display()));

        let read = |path: &str, base| Repository::read(&top.join(path), base);
        let found = read("main/a/b", None).unwrap();
        assert_eq!(
            (found.commit.as_ref(), found.branch.as_deref()),
            (Some(&one), Some("feature/x"))
        );
        assert_eq!((found.prefix.as_str(), &found.top), ("a/b", &top.join("main")));
        assert_eq!(found.remotes.keys().collect::<Vec<_>>(), ["origin"]);
        assert_eq!(found.shallow(), Some(format!("{three}\n")));
        let worktree = read("w", None).unwrap();
        assert_eq!((worktree.commit.as_ref(), worktree.branch.as_deref()), (Some(&two), None));
        assert_eq!(worktree.objects(), git.join("objects"));
        let bases = [
            ("v1", Some(two.as_str())),
            ("feature/x", Some(&one)),
            ("none", None),
            ("abcd12", Some("abcd12")),
            ("../config", None),
            ("HEAD~1", None),
        ];
        for (base, expected) in bases {
            let found = read("main", Some(base)).unwrap();
            assert_eq!(found.commit.as_deref(), expected, "{base}");
        }
        assert_eq!(read("", None), None);
    }
}
