//! The paths that the agent of a run wrote, so that an undo reverts its changes and nothing else.
//!
//! A path is recorded before it is changed, and its identity after the call. A path that has another
//! identity when the changes are undone was changed by another program since. The record is a file:
//! a run that is resumed after a kill knows what the agent wrote, and a path of a call that did not
//! end is not undone, because another program may have changed it since.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Component, Path, PathBuf};

use pi_fs::{FileError, if_exists};
use pi_tools::checkpoint::Choice;
use serde::{Deserialize, Serialize};

/// Most files of a moved directory whose identity is recorded.
const MOST_MOVED: usize = 100_000;

/// The record of an attempt's workspace.
#[derive(Debug)]
pub(super) struct Written {
    root: PathBuf,
    record: PathBuf,
    file: File,
    /// The paths that the agent wrote and that were not undone.
    paths: BTreeMap<String, Left>,
    /// The paths that it wrote in any attempt.
    ever: BTreeSet<String>,
    /// Paths that were moved, with everything below them.
    moved: BTreeSet<String>,
    /// The paths of the calls that run.
    touched: BTreeSet<String>,
    running: usize,
}

/// The state in which the agent left a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Left {
    /// Not known: the call did not end.
    Unknown,
    Missing,
    Directory,
    Link {
        target: PathBuf,
    },
    #[serde(rename_all = "camelCase")]
    File {
        inode: u64,
        size: u64,
        modified: (i64, i64),
        changed: (i64, i64),
    },
}

/// A line of the record.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Line {
    /// The agent is about to write a path.
    Writes { path: String, moves: bool },
    /// A call left a path so.
    Left(String, Left),
    /// The changes were undone.
    Undone,
}

impl Written {
    /// Opens the record of a workspace.
    pub(super) fn open(root: &Path, record: &Path) -> Result<Self, FileError> {
        let text = if_exists(fs::read_to_string(record)).map_err(FileError::at("read", record))?;
        let opened = OpenOptions::new().create(true).append(true).open(record);
        let mut written = Self {
            root: root.to_owned(),
            record: record.to_owned(),
            file: opened.map_err(FileError::at("open", record))?,
            paths: BTreeMap::new(),
            ever: BTreeSet::new(),
            moved: BTreeSet::new(),
            touched: BTreeSet::new(),
            running: 0,
        };
        // A torn last line belongs to a change that was not made.
        let lines = text.as_deref().unwrap_or_default().lines();
        for line in lines.filter_map(|line| serde_json::from_str(line).ok()) {
            match line {
                Line::Writes { path, moves } => written.add(path, moves),
                Line::Left(path, left) => drop(written.paths.insert(path, left)),
                Line::Undone => written.clear(),
            }
        }
        Ok(written)
    }

    /// Notes that a call begins.
    pub(super) fn begun(&mut self) {
        self.running += 1;
    }

    /// Records paths that the agent is about to change.
    pub(super) fn writes(&mut self, paths: &[PathBuf], moves: bool) -> Result<(), FileError> {
        for path in paths {
            if let Some(inside) = self.inside(path) {
                self.note(inside, moves)?;
            }
        }
        Ok(())
    }

    /// Records a path of the workspace.
    pub(super) fn note(&mut self, path: String, moves: bool) -> Result<(), FileError> {
        let is_known = self.touched.contains(&path) && (!moves || self.moved.contains(&path));
        if !is_known {
            self.append(&Line::Writes { path: path.clone(), moves })?;
            self.touched.insert(path.clone());
            self.add(path, moves);
        }
        Ok(())
    }

    /// Records the identities of the paths that were written when the last running call has ended.
    pub(super) fn ended(&mut self) -> Result<(), FileError> {
        self.running = self.running.saturating_sub(1);
        if self.running > 0 {
            return Ok(());
        }
        let mut touched = std::mem::take(&mut self.touched);
        let moved: Vec<String> =
            touched.iter().filter(|path| self.moved.contains(*path)).cloned().collect();
        for path in moved {
            self.add_below(&path, &mut touched);
        }
        for path in touched {
            let left = Left::of(&self.root.join(&path));
            self.append(&Line::Left(path.clone(), left.clone()))?;
            self.paths.insert(path, left);
        }
        Ok(())
    }

    /// Decides about a path that differs from the start of the run. `is_directory` is true if it is
    /// a directory, or was one.
    pub(super) fn choose(&self, path: &str, is_directory: bool) -> Choice {
        let now = Left::of(&self.root.join(path));
        if let Some(left) = self.paths.get(path) {
            return if *left == now { Choice::Restore } else { Choice::Conflict };
        }
        let above = Path::new(path).ancestors().skip(1).filter_map(Path::to_str);
        let was_moved = above.into_iter().any(|above| self.moved.contains(above));
        // Directories exist for the files in them.
        let below = format!("{path}/");
        let has_written = || {
            let next = self.paths.range(below.clone()..).next();
            next.is_some_and(|(path, _)| path.starts_with(&below))
        };
        if is_directory && has_written() || was_moved && now == Left::Missing {
            return Choice::Restore;
        }
        Choice::Leave
    }

    /// Returns true if the agent wrote a path in any attempt.
    pub(super) fn has_ever(&self, path: &str) -> bool {
        let mut above = Path::new(path).ancestors().filter_map(Path::to_str);
        let below = format!("{path}/");
        self.ever.contains(path)
            || above.any(|above| self.moved.contains(above))
            || self.ever.range(below.clone()..).next().is_some_and(|path| path.starts_with(&below))
    }

    /// Notes that the changes were undone: what is there now is not the agent's.
    pub(super) fn undone(&mut self) -> Result<(), FileError> {
        self.append(&Line::Undone)?;
        self.clear();
        Ok(())
    }

    fn clear(&mut self) {
        self.paths.clear();
    }

    fn add(&mut self, path: String, moves: bool) {
        if moves {
            self.moved.insert(path.clone());
        }
        self.ever.insert(path.clone());
        self.paths.insert(path, Left::Unknown);
    }

    /// Adds the files of a directory that was moved here.
    fn add_below(&self, path: &str, paths: &mut BTreeSet<String>) {
        let mut directories = vec![path.to_owned()];
        while let Some(directory) = directories.pop() {
            let listed = fs::read_dir(self.root.join(&directory));
            for entry in listed.into_iter().flatten().flatten() {
                let Ok(name) = entry.file_name().into_string() else { continue };
                let path = format!("{directory}/{name}");
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    directories.push(path.clone());
                }
                if paths.len() < MOST_MOVED {
                    paths.insert(path);
                }
            }
        }
    }

    fn append(&mut self, line: &Line) -> Result<(), FileError> {
        let text = serde_json::to_vec(line).map_err(io::Error::other);
        let written = text.and_then(|mut text| {
            text.push(b'\n');
            self.file.write_all(&text)
        });
        written.map_err(FileError::at("write", &self.record))
    }

    /// Returns the path in the workspace of a file that commands may know by another path.
    fn inside(&self, path: &Path) -> Option<String> {
        let path = normal(path);
        let directory = path.parent()?.canonicalize().ok();
        let real = directory.and_then(|directory| Some(directory.join(path.file_name()?)));
        let real = real.as_deref().unwrap_or(&path);
        let inside = real.strip_prefix(&self.root).ok()?.to_str()?;
        // Git writes a reference under the name of its lock. Objects are never restored.
        let (is_git, is_object) =
            (inside.starts_with(".git/"), inside.starts_with(".git/objects/"));
        let name = inside.strip_suffix(".lock").filter(|_| is_git).unwrap_or(inside);
        (!inside.is_empty() && inside != ".git" && !is_object).then(|| name.to_owned())
    }
}

impl Left {
    fn of(path: &Path) -> Self {
        let Ok(found) = fs::symlink_metadata(path) else { return Self::Missing };
        if found.is_dir() {
            return Self::Directory;
        }
        if found.is_symlink() {
            return Self::Link { target: fs::read_link(path).unwrap_or_default() };
        }
        identity(&found)
    }
}

#[cfg(unix)]
fn identity(found: &fs::Metadata) -> Left {
    use std::os::unix::fs::MetadataExt as _;
    Left::File {
        inode: found.ino(),
        size: found.len(),
        modified: (found.mtime(), found.mtime_nsec()),
        changed: (found.ctime(), found.ctime_nsec()),
    }
}

#[cfg(not(unix))]
fn identity(found: &fs::Metadata) -> Left {
    let since =
        found.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    let seconds = since.map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(0));
    let nanos = since.map_or(0, |since| i64::from(since.subsec_nanos()));
    let modified = (seconds, nanos);
    Left::File { inode: 0, size: found.len(), modified, changed: modified }
}

/// Returns a path without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(normal.pop()),
            part => normal.push(part),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    struct TestEnv {
        directory: tempfile::TempDir,
        written: Written,
    }

    impl TestEnv {
        fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            let root = directory.path().canonicalize().unwrap().join("work");
            fs::create_dir(&root).unwrap();
            let written = Written::open(&root, &directory.path().join("written")).unwrap();
            Self { directory, written }
        }

        fn reopen(&mut self) {
            let root = self.written.root.clone();
            self.written = Written::open(&root, &self.directory.path().join("written")).unwrap();
        }

        fn put(&self, path: &str, text: &str) {
            let path = self.written.root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        /// A call of the agent that writes these paths.
        fn call(&mut self, paths: &[&str]) {
            self.written.begun();
            for path in paths {
                let path = self.written.root.join(path);
                self.written.writes(std::slice::from_ref(&path), false).unwrap();
            }
            for path in paths {
                self.put(path, "agent");
            }
            self.written.ended().unwrap();
        }

        fn choice(&self, path: &str) -> Choice {
            self.written.choose(path, false)
        }
    }

    #[test]
    fn paths_of_the_agent_are_restored_unless_another_program_wrote_them() {
        let mut env = TestEnv::new();
        env.call(&["a", "b", "src/c"]);
        env.put("b", "user!");
        env.put("mine", "user");
        for _ in 0..2 {
            assert_eq!(env.choice("a"), Choice::Restore);
            assert_eq!(env.choice("src/c"), Choice::Restore);
            assert_eq!(env.choice("b"), Choice::Conflict);
            assert_eq!(env.choice("mine"), Choice::Leave);
            env.reopen();
        }
        env.written.undone().unwrap();
        env.reopen();
        assert_eq!(env.choice("a"), Choice::Leave);
        assert!(env.written.has_ever("a") && env.written.has_ever("src"));
        assert!(!env.written.has_ever("mine"));
    }

    #[test]
    fn references_are_recorded_without_their_locks_and_objects_are_not() {
        let mut env = TestEnv::new();
        env.put(".git/refs/heads/theirs", "1");
        env.written.begun();
        for path in [".git/refs/heads/x.lock", ".git/objects/aa/bb"] {
            let path = env.written.root.join(path);
            env.written.writes(&[path], false).unwrap();
        }
        env.put(".git/refs/heads/x", "2");
        env.written.ended().unwrap();
        assert_eq!(env.choice(".git/refs/heads/x"), Choice::Restore);
        assert_eq!(env.choice(".git/refs/heads/theirs"), Choice::Leave);
        assert!(!env.written.has_ever(".git/objects/aa/bb"));
        env.put(".git/refs/heads/x", "user");
        assert_eq!(env.choice(".git/refs/heads/x"), Choice::Conflict);
    }

    #[test]
    fn paths_of_a_call_that_did_not_end_are_conflicts() {
        let mut env = TestEnv::new();
        env.written.begun();
        let path = env.written.root.join("src/../half");
        env.written.writes(&[path], false).unwrap();
        env.put("half", "agent");
        env.reopen();
        assert_eq!(env.choice("half"), Choice::Conflict);
    }

    #[test]
    fn moved_directories_are_the_agents_with_what_they_have() {
        let mut env = TestEnv::new();
        env.put("old/x", "text");
        let (from, to) = (env.written.root.join("old"), env.written.root.join("new"));
        env.written.begun();
        env.written.writes(&[from.clone(), to.clone()], true).unwrap();
        fs::rename(&from, &to).unwrap();
        env.written.ended().unwrap();
        env.put("new/mine", "user");
        assert_eq!(env.choice("old/x"), Choice::Restore);
        assert_eq!(env.choice("new/x"), Choice::Restore);
        assert_eq!(env.choice("new/mine"), Choice::Leave);
        env.put("new/x", "user");
        assert_eq!(env.choice("new/x"), Choice::Conflict);
    }
}
