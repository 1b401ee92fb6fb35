//! Removal of checkpoints that are too old or do not fit, and of contents that no session needs.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use pi_fs::if_exists;

use super::index::Index;
use super::journal::Journal;
use super::mirror;
use super::objects::{self, Objects};
use super::store::{Lease, Store};
use super::{CheckpointError, Limits};

/// The size of the checkpoints of all sessions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Usage {
    /// Number of sessions with checkpoints.
    pub sessions: usize,
    /// Size of all files, in bytes.
    pub bytes: u64,
}

/// The result of a removal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pruned {
    /// Names of the session directories that were removed, oldest first.
    pub sessions: Vec<String>,
    /// Bytes that were freed.
    pub freed: u64,
    /// The checkpoints that are left.
    pub left: Usage,
}

/// A session with checkpoints.
struct Stored {
    path: PathBuf,
    used: SystemTime,
    /// Size of the files in its own directory.
    own: u64,
    /// Contents of the shared store that it needs.
    needs: HashSet<String>,
}

/// Returns the size of the checkpoints of all sessions. `sessions` is the directory that contains
/// the directories of the sessions.
pub fn usage(sessions: &Path) -> Result<Usage, CheckpointError> {
    let read = || {
        let mut usage = Usage::default();
        for session in directories(sessions)? {
            usage.sessions += 1;
            usage.bytes += size(&session)?;
        }
        objects::each(&Store::of(sessions).objects(), |_, _, size| {
            usage.bytes += size;
            Ok(())
        })?;
        usage.bytes += mirror::size(&Store::of(sessions).mirrors())?;
        Ok(usage)
    };
    read().map_err(CheckpointError::io("read", sessions))
}

/// Removes checkpoints of sessions that were not used for [`Limits::age`], then those of the
/// oldest sessions until the rest fits into [`Limits::store_bytes`], and all contents that no
/// session needs. Sessions in use stay. Returns `None` while a checkpoint is being taken.
pub fn prune(
    sessions: &Path,
    limits: &Limits,
    now: SystemTime,
) -> Result<Option<Pruned>, CheckpointError> {
    let store = Store::of(sessions);
    let failed = |action| CheckpointError::io(action, sessions);
    if !sessions.is_dir() {
        return Ok(Some(Pruned::default()));
    }
    if !store.exists() {
        fs::create_dir_all(store.objects()).map_err(failed("create"))?;
    }
    let Some(_exclusive) = store.try_exclusive().map_err(failed("lock"))? else { return Ok(None) };
    let before = usage(sessions)?.bytes;
    let mut stored = load(sessions, &store)?;
    let mut pruned = Pruned::default();
    let is_old =
        |session: &Stored| now.duration_since(session.used).is_ok_and(|age| age > limits.age);
    let mut sizes = HashMap::new();
    objects::each(&store.objects(), |name, _, size| {
        sizes.extend(name.map(|name| (name.to_owned(), size)));
        Ok(())
    })
    .map_err(failed("read"))?;
    let mut users: HashMap<String, usize> = HashMap::new();
    for name in stored.iter().flat_map(|session| &session.needs) {
        *users.entry(name.clone()).or_default() += 1;
    }
    let size_of = |name: &String| sizes.get(name).copied().unwrap_or_default();
    let needed: u64 = users.keys().map(size_of).sum();
    let mirrored = || mirror::size(&store.mirrors()).map_err(failed("read"));
    let mut total = mirrored()? + needed + stored.iter().map(|session| session.own).sum::<u64>();
    stored.sort_by_key(|session| session.used);
    for session in stored {
        if !is_old(&session) && total <= limits.store_bytes {
            pruned.left.sessions += 1;
            continue;
        }
        if !remove(&session.path).map_err(CheckpointError::io("remove", &session.path))? {
            pruned.left.sessions += 1;
            continue;
        }
        total -= session.own;
        for name in &session.needs {
            if let Some(count) = users.get_mut(name) {
                *count -= 1;
                if *count == 0 {
                    total -= size_of(name);
                    users.remove(name);
                }
            }
        }
        let name = session.path.file_name().unwrap_or_default();
        pruned.sessions.push(name.to_string_lossy().into_owned());
    }
    let kept: HashSet<String> = users.into_keys().collect();
    let is_session = |name: &str| sessions.join(name).join("journal").is_file();
    // Objects that a repository has lost are what is given up first if the rest does not fit.
    let too_old = now.checked_sub(limits.age).unwrap_or(SystemTime::UNIX_EPOCH);
    let oldest = if total > limits.store_bytes { now } else { too_old };
    let oldest = oldest.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    let before_mirrors = mirrored()?;
    mirror::prune(&store.mirrors(), &is_session, oldest).map_err(failed("clean"))?;
    total -= before_mirrors.saturating_sub(mirrored()?).min(total);
    sweep(&store, &kept, limits.age, now).map_err(failed("clean"))?;
    store.set_size(total).map_err(failed("clean"))?;
    pruned.left.bytes = usage(sessions)?.bytes;
    pruned.freed = before.saturating_sub(pruned.left.bytes);
    Ok(Some(pruned))
}

/// Reads what each session needs. An unreadable journal is an error: its contents must stay.
fn load(sessions: &Path, store: &Store) -> Result<Vec<Stored>, CheckpointError> {
    let failed = || CheckpointError::io("read", sessions);
    let mut stored = Vec::new();
    for path in directories(sessions).map_err(failed())? {
        let objects = Objects::new(store.objects(), path.join("objects"));
        let needs = Journal::needs(&path.join("journal"), &objects)?;
        let journal = fs::metadata(path.join("journal")).or_else(|_| fs::metadata(&path));
        let used = journal.and_then(|metadata| metadata.modified()).map_err(failed())?;
        let own = size(&path).map_err(failed())?;
        stored.push(Stored { path, used, own, needs });
    }
    Ok(stored)
}

/// Removes a session, unless a process uses it. Returns true if it was removed.
fn remove(session: &Path) -> io::Result<bool> {
    let Some(_lock) = Lease::try_end(session)? else { return Ok(false) };
    // The journal goes first: without it, the rest means nothing.
    if_exists(fs::remove_file(session.join("journal")))?;
    fs::remove_dir_all(session).map(|()| true)
}

/// Removes all contents except these, and what indexes know about the others.
fn sweep(store: &Store, kept: &HashSet<String>, age: Duration, now: SystemTime) -> io::Result<()> {
    // The indexes first: after a crash in between, contents are only stored again.
    for index in if_exists(fs::read_dir(store.indexes()))?.into_iter().flatten() {
        let index = index?;
        let written = index.metadata()?.modified()?;
        if now.duration_since(written).is_ok_and(|since| since > age) {
            fs::remove_file(index.path())?;
            continue;
        }
        let mut content = Index::load(&index.path());
        content.retain_contents(kept);
        content.save(&index.path());
    }
    objects::each(&store.objects(), |name, path, _| {
        if name.is_some_and(|name| kept.contains(name)) { Ok(()) } else { fs::remove_file(path) }
    })
}

/// Returns the directories of sessions.
fn directories(sessions: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in if_exists(fs::read_dir(sessions))?.into_iter().flatten() {
        let entry = entry?;
        let path = entry.path();
        // Other directories are not touched. Without a journal, a lock is the rest of a removal.
        let is_session = path.join("journal").is_file() || path.join("lock").is_file();
        if is_session && path != Store::of(sessions).path() && entry.file_type()?.is_dir() {
            found.push(path);
        }
    }
    Ok(found)
}

/// Returns the size of the files of a session.
fn size(session: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(session)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            bytes += entry.metadata()?.len();
        }
    }
    objects::each(&session.join("objects"), |_, _, size| {
        bytes += size;
        Ok(())
    })?;
    Ok(bytes)
}
