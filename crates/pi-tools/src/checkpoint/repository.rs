//! Restoring what is beside the workspace's own files: ignored files, and repositories, reference by
//! reference, so that what others did in them stays.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::CheckpointError;
use super::mirror::Mirror;
use super::name::to_path;
use super::objects::{Objects, hash};
use super::references::{self, References};
use super::restore::{Choice, Conflict, ConflictReason, RestoreReport, put_file, remove};
use super::scan::is_behind_link;
use super::state::{Change, FileState};

/// Files by path.
type Files = BTreeMap<String, FileState>;

/// The states between which the files beside the workspace's own are changed.
pub(super) struct Restoration<'a> {
    pub(super) root: &'a Path,
    pub(super) objects: &'a Objects,
    /// The directory of kept objects.
    pub(super) mirrors: PathBuf,
    pub(super) expected: &'a Files,
    pub(super) wanted: &'a Files,
    pub(super) choose: &'a dyn Fn(&Change) -> Choice,
    pub(super) report: &'a mut RestoreReport,
}

impl Restoration<'_> {
    pub(super) fn run(&mut self) -> Result<(), CheckpointError> {
        let all: BTreeSet<&String> = self.expected.keys().chain(self.wanted.keys()).collect();
        let is_changed = |path: &&&String| {
            let (before, after) = (self.expected.get(**path), self.wanted.get(**path));
            match (before, after) {
                (Some(before), Some(after)) => !before.is_same(after),
                _ => true,
            }
        };
        let changed: Vec<&String> = all.iter().filter(is_changed).copied().collect();
        let mut repositories: BTreeMap<String, Vec<&String>> = BTreeMap::new();
        for path in changed {
            match self.repository_of(path) {
                Some(repository) => repositories.entry(repository).or_default().push(path),
                // An ignored file that a run created may be anything: it stays.
                None if self.wanted.contains_key(path) => self.file(path)?,
                None => {}
            }
        }
        for (repository, changed) in repositories {
            self.repository(&repository, &changed)?;
        }
        Ok(())
    }

    /// Returns the directory of the repository that a file belongs to: the innermost one with a
    /// `HEAD`.
    fn repository_of(&self, path: &str) -> Option<String> {
        let is_git = path.split('/').any(|part| part == ".git");
        let mut above = path;
        while let (true, Some((parent, _))) = (is_git, above.rsplit_once('/')) {
            let head = format!("{parent}/HEAD");
            let inner = parent.rsplit_once(".git").map_or("", |(_, inner)| inner);
            let is_log = inner.contains("/logs") || inner.contains("/refs");
            let has_head = self.expected.contains_key(&head) || self.wanted.contains_key(&head);
            if has_head && !is_log {
                return Some(parent.to_owned());
            }
            above = parent;
        }
        None
    }

    fn repository(&mut self, name: &str, changed: &[&String]) -> Result<(), CheckpointError> {
        if changed.iter().all(|path| self.choice(path) == Choice::Leave) {
            return Ok(());
        }
        let directory = self.root.join(to_path(name));
        if is_behind_link(self.root, &directory) || directory.is_symlink() {
            self.conflict(name, ConflictReason::BehindLink);
            return Ok(());
        }
        if !self.wanted.contains_key(&format!("{name}/HEAD")) {
            self.conflict(name, ConflictReason::NewRepository);
            return Ok(());
        }
        let (before, after) =
            (self.references(name, self.expected)?, self.references(name, self.wanted)?);
        let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        let differ = names.into_iter().filter(|name| before.get(*name) != after.get(*name));
        // Removals first: a branch may have the name of a directory of others.
        let (removed, set): (Vec<&String>, Vec<&String>) =
            differ.partition(|name| !after.contains_key(*name));
        let failed = |action| CheckpointError::io(action, directory.clone());
        for directories in ["refs/heads", "refs/tags", "objects/pack", "objects/info"] {
            let is_whole = directory.join("commondir").exists();
            if !is_whole {
                fs::create_dir_all(directory.join(directories)).map_err(failed("create"))?;
            }
        }
        let objects = directory.join("objects");
        let origin = objects.canonicalize().unwrap_or_else(|_| objects.clone());
        let mirror = Mirror::new(&self.mirrors, &origin);
        let has_lost = mirror.put_back().map_err(failed("restore the objects of"))?;
        let lost = format!("{name}/objects");
        if has_lost && changed.iter().any(|path| **path == lost) {
            self.report.paths.push(lost.clone());
        }
        let mut logs = BTreeSet::new();
        for path in changed.iter().filter(|path| is_log(name, path)) {
            if self.log(path)? {
                logs.insert(path.as_str());
            }
        }
        for reference in removed.into_iter().chain(set) {
            let values = (before.get(reference), after.get(reference));
            let log = format!("{name}/logs/{reference}");
            self.reference(name, &directory, reference, values, logs.contains(log.as_str()))?;
        }
        let is_other =
            |path: &&&String| !is_log(name, path) && !is_reference(name, path) && ***path != lost;
        for path in changed.iter().filter(is_other) {
            match path.strip_prefix(name) == Some("/index") {
                true => self.index(path)?,
                false => self.file(path)?,
            }
        }
        Ok(())
    }

    /// Restores a reference. The stash, whose log has both stacks, is no conflict.
    fn reference(
        &mut self,
        repository: &str,
        directory: &Path,
        name: &str,
        (before, after): (Option<&String>, Option<&String>),
        is_merged: bool,
    ) -> Result<(), CheckpointError> {
        let path = format!("{repository}/{name}");
        let failed = |action| CheckpointError::io(action, directory.join(name));
        // A reference without a file of its own is in the file of all.
        let packed = format!("{repository}/packed-refs");
        let is_packed = !self.expected.contains_key(&path) && !self.wanted.contains_key(&path);
        let choice = match self.choice(&path) {
            Choice::Leave if is_packed => self.choice(&packed),
            choice => choice,
        };
        match choice {
            Choice::Restore => {}
            Choice::Leave => return Ok(()),
            Choice::Conflict => {
                self.conflict(&path, ConflictReason::Foreign);
                return Ok(());
            }
        }
        let now = references::current(directory, name).map_err(failed("read"))?;
        if now.as_ref() == after {
            return Ok(());
        }
        if now.as_ref() != before {
            let is_stash = name == "refs/stash" && is_merged;
            if !is_stash {
                self.conflict(&path, ConflictReason::Changed);
            }
            return Ok(());
        }
        let objects = directory.join("objects");
        let is_gone = |value: &String| objects.is_dir() && !references::has_object(&objects, value);
        if after.is_some_and(is_gone) {
            self.conflict(&path, ConflictReason::ObjectGone);
            return Ok(());
        }
        match references::set(directory, name, after.map(String::as_str)) {
            Ok(()) => self.report.paths.push(path),
            // Git holds the lock, or a directory of other references has the name.
            Err(error) if is_in_the_way(&error) => {
                self.conflict(&path, ConflictReason::Changed);
                return Ok(());
            }
            Err(error) => return Err(failed("write")(error)),
        }
        Ok(())
    }

    /// Restores a log. Returns true if it has everything that the wanted one has.
    fn log(&mut self, path: &str) -> Result<bool, CheckpointError> {
        let file = self.root.join(to_path(path));
        let failed = |action| CheckpointError::io(action, file.clone());
        let (before, after) = (self.text(self.expected, path)?, self.text(self.wanted, path)?);
        let now = read(&file).map_err(failed("read"))?.unwrap_or_default();
        let now = String::from_utf8_lossy(&now).into_owned();
        if !self.is_chosen(path) {
            return Ok(false);
        }
        let merged = references::merged_log(&before, &after, &now);
        let merged = match merged {
            // Nothing is missing: a log only grows.
            None if now.starts_with(&after) => return Ok(true),
            None => {
                self.conflict(path, ConflictReason::Changed);
                return Ok(false);
            }
            Some(merged) => merged,
        };
        let done = match merged.is_empty() && !self.wanted.contains_key(path) {
            true => remove(&file),
            false => references::locked(&file, &merged),
        };
        match done {
            Ok(()) => {
                if !now.starts_with(&after) {
                    self.report.paths.push(path.to_owned());
                }
                Ok(true)
            }
            Err(error) if is_in_the_way(&error) => {
                self.conflict(path, ConflictReason::Changed);
                Ok(false)
            }
            Err(error) => Err(failed("write")(error)),
        }
    }

    /// Restores the index of a repository, if its entries changed and not only what it caches.
    fn index(&mut self, path: &str) -> Result<(), CheckpointError> {
        let file = self.root.join(to_path(path));
        let now = read(&file).map_err(CheckpointError::io("read", &file))?.unwrap_or_default();
        let before = self.bytes(self.expected, path)?.unwrap_or_default();
        let after = self.bytes(self.wanted, path)?.unwrap_or_default();
        let is_same = |a: &[u8], b: &[u8]| {
            let entries = references::index_entries(a);
            a == b || entries.is_some() && entries == references::index_entries(b)
        };
        if is_same(&before, &after) || is_same(&now, &after) || !self.is_chosen(path) {
            return Ok(());
        }
        match is_same(&now, &before) {
            true if after.is_empty() => Ok(()),
            true => self.put(path, &file, &after),
            false => {
                self.conflict(path, ConflictReason::Changed);
                Ok(())
            }
        }
    }

    /// Restores a file unless it has changed since.
    fn file(&mut self, path: &str) -> Result<(), CheckpointError> {
        let file = self.root.join(to_path(path));
        if !self.is_chosen(path) {
            return Ok(());
        }
        if is_behind_link(self.root, &file) {
            self.conflict(path, ConflictReason::BehindLink);
            return Ok(());
        }
        let is = |state: Option<&FileState>| is_there(&file, state);
        if is(self.wanted.get(path)) {
            return Ok(());
        }
        if !is(self.expected.get(path)) {
            self.conflict(path, ConflictReason::Changed);
            return Ok(());
        }
        match self.wanted.get(path) {
            None => {
                remove(&file).map_err(CheckpointError::io("remove", &file))?;
                self.report.paths.push(path.to_owned());
            }
            Some(FileState::File { hash: None, .. }) => {
                self.conflict(path, ConflictReason::TooLarge);
            }
            Some(FileState::File { .. }) => {
                let content = self.bytes(self.wanted, path)?.unwrap_or_default();
                self.put(path, &file, &content)?;
            }
            Some(_) => {}
        }
        Ok(())
    }

    fn put(&mut self, path: &str, file: &Path, content: &[u8]) -> Result<(), CheckpointError> {
        let failed = |action| CheckpointError::io(action, file);
        let parent = file.parent().unwrap_or(file);
        fs::create_dir_all(parent).map_err(failed("create"))?;
        let Some(FileState::File { mode, modified, .. }) = self.wanted.get(path) else {
            return Ok(());
        };
        put_file(file, content, *mode, *modified).map_err(failed("write"))?;
        self.report.paths.push(path.to_owned());
        Ok(())
    }

    /// Returns the references of a repository in a state.
    fn references(&self, repository: &str, files: &Files) -> Result<References, CheckpointError> {
        let mut found =
            references::packed(&self.text(files, &format!("{repository}/packed-refs"))?);
        let start = format!("{repository}/");
        let loose = files.range(start.clone()..).take_while(|(path, _)| path.starts_with(&start));
        for (path, _) in loose {
            let name = path.get(start.len()..).unwrap_or_default();
            if name == "HEAD" || name.starts_with("refs/") {
                found.insert(name.to_owned(), self.text(files, path)?.trim_end().to_owned());
            }
        }
        Ok(found)
    }

    fn text(&self, files: &Files, path: &str) -> Result<String, CheckpointError> {
        let bytes = self.bytes(files, path)?.unwrap_or_default();
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn bytes(&self, files: &Files, path: &str) -> Result<Option<Vec<u8>>, CheckpointError> {
        match files.get(path).and_then(FileState::content) {
            Some(hash) => self.objects.read(hash).map(Some),
            None => Ok(None),
        }
    }

    fn choice(&self, path: &str) -> Choice {
        let (before, after) = (self.expected.get(path).cloned(), self.wanted.get(path).cloned());
        (self.choose)(&Change { path: path.to_owned(), before, after })
    }

    /// Returns true if the caller wants a path to be restored.
    fn is_chosen(&mut self, path: &str) -> bool {
        let choice = self.choice(path);
        if choice == Choice::Conflict {
            self.conflict(path, ConflictReason::Foreign);
        }
        choice == Choice::Restore
    }

    fn conflict(&mut self, path: &str, reason: ConflictReason) {
        self.report.conflicts.push(Conflict { path: path.to_owned(), reason });
    }
}

fn is_log(repository: &str, path: &str) -> bool {
    path.strip_prefix(repository).is_some_and(|name| name.starts_with("/logs/"))
}

fn is_reference(repository: &str, path: &str) -> bool {
    let name = path.strip_prefix(repository).unwrap_or_default();
    name == "/HEAD" || name == "/packed-refs" || name.starts_with("/refs/")
}

/// Returns true if a file is in a state.
fn is_there(file: &Path, state: Option<&FileState>) -> bool {
    match state {
        None => fs::symlink_metadata(file).is_err(),
        Some(FileState::File { hash: wanted, .. }) => {
            let is_file = fs::symlink_metadata(file).is_ok_and(|found| found.is_file());
            is_file && fs::read(file).is_ok_and(|content| Some(hash(&content)) == *wanted)
        }
        Some(FileState::Link { target }) => {
            fs::read_link(file).is_ok_and(|there| there == *to_path(target))
        }
        Some(FileState::Directory { .. }) => file.is_dir(),
    }
}

fn is_in_the_way(error: &io::Error) -> bool {
    use io::ErrorKind::{AlreadyExists, DirectoryNotEmpty, IsADirectory, NotADirectory};
    matches!(error.kind(), AlreadyExists | DirectoryNotEmpty | IsADirectory | NotADirectory)
}

fn read(file: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(file) {
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(None),
        read => pi_fs::if_exists(read),
    }
}
