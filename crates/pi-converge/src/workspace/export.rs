//! The content of a clean room: the state at the start, or the changes of the run on top of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use pi_tools::checkpoint::FileState;

use super::{Changes, RunWorkspace, WorkspaceError};

type Items = BTreeMap<String, FileState>;

/// The content of a room: a state of the workspace.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Content<'a> {
    /// The state at the start.
    Start,
    /// The changes of the run, without those of these paths.
    Changed(&'a Changes, &'a BTreeSet<String>),
}

impl RunWorkspace {
    /// Returns a file as it was at the start and as it was at a state, if both are texts. A file that
    /// did not exist was empty.
    pub(crate) fn texts(
        &self,
        path: &str,
        state: usize,
    ) -> Result<Option<(String, String)>, WorkspaceError> {
        let checkpoints = self.checkpoints();
        let old = checkpoints.content(self.baseline, path)?;
        let new = checkpoints.content(state, path)?;
        let text = |content: Option<Vec<u8>>| content.and_then(|text| String::from_utf8(text).ok());
        Ok(text(Some(old.unwrap_or_default())).zip(text(Some(new.unwrap_or_default()))))
    }

    /// Returns the files whose content at the start is not known, because they were too large.
    pub(crate) fn unstored(&self) -> Result<BTreeSet<String>, WorkspaceError> {
        let start = self.checkpoints().paths(self.baseline)?;
        let is_unstored = |state: &FileState| matches!(state, FileState::File { hash: None, .. });
        let unstored = start.into_iter().filter(|(_, state)| is_unstored(state));
        Ok(unstored.map(|(path, _)| path).collect())
    }

    /// Writes a state of the workspace into an empty directory.
    pub(crate) fn export(&self, content: Content<'_>, to: &Path) -> Result<(), WorkspaceError> {
        let checkpoints = self.checkpoints();
        let start = checkpoints.paths(self.baseline)?;
        let (items, hidden) = match content {
            Content::Start => (start, Vec::new()),
            Content::Changed(changes, reverted) => {
                let now = checkpoints.paths(changes.state)?;
                let mut reverted = reverted.clone();
                reverted.extend(changes.caches.iter().cloned());
                (mixed(&start, now, &reverted), hidden(changes, &reverted))
            }
        };
        let too_large = checkpoints.export(&items, to)?;
        drop(checkpoints);
        for path in too_large.iter().chain(&hidden) {
            let (from, copy) = (self.root.join(path), to.join(path));
            let parent = copy.parent().unwrap_or(to);
            std::fs::create_dir_all(parent).map_err(WorkspaceError::io("create", parent))?;
            super::copy_file(&from, &copy).map_err(WorkspaceError::io("copy", &from))?;
        }
        Ok(())
    }
}

/// Returns the new files that the run hid by changing what git ignores: they are changes, and no
/// checkpoint has them.
fn hidden(changes: &Changes, reverted: &BTreeSet<String>) -> Vec<String> {
    let files = changes.files.iter().filter(|file| file.is_hidden);
    let paths = files.map(|file| file.report.path.clone());
    paths.filter(|path| !reverted.contains(path)).collect()
}

/// Returns the paths of the run, where some are as they were at the start.
fn mixed(start: &Items, now: Items, reverted: &BTreeSet<String>) -> Items {
    let mut items = now;
    for path in reverted {
        match start.get(path) {
            None => drop(items.remove(path)),
            Some(item) => put_back(&mut items, start, path, item),
        }
    }
    // A build must notice that a file was changed, also if the run set its time.
    let just_now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let just_now = i64::try_from(just_now.as_nanos()).unwrap_or(i64::MAX);
    for (path, item) in &mut items {
        let before = start.get(path);
        if let FileState::File { modified, hash, .. } = item {
            let is_same = matches!(before, Some(FileState::File { hash: old, .. }) if old == hash);
            if !is_same {
                *modified = just_now;
            }
        }
    }
    items
}

/// Puts back a path, with the directories above it and without what is below it.
fn put_back(items: &mut Items, start: &Items, path: &str, item: &FileState) {
    let mut above = path;
    while let Some((parent, _)) = above.rsplit_once('/') {
        let is_directory = matches!(items.get(parent), Some(FileState::Directory { .. }));
        if !is_directory && let Some(directory) = start.get(parent) {
            items.insert(parent.to_owned(), directory.clone());
        }
        above = parent;
    }
    if !matches!(item, FileState::Directory { .. }) {
        let below = format!("{path}/");
        items.retain(|other, _| !other.starts_with(&below));
    }
    items.insert(path.to_owned(), item.clone());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(hash: &str, modified: i64) -> FileState {
        // The type is only built by its crate, or read.
        let text = format!(
            r#"{{"kind":"file","hash":"{hash}","size":1,"mode":420,"modified":{modified}}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    fn directory() -> FileState {
        serde_json::from_str(r#"{"kind":"directory","mode":493}"#).unwrap()
    }

    fn link() -> FileState {
        serde_json::from_str(r#"{"kind":"link","target":"elsewhere"}"#).unwrap()
    }

    fn items(entries: &[(&str, FileState)]) -> Items {
        entries.iter().map(|(path, item)| ((*path).to_owned(), item.clone())).collect()
    }

    #[test]
    fn reverted_paths_are_as_at_the_start() {
        let start = items(&[
            ("a", file("1", 5)),
            ("tests", directory()),
            ("tests/x", file("2", 5)),
            ("y", file("3", 5)),
        ]);
        let now = items(&[
            ("a", file("9", 5)),
            ("new", file("8", 5)),
            ("tests", link()),
            ("y", directory()),
            ("y/z", file("7", 5)),
        ]);
        let reverted = ["new", "tests/x", "y"].map(str::to_owned).into();
        let mixed = mixed(&start, now, &reverted);
        let names: Vec<&str> = mixed.keys().map(String::as_str).collect();
        assert_eq!(names, ["a", "tests", "tests/x", "y"]);
        assert_eq!(mixed["tests"], directory());
        assert_eq!(mixed["y"], file("3", 5));
        // What the run changed is newer than any build of the start.
        let FileState::File { modified, .. } = &mixed["a"] else { panic!() };
        assert!(*modified > 1_600_000_000_000_000_000, "{modified}");
    }
}
