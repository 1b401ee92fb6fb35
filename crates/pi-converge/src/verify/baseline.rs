//! The originals of the files that decide the checks, kept outside of the workspace.
//!
//! They are stored before the agent starts, and take the place of what the agent made of them in
//! the room in which the checks run.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;
use pi_fs::if_exists;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::inputs::{Role, Roles};
use super::weakening::{Weakening, weakening};
use crate::report::Concern;
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
    /// The version that the checks use.
    pub(super) version: Version,
}

/// The version of a tampered file that the checks use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Version {
    /// The original; none if the file was added.
    Original,
    /// Another text: the work of the run with the original tests.
    Text(String),
    /// That of the run, because nothing else can be used.
    Own,
}

impl Tampered {
    pub(super) fn new(path: &str, role: Role, change: &'static str) -> Self {
        Self { path: path.to_owned(), role, change, version: Version::Original }
    }

    /// Returns the failure of a run that changed a part of the checks, and the way out.
    pub(super) fn weakening(&self) -> String {
        let Self { path, change, .. } = self;
        format!(
            "verification was weakened: {path} was {change}; if the task requires this, name the \
             file in the goal or permit it with --may-change {path}"
        )
    }

    /// Returns the reason why a person should look at a test.
    pub(super) fn concern(&self) -> Concern {
        let reason = format!(
            "the checks pass only because this file was {}; they fail otherwise",
            self.change
        );
        Concern::new(Some(self.path.clone()), reason)
    }
}

/// The originals.
#[derive(Debug)]
pub(super) struct Baseline {
    root: PathBuf,
    directory: PathBuf,
    originals: BTreeMap<String, Original>,
    /// Originals that git ignores.
    ignored: BTreeSet<String>,
}

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
            ignored: BTreeSet::new(),
        };
        let covered: BTreeSet<String> = covered.collect();
        if let Some(stored) = if_exists(std::fs::read(&manifest))? {
            baseline.originals = serde_json::from_slice(&stored).map_err(io::Error::other)?;
            baseline.note_ignored(&covered);
            return Ok(baseline);
        }
        std::fs::create_dir_all(directory)?;
        let with_role = covered.iter().filter(|path| roles.of(path).is_some()).cloned();
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
        baseline.note_ignored(&covered);
        Ok(baseline)
    }

    fn note_ignored(&mut self, covered: &BTreeSet<String>) {
        let originals = self.originals.keys();
        self.ignored = originals.filter(|path| !covered.contains(*path)).cloned().collect();
    }

    /// Returns the originals that git ignores and that no pattern protects: scripts, and products of
    /// the checks themselves. Every room has them as they were, not as the run left them.
    pub(super) fn ignored<'a>(&'a self, roles: &'a Roles) -> impl Iterator<Item = &'a str> + 'a {
        let paths = self.ignored.iter().map(String::as_str);
        paths.filter(|path| roles.of(path) == Some(Role::Verifier))
    }

    /// Marks the files whose original is stored nowhere: the checks have to use those of the run.
    pub(super) fn give_up(&self, tampered: &mut [Tampered], unstored: &BTreeSet<String>) {
        for one in tampered.iter_mut().filter(|one| one.change != "added") {
            if unstored.contains(&one.path) && !self.originals.contains_key(&one.path) {
                one.version = Version::Own;
            }
        }
    }

    /// Returns the paths of all originals.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.originals.keys().map(String::as_str)
    }

    /// Returns the originals that no check may change.
    pub(super) fn fixed<'a>(&'a self, roles: &'a Roles) -> impl Iterator<Item = &'a str> + 'a {
        // What git ignores and only a script names is often a product of the checks.
        let is_product =
            |path: &String| self.ignored.contains(path) && !roles.is_named_directly(path);
        let is_fixed = move |path: &&String| match roles.of(path) {
            Some(Role::Protected) => true,
            Some(Role::Verifier) => !is_product(path),
            _ => false,
        };
        self.originals.keys().filter(is_fixed).map(String::as_str)
    }

    /// Returns the fixed originals that a room has, and that differ in it from the stored ones.
    pub(super) fn differing(&self, roles: &Roles, room: &Path) -> io::Result<Vec<String>> {
        let mut differing = Vec::new();
        for path in self.fixed(roles) {
            if read(room, path)?.as_ref() != self.originals.get(path) {
                differing.push(path.to_owned());
            }
        }
        Ok(differing)
    }

    /// Returns the differences between the originals and the workspace that matter for the checks.
    pub(super) fn compare(&self, roles: &Roles, changes: &Changes) -> io::Result<Vec<Tampered>> {
        let mut tampered = Vec::new();
        for (path, original) in &self.originals {
            let Some(role) = roles.of(path) else { continue };
            if role != Role::Protected && self.ignored.contains(path) {
                continue;
            }
            let now = read(&self.root, path)?;
            if now.as_ref() == Some(original) {
                continue;
            }
            let role = match self.weakening(path, original, &now) {
                Weakening::None if role != Role::Protected => continue,
                Weakening::Settings if role == Role::Verifier => Role::Test,
                _ => role,
            };
            let change = if now.is_some() { "changed" } else { "removed" };
            tampered.push(Tampered::new(path, role, change));
        }
        for file in changes.files.iter().filter(|file| file.report.change != "added") {
            let path = &file.report.path;
            // Large tests are not stored here.
            if let Some(role) = roles.of(path).filter(|_| !self.originals.contains_key(path)) {
                let change = if file.report.change == "removed" { "removed" } else { "changed" };
                tampered.push(Tampered::new(path, role, change));
            }
        }
        for file in changes.files.iter().filter(|file| file.report.change == "added") {
            let path = &file.report.path;
            let role = match roles.of(path) {
                Some(Role::Verifier) if roles.is_part_of_new_work(path) => continue,
                Some(Role::Verifier) if !roles.is_named(path) => Role::Added,
                Some(role) if !is_cache(path) => role,
                _ => continue,
            };
            tampered.push(Tampered::new(path, role, "added"));
        }
        Ok(tampered)
    }

    /// Returns the power of a change of an original over the checks.
    fn weakening(&self, path: &str, original: &Original, now: &Option<Original>) -> Weakening {
        let (Original::File { hash: old, .. }, Some(Original::File { .. })) = (original, now)
        else {
            return Weakening::Checks;
        };
        let before = std::fs::read(self.directory.join(old));
        let after = std::fs::read(self.root.join(path));
        match (before, after) {
            // The file cannot be run any more, or it can for the first time.
            (Ok(before), Ok(after)) if before == after => Weakening::Settings,
            (Ok(before), Ok(after)) => weakening(path, &before, &after),
            _ => Weakening::Checks,
        }
    }

    /// Puts originals in their place in a room: those that git ignores are not part of its state.
    pub(super) fn put_in_place<'a>(
        &self,
        paths: impl IntoIterator<Item = &'a str>,
        room: &Path,
    ) -> io::Result<()> {
        for path in paths {
            let Some(original) = self.originals.get(path) else { continue };
            let file = room.join(path);
            clear(room, &file)?;
            self.write(&file, original)?;
        }
        Ok(())
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
            // Build tools compare times.
            std::fs::File::open(&copy)?.set_modified(metadata.modified()?)?;
        }
        Ok(Some(Original::File { hash, executable: is_executable(&metadata) }))
    }

    fn write(&self, file: &Path, original: &Original) -> io::Result<()> {
        match original {
            Original::Link { target } => link(target, file),
            Original::File { hash: name, executable } => {
                let copy = self.directory.join(name);
                let content = std::fs::read(&copy)?;
                if hash(&content) != *name {
                    let message = format!("the stored original of {} was changed", file.display());
                    return Err(io::Error::other(message));
                }
                std::fs::write(file, content)?;
                let modified = std::fs::metadata(copy)?.modified()?;
                std::fs::OpenOptions::new().write(true).open(file)?.set_modified(modified)?;
                set_executable(file, *executable)
            }
        }
    }
}

/// Reads the state of a path in a directory. A path behind a link is not in the directory.
fn read(root: &Path, path: &str) -> io::Result<Option<Original>> {
    let file = root.join(path);
    if is_behind_link(root, &file) {
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

/// Removes what is in the way of a file: the path itself, and links or files among its parents.
fn clear(root: &Path, file: &Path) -> io::Result<()> {
    let inside = file.strip_prefix(root).unwrap_or(file);
    let mut path = root.to_owned();
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
pub(super) fn is_cache(path: &str) -> bool {
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
