//! Walking a tree, and the first results by path out of it.
//!
//! Which files there are is decided by the crate `ignore`, as for `rg` and `fd`. Results are in
//! the order of their paths. The walk begins in that order, on one thread: a search that many
//! entries satisfy is over before there would be a second one. A search that is not goes on with
//! several, in any order: once there are enough results, everything that would come after the last
//! of them is left out, whole directories unread.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::future::{Future, poll_fn};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering as Memory};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use ignore::{DirEntry, WalkBuilder, WalkState};
use pi_agent::ToolError;
use pi_protocol::CancelToken;

use crate::change::unless_aborted;
use crate::executor::{Executor, FileKind, PathPredicate};
use crate::mirror::Mirror;
use crate::os_error;
use crate::workspace::Workspace;

/// More threads than this wait for each other and for the disk.
const MAX_THREADS: usize = 8;
/// Entries that are looked at in order before there are several threads: twice what `find` shows.
const IN_ORDER: usize = 2000;

/// What a tool says that was told to stop.
pub(crate) fn aborted() -> ToolError {
    ToolError::new("Operation aborted")
}

/// Where a search begins: the path as the model knows it, and as this process does.
#[derive(Debug)]
pub(crate) struct Start {
    pub(crate) path: PathBuf,
    pub(crate) host: PathBuf,
    pub(crate) kind: FileKind,
    /// The copy that the path leads to, if this process cannot reach the original.
    pub(crate) mirror: Option<Mirror>,
    hidden: Hidden,
}

/// Real paths, and what must not be looked into among them.
#[derive(Clone, Default)]
struct Hidden {
    /// Where the search begins, without links.
    real: PathBuf,
    /// What nobody may look into: not even names are shown.
    closed: Option<PathPredicate>,
    /// Files whose names are shown, but not their content.
    unreadable: Option<PathPredicate>,
}

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hidden").field("real", &self.real).finish_non_exhaustive()
    }
}

impl Start {
    /// Finds the place to search.
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
        let mut hidden = Hidden { real: PathBuf::new(), closed, unreadable };
        if hidden.closed.is_some() || hidden.unreadable.is_some() {
            let real = unless_aborted(cancel, executor.canonical(&path)).await?;
            hidden.real = real.map_err(|error| not_found(&error, &path))?;
        }
        if let Some(host) = executor.host_path(&path) {
            return Ok(Self { path, host, kind, mirror: None, hidden });
        }
        if kind == FileKind::Other {
            // Not to be searched by anyone.
            return Ok(Self { host: PathBuf::new(), path, kind, mirror: None, hidden });
        }
        let mirror = unless_aborted(cancel, Mirror::new(executor, &path, kind)).await??;
        Ok(Self { host: mirror.place(&path), path, kind, mirror: Some(mirror), hidden })
    }

    /// A walk that sees what `rg --hidden` and `fd --hidden` see, but not what is in directories
    /// that nobody may look into.
    pub(crate) fn builder(&self) -> WalkBuilder {
        let mut builder = builder(&self.host);
        if let Some(closed) = self.hidden.closed.clone() {
            let (host, real) = (self.host.clone(), self.hidden.real.clone());
            builder.filter_entry(move |entry| {
                let inside = entry.path().strip_prefix(&host).ok().and_then(Path::parent);
                // Its own name may be known.
                !inside.is_some_and(|directory| closed(&real.join(directory)))
            });
        }
        builder
    }

    /// Whether the content of an open file may be shown. Asked after it was opened: its name may
    /// lead elsewhere at any moment.
    pub(crate) fn may_show(&self, file: &File, place: &Path) -> bool {
        let Hidden { real, closed, unreadable } = &self.hidden;
        let mut tests = closed.iter().chain(unreadable).peekable();
        if tests.peek().is_none() {
            return true;
        }
        let real = match &self.mirror {
            // Nobody exchanges anything there, and there are no links.
            Some(_) => place.strip_prefix(&self.host).ok().map(|inside| match inside.as_os_str() {
                inside if inside.is_empty() => real.clone(),
                inside => real.join(inside),
            }),
            None => path_of(file, place),
        };
        real.is_some_and(|real| !tests.any(|test| test(&real)))
    }

    /// Where this process sees another path of the executor.
    pub(crate) fn host_path(&self, executor: &dyn Executor, path: &Path) -> PathBuf {
        let mirrored = || self.mirror.as_ref().map(|mirror| mirror.place(path));
        executor.host_path(path).or_else(mirrored).unwrap_or_default()
    }

    fn is_unreadable(&self, place: &Path) -> bool {
        self.mirror.as_ref().is_some_and(|mirror| mirror.is_unreadable(place))
    }
}

/// What a tool says about a path that it cannot begin with.
pub(crate) fn not_found(error: &std::io::Error, path: &Path) -> ToolError {
    match error.kind() {
        // Nothing is known about the path then.
        std::io::ErrorKind::ConnectionAborted => ToolError::new(error.to_string()),
        _ if os_error::denial(error).is_some() => os_error::on_path(error, "access", path),
        _ => ToolError::new(format!("Path not found: {}", path.display())),
    }
}

/// Does something on a thread that may wait. Nobody waits for it once it is to stop: `work` gets
/// a token that is cancelled then, or when the result is no longer wanted.
pub(crate) async fn blocking<T: Send + 'static>(
    cancel: &CancelToken,
    work: impl FnOnce(&CancelToken) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    struct CancelOnDrop(CancelToken);
    impl Drop for CancelOnDrop {
        fn drop(&mut self) {
            self.0.cancel();
        }
    }
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
            // A panic in there goes on out here; the loop makes a result of it.
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(aborted()),
        },
    }
}

/// The real path of an open file.
fn path_of(file: &File, place: &Path) -> Option<PathBuf> {
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd;
        use std::os::unix::fs::MetadataExt;
        let _ = place;
        // What was removed meanwhile has no path that could be judged.
        file.metadata().ok().filter(|metadata| metadata.nlink() > 0)?;
        std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = file;
        std::fs::canonicalize(place).ok()
    }
}

fn builder(root: &Path) -> WalkBuilder {
    let mut builder = WalkBuilder::new(root);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    builder
        .hidden(false)
        // The user's own list of ignored files is found through the environment, which is not
        // for libraries to read.
        .git_global(false)
        .sort_by_file_name(order_of_names)
        .threads(cores.min(MAX_THREADS));
    builder
}

/// Walks, and gives each entry below the root to the visitor of its thread, which returns what it
/// found there and how much that counts. The first findings by path that count at least `limit`
/// together are returned, and how many entries were unreadable.
pub(crate) fn first<T: Send, V>(
    builder: &WalkBuilder,
    start: &Start,
    limit: usize,
    cancel: &CancelToken,
    visitor: impl Fn() -> V,
) -> Result<(Vec<T>, usize), ToolError>
where
    V: FnMut(&DirEntry, &Path) -> Visit<T> + Send,
{
    let walk = Walk { start, cancel, first: First::new(limit), unread: AtomicUsize::new(0) };
    if let Some(done) = walk.in_order(builder, visitor()) {
        walk.in_parallel(builder, &done, visitor);
    }
    if cancel.is_cancelled() {
        return Err(aborted());
    }
    Ok((walk.first.into_found(), walk.unread.into_inner()))
}

/// A walk and what it has found.
struct Walk<'a, T> {
    start: &'a Start,
    cancel: &'a CancelToken,
    first: First<T>,
    unread: AtomicUsize,
}

impl<T: Send> Walk<'_, T> {
    /// Walks in order. Returns the last path if neither the tree nor the search ended with it.
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

    /// Walks what comes after a path.
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
                    // Of what was looked at, only the way to the last has anything new below it.
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

    /// The path from the root on; nothing for the root itself.
    fn inside<'e>(&self, entry: &'e DirEntry) -> Option<&'e Path> {
        let path = entry.path().strip_prefix(&self.start.host).ok()?;
        (!path.as_os_str().is_empty()).then_some(path)
    }

    fn visit(
        &self,
        entry: &DirEntry,
        path: &Path,
        visit: &mut impl FnMut(&DirEntry, &Path) -> Visit<T>,
    ) {
        if self.start.is_unreadable(entry.path()) {
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

/// The files of a walk, seen from its root.
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
        // What cannot be read here will not be read either by the walk that counts.
        let Ok(entry) = entry else { continue };
        if entry.file_type().is_some_and(|kind| kind.is_file())
            && let Ok(path) = entry.path().strip_prefix(root)
        {
            files.push(path.to_owned());
        }
    }
    Ok(files)
}

/// What a visitor made of an entry.
#[derive(Debug)]
pub(crate) enum Visit<T> {
    Nothing,
    /// It could not be read.
    Unread,
    /// A finding, and how much it counts.
    Found(T, usize),
}

/// The first findings so far.
#[derive(Debug)]
struct First<T> {
    limit: usize,
    /// Whether there are enough: asked for each entry, so not behind the lock.
    full: AtomicBool,
    found: Mutex<Found<T>>,
}

#[derive(Debug)]
struct Found<T> {
    by_path: BTreeMap<Place, (T, usize)>,
    weight: usize,
}

impl<T> First<T> {
    fn new(limit: usize) -> Self {
        let found = Found { by_path: BTreeMap::new(), weight: 0 };
        Self { limit, full: AtomicBool::new(false), found: Mutex::new(found) }
    }

    fn lock(&self) -> MutexGuard<'_, Found<T>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_full(&self) -> bool {
        self.full.load(Memory::Relaxed)
    }

    /// Whether nothing at or below a path can be among the first any more.
    fn comes_too_late(&self, path: &Path) -> bool {
        self.is_full()
            && self.lock().by_path.last_key_value().is_some_and(|(last, _)| last.is_before(path))
    }

    fn insert(&self, path: &Path, finding: T, weight: usize) {
        let mut found = self.lock();
        found.by_path.insert(Place(path.to_owned()), (finding, weight));
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

    fn into_found(self) -> Vec<T> {
        let found = self.found.into_inner().unwrap_or_else(PoisonError::into_inner);
        found.by_path.into_values().map(|(finding, _)| finding).collect()
    }
}

/// A path in the order of results: name by name, so that what is in a directory stays together.
/// `.git` comes last: whoever looks into a project does not want the first hundred of its objects.
#[derive(Debug, PartialEq, Eq)]
struct Place(PathBuf);

impl Place {
    fn is_before(&self, path: &Path) -> bool {
        order(&self.0, path) == Ordering::Less
    }
}

impl Ord for Place {
    fn cmp(&self, other: &Self) -> Ordering {
        order(&self.0, &other.0)
    }
}

impl PartialOrd for Place {
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

/// The same for what is in one directory.
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
    fn paths_are_in_order() {
        let expected =
            [".config", "a", "a/.z", "a/b", "a/b/c", "a/.git", "a.txt", "ab", ".git", ".git/a"];
        let mut paths: Vec<&Path> = expected.iter().map(Path::new).collect();
        paths.reverse();
        paths.sort_by(|a, b| order(a, b));
        assert_eq!(paths, expected.map(Path::new));
    }

    #[test]
    fn the_first_are_kept_whatever_comes_first() {
        let first = First::new(3);
        for (path, weight) in [("d", 1), ("c", 2), ("e", 5), ("b", 1)] {
            first.insert(Path::new(path), path, weight);
        }
        assert!(first.comes_too_late(Path::new("c/below")) && first.comes_too_late(Path::new("d")));
        assert!(!first.comes_too_late(Path::new("b/x")));
        first.insert(Path::new("a"), "a", 1);
        assert_eq!(first.into_found(), ["a", "b", "c"]);
    }
}
