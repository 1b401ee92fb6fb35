//! The writable roots of a confinement, and the parts of them that can be written.
//!
//! This module only looks at the file system. What it saw still holds when it is used, because a
//! confined command cannot change it and other processes are trusted.

mod plan;

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::ConfineError;
#[cfg(target_os = "linux")]
use super::Confinement;

pub(super) use plan::{START_UP, plan};

/// A writable root with its protected paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Root {
    /// The real path of the root.
    pub path: PathBuf,
    /// Protected paths that exist.
    pub present: Vec<PathBuf>,
    /// Protected paths that do not exist and must not be created. A directory can cover these.
    pub missing: Vec<PathBuf>,
    /// Protected files that do not exist and that nothing can cover, because an empty file would
    /// do harm. Nothing at all can be created beside them.
    pub absent: Vec<PathBuf>,
    /// Those of the protected paths that must not change for a moment, so that restoring them after
    /// a command is not enough.
    pub sealed: Vec<PathBuf>,
    /// Files that do not exist and would decide what `git` runs, with a content that has no effect.
    pub covers: Vec<(PathBuf, &'static str)>,
    /// Links on the way to protected paths. A mount would hold their targets, and not the links: they
    /// are restored after a command.
    pub links: Vec<PathBuf>,
}

impl Root {
    /// All protected paths.
    pub(super) fn protected(&self) -> impl Iterator<Item = &PathBuf> {
        self.present.iter().chain(&self.missing).chain(&self.absent)
    }

    /// The directories between the root and a protected path or one of `others`, without the root.
    #[cfg(target_os = "linux")]
    pub(super) fn ways(&self, others: &[PathBuf]) -> Vec<PathBuf> {
        let mut ways: Vec<PathBuf> = self
            .protected()
            .chain(others)
            .flat_map(|path| path.ancestors().skip(1))
            .filter(|way| way.starts_with(&self.path) && *way != self.path)
            .map(Path::to_owned)
            .collect();
        ways.sort();
        ways.dedup();
        ways
    }

    /// The paths to make writable if mounts protect the rest: the root, or, if protected files are
    /// absent, the paths beside them. Landlock gets these where possible, because a home may have
    /// more files than bubblewrap accepts mounts.
    pub(super) fn beside_absent(&self) -> Vec<PathBuf> {
        let absent: Vec<&Path> = self.absent.iter().map(PathBuf::as_path).collect();
        without(&self.path, &absent)
    }

    /// The missing paths that a command could create, so that they must be covered.
    pub(super) fn covered(&self) -> Vec<PathBuf> {
        let writable = self.beside_absent();
        let could = |path: &&PathBuf| writable.iter().any(|writable| path.starts_with(writable));
        self.missing.iter().filter(could).cloned().collect()
    }

    /// The protected paths that can be restored after a command: with mounts, only links.
    #[cfg(target_os = "linux")]
    pub(super) fn restorable(&self, has_mounts: bool) -> impl Iterator<Item = &PathBuf> {
        let all = self.present.iter().chain(&self.missing).filter(move |_| !has_mounts);
        all.chain(&self.links).filter(|path| {
            !self.sealed.iter().any(|sealed| sealed.starts_with(path) || path.starts_with(sealed))
        })
    }

    /// The paths to make writable if nothing else protects the rest: the root if nothing in it is
    /// protected, else those of its children, and so on. Paths created later are not included.
    /// The `restored` paths are protected by other means.
    #[cfg(any(target_os = "linux", test))]
    pub(super) fn narrow(&self, restored: &[PathBuf]) -> Vec<PathBuf> {
        let left = self.protected().filter(|path| !restored.contains(path));
        let protected: Vec<&Path> = left.map(PathBuf::as_path).collect();
        without(&self.path, &protected)
    }
}

/// Returns everything below `path` except the `excluded` paths, as few paths as possible.
pub(super) fn without(path: &Path, excluded: &[&Path]) -> Vec<PathBuf> {
    if excluded.iter().any(|excluded| path.starts_with(excluded)) {
        return Vec::new();
    }
    if !excluded.iter().any(|excluded| excluded.starts_with(path)) {
        return vec![path.to_owned()];
    }
    let mut rest = Vec::new();
    // A directory that cannot be listed is left out.
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        // A link would stand for its target.
        if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
            rest.extend(without(&entry.path(), excluded));
        }
    }
    rest
}

/// Returns the real path of a root, which must be a directory and not one of the system.
pub(super) fn real(path: &Path) -> Result<PathBuf, ConfineError> {
    let fail = |source| ConfineError::InvalidRoot { path: path.to_owned(), source };
    let real = fs::canonicalize(path).map_err(fail)?;
    if !fs::metadata(&real).map_err(fail)?.is_dir() {
        return Err(fail(io::Error::from(io::ErrorKind::NotADirectory)));
    }
    if real.to_str().is_none() {
        return Err(fail(io::Error::new(io::ErrorKind::InvalidInput, "the path is not UTF-8")));
    }
    const SYSTEM: [&str; 8] = ["/", "/dev", "/etc", "/proc", "/run", "/sys", "/usr", "/var"];
    if SYSTEM.iter().any(|system| real == Path::new(system)) {
        return Err(ConfineError::RootTooBroad(real));
    }
    Ok(real)
}

/// The most links on the way to a file.
const MOST_LINKS: usize = 40;

/// Returns the links on the way to a path, each in its real directory. A command that replaces one of
/// them leads the path elsewhere.
pub fn links_on_the_way(path: &Path) -> Vec<PathBuf> {
    let names = |path: &Path| -> Vec<OsString> {
        let is_name =
            |part: &Component<'_>| matches!(part, Component::Normal(_) | Component::ParentDir);
        let names = path.components().filter(is_name);
        names.map(|part| part.as_os_str().to_owned()).rev().collect()
    };
    let (mut links, mut left, mut real) = (Vec::new(), names(path), PathBuf::from("/"));
    while let Some(name) = left.pop() {
        if name == ".." {
            real.pop();
            continue;
        }
        let next = real.join(&name);
        let Ok(target) = fs::read_link(&next) else {
            real = next;
            continue;
        };
        links.push(next);
        if links.len() > MOST_LINKS {
            break;
        }
        if target.is_absolute() {
            real = PathBuf::from("/");
        }
        left.extend(names(&target));
    }
    links
}

/// Resolves the links in a path that need not exist, except for the last component.
pub(super) fn resolve_parent(path: &Path) -> PathBuf {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return path.to_owned();
    };
    let real = fs::canonicalize(parent);
    real.unwrap_or_else(|_| resolve_parent(parent)).join(name)
}

/// Resolves the links in the path of a file that does not exist: at the end, too, as far as they lead
/// to nothing.
#[cfg(target_os = "linux")]
pub(super) fn resolve_missing(path: &Path) -> PathBuf {
    let mut path = resolve_parent(path);
    for _ in 0..MOST_LINKS {
        let (Ok(target), Some(parent)) = (fs::read_link(&path), path.parent()) else { break };
        path = resolve_parent(&parent.join(target));
    }
    path
}

/// Fails if the temporary directory has become a link, which would decide where the next command
/// writes.
#[cfg(target_os = "linux")]
pub(super) fn check_temporary(confinement: &Confinement) -> Result<(), ConfineError> {
    match confinement.private_tmp() {
        Some(tmp) if real(tmp)? != *tmp => Err(ConfineError::ProtectedSymlink(tmp.to_owned())),
        _ => Ok(()),
    }
}
