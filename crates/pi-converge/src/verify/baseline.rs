//! The originals of the files that decide the checks, kept outside of the workspace.
//!
//! They are stored before the agent starts. Verification puts them in place of what the agent made
//! of them and returns the agent's versions afterwards, so that its changes neither count nor are
//! lost.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;
use pi_fs::if_exists;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::inputs::{Role, Roles};
use super::weakening::can_weaken;
use crate::workspace::Changes;

/// Largest test that is stored without being protected: larger ones are data.
const MOST_TEST: u64 = 4 << 20;

/// A file or link as it was before the agent started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum Original {
    File { hash: String, executable: bool },
    Link { target: PathBuf },
}

/// A difference between an original and the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tampered {
    /// Path relative to the workspace.
    pub(super) path: String,
    /// The part of the file in the checks.
    pub(super) role: Role,
    /// `changed`, `removed` or `added`.
    pub(super) change: &'static str,
}

/// The originals.
#[derive(Debug)]
pub(super) struct Baseline {
    root: PathBuf,
    directory: PathBuf,
    originals: BTreeMap<String, Original>,
}

/// The agent's versions of files that were replaced by originals.
#[derive(Debug, Default)]
pub(super) struct Replaced(Vec<(String, Option<Original>)>);

impl Baseline {
    /// Stores the originals in a directory, or reads those that an interrupted run stored.
    pub(super) fn store(
        root: &Path,
        directory: &Path,
        roles: &Roles,
        covered: impl Iterator<Item = String>,
    ) -> io::Result<Self> {
        let manifest = directory.join("manifest.json");
        let mut baseline = Self {
            root: root.to_owned(),
            directory: directory.to_owned(),
            originals: BTreeMap::new(),
        };
        if let Some(stored) = if_exists(std::fs::read(&manifest))? {
            baseline.originals = serde_json::from_slice(&stored).map_err(io::Error::other)?;
            return Ok(baseline);
        }
        std::fs::create_dir_all(directory)?;
        let with_role = covered.filter(|path| roles.of(path).is_some());
        let named = roles.named().map(str::to_owned);
        for path in with_role.chain(named).chain(protected_files(root, roles)) {
            let is_large = || {
                let size =
                    std::fs::symlink_metadata(root.join(&path)).map_or(0, |found| found.len());
                roles.of(&path) == Some(Role::Test) && size > MOST_TEST
            };
            if baseline.originals.contains_key(&path) || is_large() {
                continue;
            }
            if let Some(original) = baseline.keep(&root.join(&path))? {
                baseline.originals.insert(path, original);
            }
        }
        let stored = serde_json::to_vec(&baseline.originals).map_err(io::Error::other)?;
        pi_fs::replace(&manifest, &stored)?;
        Ok(baseline)
    }

    /// Returns the originals that no check may change.
    pub(super) fn fixed<'a>(&'a self, roles: &'a Roles) -> impl Iterator<Item = PathBuf> + 'a {
        let is_fixed =
            |path: &&String| matches!(roles.of(path), Some(Role::Protected | Role::Verifier));
        let exists = |path: &PathBuf| path.symlink_metadata().is_ok_and(|found| found.is_file());
        self.originals.keys().filter(is_fixed).map(|path| self.root.join(path)).filter(exists)
    }

    /// Returns the differences between the originals and the workspace that matter for the checks.
    pub(super) fn compare(&self, roles: &Roles, changes: &Changes) -> io::Result<Vec<Tampered>> {
        let mut tampered = Vec::new();
        for (path, original) in &self.originals {
            let Some(role) = roles.of(path) else { continue };
            let now = self.read(path)?;
            if now.as_ref() == Some(original) {
                continue;
            }
            let is_ordinary = role == Role::Verifier && self.is_ordinary(path, original, &now);
            if !is_ordinary {
                let change = if now.is_some() { "changed" } else { "removed" };
                tampered.push(Tampered { path: path.clone(), role, change });
            }
        }
        for file in changes.files.iter().filter(|file| file.report.change == "added") {
            let path = &file.report.path;
            match roles.of(path) {
                Some(role @ (Role::Protected | Role::Verifier)) if !is_cache(path) => {
                    tampered.push(Tampered { path: path.clone(), role, change: "added" });
                }
                _ => {}
            }
        }
        Ok(tampered)
    }

    /// Returns true if a change of configuration does not change what the checks do.
    fn is_ordinary(&self, path: &str, original: &Original, now: &Option<Original>) -> bool {
        let (Original::File { hash: old, .. }, Some(Original::File { .. })) = (original, now)
        else {
            return false;
        };
        let before = std::fs::read(self.directory.join(old));
        let after = std::fs::read(self.root.join(path));
        matches!((before, after), (Ok(before), Ok(after)) if !can_weaken(path, &before, &after))
    }

    /// Puts the originals in place, and removes what was added to protected files.
    pub(super) fn put_in_place(
        &self,
        roles: &Roles,
        tampered: &[Tampered],
    ) -> io::Result<Replaced> {
        let mut paths: Vec<String> = tampered.iter().map(|one| one.path.clone()).collect();
        // Also what git ignores, such as compiled files of tests.
        let added = protected_files(&self.root, roles);
        paths.extend(added.filter(|path| !self.originals.contains_key(path)));
        paths.sort();
        paths.dedup();
        let mut replaced = Replaced::default();
        for path in paths {
            let file = self.root.join(&path);
            replaced.0.push((path.clone(), self.keep(&file)?));
            self.clear(&file)?;
            if let Some(original) = self.originals.get(&path) {
                self.write(&file, original)?;
            }
        }
        Ok(replaced)
    }

    /// Returns the agent's versions of files to the workspace.
    pub(super) fn put_back(&self, replaced: Replaced) -> io::Result<()> {
        for (path, version) in replaced.0 {
            if self.read(&path)? == version {
                continue;
            }
            let file = self.root.join(&path);
            match version {
                Some(version) => {
                    self.clear(&file)?;
                    self.write(&file, &version)?;
                }
                // A directory was in this place; the checkpoint has it.
                None if file.is_dir() => {}
                None => remove(&file)?,
            }
        }
        Ok(())
    }

    /// Reads the state of a path. A path behind a link is not in the workspace.
    fn read(&self, path: &str) -> io::Result<Option<Original>> {
        let file = self.root.join(path);
        if is_behind_link(&self.root, &file) {
            return Ok(None);
        }
        let Some(metadata) = metadata(&file)? else { return Ok(None) };
        if metadata.is_symlink() {
            return Ok(Some(Original::Link { target: std::fs::read_link(&file)? }));
        }
        if !metadata.is_file() {
            return Ok(None);
        }
        let hash = hash(&std::fs::read(&file)?);
        Ok(Some(Original::File { hash, executable: is_executable(&metadata) }))
    }

    /// Stores a copy of a file and returns its state.
    fn keep(&self, file: &Path) -> io::Result<Option<Original>> {
        if is_behind_link(&self.root, file) {
            return Ok(None);
        }
        let Some(metadata) = metadata(file)? else { return Ok(None) };
        if metadata.is_symlink() {
            return Ok(Some(Original::Link { target: std::fs::read_link(file)? }));
        }
        if !metadata.is_file() {
            return Ok(None);
        }
        let content = std::fs::read(file)?;
        let hash = hash(&content);
        let copy = self.directory.join(&hash);
        if !copy.exists() {
            pi_fs::replace(&copy, &content)?;
        }
        Ok(Some(Original::File { hash, executable: is_executable(&metadata) }))
    }

    fn write(&self, file: &Path, original: &Original) -> io::Result<()> {
        match original {
            Original::Link { target } => link(target, file),
            Original::File { hash: name, executable } => {
                let content = std::fs::read(self.directory.join(name))?;
                if hash(&content) != *name {
                    let message = format!("the stored original of {} was changed", file.display());
                    return Err(io::Error::other(message));
                }
                std::fs::write(file, content)?;
                set_executable(file, *executable)
            }
        }
    }

    /// Removes what is in the way of a file: the path itself, and links or files among its parents.
    fn clear(&self, file: &Path) -> io::Result<()> {
        let inside = file.strip_prefix(&self.root).unwrap_or(file);
        let mut path = self.root.clone();
        for part in inside.parent().into_iter().flat_map(Path::components) {
            path.push(part);
            match metadata(&path)? {
                Some(found) if found.is_dir() => {}
                Some(_) => {
                    std::fs::remove_file(&path)?;
                    std::fs::create_dir(&path)?;
                }
                None => std::fs::create_dir(&path)?,
            }
        }
        remove(file)
    }
}

/// Returns the files that the protected patterns match, also those that git ignores.
fn protected_files<'a>(root: &'a Path, roles: &'a Roles) -> impl Iterator<Item = String> + 'a {
    let walk = roles.has_protected().then(|| {
        WalkBuilder::new(root)
            .standard_filters(false)
            .filter_entry(|entry| entry.file_name() != ".git")
            .build()
    });
    walk.into_iter().flatten().filter_map(move |entry| {
        let entry = entry.ok()?;
        let is_directory = entry.file_type().is_none_or(|kind| kind.is_dir());
        let path = entry.path().strip_prefix(root).ok()?.to_str()?.to_owned();
        (!is_directory && roles.is_protected(&path)).then_some(path)
    })
}

/// Returns true for files that running the tests creates beside them.
fn is_cache(path: &str) -> bool {
    let parts = ["__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", "node_modules"];
    path.ends_with(".pyc") || path.split('/').any(|part| parts.contains(&part))
}

fn metadata(path: &Path) -> io::Result<Option<std::fs::Metadata>> {
    match std::fs::symlink_metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn is_behind_link(root: &Path, path: &Path) -> bool {
    path.ancestors().skip(1).take_while(|above| *above != root).any(Path::is_symlink)
}

fn remove(path: &Path) -> io::Result<()> {
    match metadata(path)? {
        // The agent made a directory of the file. The checkpoint before the checks has its content.
        Some(found) if found.is_dir() => std::fs::remove_dir_all(path),
        Some(_) => std::fs::remove_file(path),
        None => Ok(()),
    }
}

fn hash(content: &[u8]) -> String {
    pi_base::text::hex(&Sha256::digest(content))
}

#[cfg(unix)]
fn is_executable(metadata: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    metadata.permissions().mode() & 0o100 != 0
}

#[cfg(unix)]
fn set_executable(file: &Path, executable: bool) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = if executable { 0o755 } else { 0o644 };
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(mode))
}

#[cfg(unix)]
fn link(target: &Path, path: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, path)
}

#[cfg(not(unix))]
fn is_executable(_: &std::fs::Metadata) -> bool {
    false
}

#[cfg(not(unix))]
fn set_executable(_: &Path, _: bool) -> io::Result<()> {
    Ok(())
}

#[cfg(not(unix))]
fn link(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
