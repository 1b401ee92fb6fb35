//! Walks over directory trees that return the first results by path.
//!
//! The crate `ignore` decides which files are visited, as in `rg` and `fd`. Results are sorted by
//! path. The walk begins in that order on a single thread: a search with many results ends before
//! more threads would pay off. Otherwise the walk continues on several threads, in any order. Once
//! there are enough results, entries that would come after the last of them are skipped, including
//! whole directories.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::future::{Future, poll_fn};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering as Memory};
use std::task::Poll;

use ignore::{DirEntry, WalkBuilder, WalkState};
use pi_agent::ToolError;
use pi_base::{lock, unpoisoned};
use pi_protocol::{CancelOnDrop, CancelToken};

use crate::change::unless_aborted;
use crate::executor::{Executor, FileKind, PathPredicate};
use crate::mirror::Mirror;
use crate::os_error;
use crate::workspace::{Workspace, aborted};

/// Maximum number of threads; more wait for each other and for the disk.
const MAX_THREADS: usize = 8;
/// Entries that are visited in order before more threads start: twice the default limit of `find`.
const IN_ORDER: usize = 2000;

/// The root of a search: its path for the model and its path for this process.
#[derive(Debug)]
pub(crate) struct SearchRoot {
    pub(crate) path: PathBuf,
    pub(crate) host: PathBuf,
    pub(crate) kind: FileKind,
    /// The copy at `host`, if this process cannot reach the original.
    pub(crate) mirror: Option<Mirror>,
    hidden: HiddenPaths,
}

/// Real paths that a search must not show.
#[derive(Clone, Default)]
struct HiddenPaths {
    /// Canonical path of the search root.
    real: PathBuf,
    /// Paths that must not be entered; not even their names are shown.
    closed: Option<PathPredicate>,
    /// Files whose names are shown, but not their content.
    unreadable: Option<PathPredicate>,
}

pi_protocol::debug_fields!(HiddenPaths, real);

impl SearchRoot {
    /// Resolves the path of a search.
    pub(crate) async fn find(
        workspace: &Workspace,
        path: Option<&str>,
        cancel: &CancelToken,
    ) -> Result<Self, ToolError> {
        let path = workspace.resolve(path.unwrap_or("."));
        let executor = workspace.executor();
        let found = unless_aborted(cancel, executor.stat(&path)).await?;
        let kind = found.map_err(|error| not_found(&error, &path))?.kind;
        let (closed, unreadable) = (executor.hidden_paths(), workspace.unreadable().cloned());
        let mut hidden = HiddenPaths { real: PathBuf::new(), closed, unreadable };
        if hidden.closed.is_some() || hidden.unreadable.is_some() {
            let real = unless_aborted(cancel, executor.canonical(&path)).await?;
            hidden.real = real.map_err(|error| not_found(&error, &path))?;
        }
        if let Some(host) = executor.host_path(&path) {
            return Ok(Self { path, host, kind, mirror: None, hidden });
        }
        if kind == FileKind::Other {
            // Callers refuse to search it.
            return Ok(Self { host: PathBuf::new(), path, kind, mirror: None, hidden });
        }
        let mirror = unless_aborted(cancel, Mirror::new(executor, &path, kind)).await??;
        Ok(Self { host: mirror.local_path(&path), path, kind, mirror: Some(mirror), hidden })
    }

    /// Creates a walk that visits the same files as `rg --hidden` and `fd --hidden`, without
    /// directories that must not be entered.
    pub(crate) fn builder(&self) -> WalkBuilder {
        let mut builder = builder(&self.host);
        if let Some(closed) = self.hidden.closed.clone() {
            let (host, real) = (self.host.clone(), self.hidden.real.clone());
            builder.filter_entry(move |entry| {
                let inside = entry.path().strip_prefix(&host).ok().and_then(Path::parent);
                // The name of a closed directory is visible in its parent.
                !inside.is_some_and(|directory| closed(&real.join(directory)))
            });
        }
        builder
    }

    /// Returns true if the content of an open file may be shown. To be called after opening: before
    /// that, the name may be changed to lead to another file.
    pub(crate) fn may_show(&self, file: &File, local: &Path) -> bool {
        let HiddenPaths { real, closed, unreadable } = &self.hidden;
        let mut tests = closed.iter().chain(unreadable).peekable();
        if tests.peek().is_none() {
            return true;
        }
        let real = match &self.mirror {
            // No other process changes the copy, and it has no links to files.
            Some(_) => local.strip_prefix(&self.host).ok().map(|inside| match inside.as_os_str() {
                inside if inside.is_empty() => real.clone(),
                inside => real.join(inside),
            }),
            None => path_of(file, local),
        };
        real.is_some_and(|real| !tests.any(|test| test(&real)))
    }

    /// Returns the local path of another path of the executor.
    pub(crate) fn host_path(&self, executor: &dyn Executor, path: &Path) -> PathBuf {
        let mirrored = || self.mirror.as_ref().map(|mirror| mirror.local_path(path));
        executor.host_path(path).or_else(mirrored).unwrap_or_default()
    }

    fn is_unreadable(&self, local: &Path) -> bool {
        self.mirror.as_ref().is_some_and(|mirror| mirror.is_unreadable(local))
    }
}

/// Describes the error of a search root.
pub(crate) fn not_found(error: &std::io::Error, path: &Path) -> ToolError {
    match error.kind() {
        // The path may exist.
        std::io::ErrorKind::ConnectionAborted => ToolError::new(error.to_string()),
        _ if os_error::denial(error).is_some() => os_error::on_path(error, "access", path),
        _ => ToolError::new(format!("Path not found: {}", path.display())),
    }
}

/// Runs `work` on a thread that may block. The returned future does not wait for it after an abort:
/// `work` receives a token that is canceled then, or when the future is dropped.
pub(crate) async fn blocking<T: Send + 'static>(
    cancel: &CancelToken,
    work: impl FnOnce(&CancelToken) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let unwanted = CancelOnDrop(cancel.child());
    let token = unwanted.0.clone();
    let mut task = pin!(tokio::task::spawn_blocking(move || work(&token)));
    let mut cancelled = pin!(cancel.cancelled());
    let done = poll_fn(|cx| match cancelled.as_mut().poll(cx) {
        Poll::Ready(()) => Poll::Ready(None),
        Poll::Pending => task.as_mut().poll(cx).map(Some),
    });
    match done.await {
        None => Err(aborted()),
        Some(Ok(result)) => result,
        Some(Err(error)) => match error.try_into_panic() {
            // The panic continues here; the agent loop turns it into a result.
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(aborted()),
        },
    }
}

/// Returns the real path of an open file.
fn path_of(file: &File, local: &Path) -> Option<PathBuf> {
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd;
        use std::os::unix::fs::MetadataExt;
        let _ = local;
        // A file that was removed has no path to test.
        file.metadata().ok().filter(|metadata| metadata.nlink() > 0)?;
        std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = file;
        std::fs::canonicalize(local).ok()
    }
}

fn builder(root: &Path) -> WalkBuilder {
    let mut builder = WalkBuilder::new(root);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    builder
        .hidden(false)
        // The user's global list of ignored files is found through the environment, which this
        // library must not read.
        .git_global(false)
        .sort_by_file_name(order_of_names)
        .threads(cores.min(MAX_THREADS));
    builder
}

/// Walks a tree and passes each entry below the root to the visitor of its thread. Returns the
/// first results by path whose weights add up to at least `limit`.
pub(crate) fn first_results<T: Send, V>(
    builder: &WalkBuilder,
    root: &SearchRoot,
    limit: usize,
    cancel: &CancelToken,
    visitor: impl Fn() -> V,
) -> Result<WalkResults<T>, ToolError>
where
    V: FnMut(&DirEntry, &Path) -> Visit<T> + Send,
{
    let walk = Walk { root, cancel, first: FirstResults::new(limit), unread: AtomicUsize::new(0) };
    if let Some(done) = walk.in_order(builder, visitor()) {
        walk.in_parallel(builder, &done, visitor);
    }
    if cancel.is_cancelled() {
        return Err(aborted());
    }
    Ok(WalkResults { found: walk.first.into_results(), unread: walk.unread.into_inner() })
}

/// The results of a walk.
#[derive(Debug)]
pub(crate) struct WalkResults<T> {
    pub(crate) found: Vec<T>,
    /// Number of entries that could not be read.
    pub(crate) unread: usize,
}

/// A walk and its results.
struct Walk<'a, T> {
    root: &'a SearchRoot,
    cancel: &'a CancelToken,
    first: FirstResults<T>,
    unread: AtomicUsize,
}

impl<T: Send> Walk<'_, T> {
    /// Visits entries in order. Returns the last path if both the tree and the search continue.
    fn in_order(
        &self,
        builder: &WalkBuilder,
        mut visit: impl FnMut(&DirEntry, &Path) -> Visit<T>,
    ) -> Option<PathBuf> {
        let mut looked_at = 0;
        for entry in builder.build() {
            if self.cancel.is_cancelled() {
                return None;
            }
            let Some(entry) = self.readable(entry) else { continue };
            let Some(path) = self.inside(&entry) else { continue };
            self.visit(&entry, path, &mut visit);
            if self.first.is_full() {
                return None;
            }
            looked_at += 1;
            if looked_at == IN_ORDER {
                return Some(path.to_owned());
            }
        }
        None
    }

    /// Visits the entries after a path.
    fn in_parallel<V>(&self, builder: &WalkBuilder, done: &Path, visitor: impl Fn() -> V)
    where
        V: FnMut(&DirEntry, &Path) -> Visit<T> + Send,
    {
        builder.build_parallel().run(|| {
            let mut visit = visitor();
            Box::new(move |entry| {
                if self.cancel.is_cancelled() {
                    return WalkState::Quit;
                }
                let Some(entry) = self.readable(entry) else { return WalkState::Continue };
                let Some(path) = self.inside(&entry) else { return WalkState::Continue };
                if order(path, done) != Ordering::Greater {
                    // Among the visited directories, only the parents of the last path have
                    // unvisited entries.
                    return if done.starts_with(path) {
                        WalkState::Continue
                    } else {
                        WalkState::Skip
                    };
                }
                if self.first.comes_too_late(path) {
                    return WalkState::Skip;
                }
                self.visit(&entry, path, &mut visit);
                WalkState::Continue
            })
        });
    }

    fn readable(&self, entry: Result<DirEntry, ignore::Error>) -> Option<DirEntry> {
        if entry.is_err() {
            self.unread.fetch_add(1, Memory::Relaxed);
        }
        entry.ok()
    }

    /// Returns the path relative to the root; `None` for the root itself.
    fn inside<'e>(&self, entry: &'e DirEntry) -> Option<&'e Path> {
        let path = entry.path().strip_prefix(&self.root.host).ok()?;
        (!path.as_os_str().is_empty()).then_some(path)
    }

    fn visit(
        &self,
        entry: &DirEntry,
        path: &Path,
        visit: &mut impl FnMut(&DirEntry, &Path) -> Visit<T>,
    ) {
        if self.root.is_unreadable(entry.path()) {
            self.unread.fetch_add(1, Memory::Relaxed);
            if entry.file_type().is_some_and(|kind| kind.is_file()) {
                return;
            }
        }
        match visit(entry, path) {
            Visit::Nothing => {}
            Visit::Unread => drop(self.unread.fetch_add(1, Memory::Relaxed)),
            Visit::Found(finding, weight) => self.first.insert(path, finding, weight),
        }
    }
}

/// Returns the files of a walk, relative to its root.
pub(crate) fn files(
    builder: &WalkBuilder,
    root: &Path,
    cancel: &CancelToken,
) -> Result<Vec<PathBuf>, ToolError> {
    let mut files = Vec::new();
    for entry in builder.build() {
        if cancel.is_cancelled() {
            return Err(aborted());
        }
        // The walk of the search reports unreadable entries.
        let Ok(entry) = entry else { continue };
        if entry.file_type().is_some_and(|kind| kind.is_file())
            && let Ok(path) = entry.path().strip_prefix(root)
        {
            files.push(path.to_owned());
        }
    }
    Ok(files)
}

/// The result of visiting an entry.
#[derive(Debug)]
pub(crate) enum Visit<T> {
    Nothing,
    /// The entry could not be read.
    Unread,
    /// A result and its weight.
    Found(T, usize),
}

/// The first results so far.
#[derive(Debug)]
struct FirstResults<T> {
    limit: usize,
    /// Enough results were found. Checked for each entry, so not behind the lock.
    full: AtomicBool,
    found: Mutex<Collected<T>>,
}

#[derive(Debug)]
struct Collected<T> {
    by_path: BTreeMap<OrderedPath, (T, usize)>,
    weight: usize,
}

impl<T> FirstResults<T> {
    fn new(limit: usize) -> Self {
        let found = Collected { by_path: BTreeMap::new(), weight: 0 };
        Self { limit, full: AtomicBool::new(false), found: Mutex::new(found) }
    }

    fn is_full(&self) -> bool {
        self.full.load(Memory::Relaxed)
    }

    /// Returns true if no result at or below a path can be among the first.
    fn comes_too_late(&self, path: &Path) -> bool {
        self.is_full()
            && lock(&self.found)
                .by_path
                .last_key_value()
                .is_some_and(|(last, _)| last.is_before(path))
    }

    fn insert(&self, path: &Path, finding: T, weight: usize) {
        let mut found = lock(&self.found);
        found.by_path.insert(OrderedPath(path.to_owned()), (finding, weight));
        found.weight += weight;
        while let Some(last) = found.by_path.last_entry() {
            let weight = last.get().1;
            if found.weight - weight < self.limit {
                break;
            }
            found.by_path.pop_last();
            found.weight -= weight;
        }
        self.full.store(found.weight >= self.limit, Memory::Relaxed);
    }

    fn into_results(self) -> Vec<T> {
        let found = unpoisoned(self.found.into_inner());
        found.by_path.into_values().map(|(finding, _)| finding).collect()
    }
}

/// A path in the order of results: name by name, so that the entries of a directory stay together.
/// `.git` comes last, because its objects are rarely wanted.
#[derive(Debug, PartialEq, Eq)]
struct OrderedPath(PathBuf);

impl OrderedPath {
    fn is_before(&self, path: &Path) -> bool {
        order(&self.0, path) == Ordering::Less
    }
}

impl Ord for OrderedPath {
    fn cmp(&self, other: &Self) -> Ordering {
        order(&self.0, &other.0)
    }
}

impl PartialOrd for OrderedPath {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

fn order(a: &Path, b: &Path) -> Ordering {
    fn names(path: &Path) -> impl Iterator<Item = (bool, &[u8])> {
        let is_separator = |byte: &u8| std::path::is_separator(char::from(*byte));
        path.as_os_str().as_encoded_bytes().split(is_separator).map(name_key)
    }
    names(a).cmp(names(b))
}

/// Compares two names in one directory.
fn order_of_names(a: &OsStr, b: &OsStr) -> Ordering {
    name_key(a.as_encoded_bytes()).cmp(&name_key(b.as_encoded_bytes()))
}

fn name_key(name: &[u8]) -> (bool, &[u8]) {
    (name == b".git", name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_sorted_by_name_with_git_last() {
        let expected =
            [".config", "a", "a/.z", "a/b", "a/b/c", "a/.git", "a.txt", "ab", ".git", ".git/a"];
        let mut paths: Vec<&Path> = expected.iter().map(Path::new).collect();
        paths.reverse();
        paths.sort_by(|a, b| order(a, b));
        assert_eq!(paths, expected.map(Path::new));
    }

    #[test]
    fn first_results_are_kept_in_any_order_of_arrival() {
        let first = FirstResults::new(3);
        for (path, weight) in [("d", 1), ("c", 2), ("e", 5), ("b", 1)] {
            first.insert(Path::new(path), path, weight);
        }
        assert!(first.comes_too_late(Path::new("c/below")) && first.comes_too_late(Path::new("d")));
        assert!(!first.comes_too_late(Path::new("b/x")));
        first.insert(Path::new("a"), "a", 1);
        assert_eq!(first.into_results(), ["a", "b", "c"]);
    }
}
