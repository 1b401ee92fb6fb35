//! The lock of a file that several programs change.
//!
//! It is the lock of npm's `proper-lockfile`, which the TypeScript pi takes: a directory named
//! `FILE.lock`, beside the given path (not beside the target of a link). The process that creates
//! the directory holds the lock and renews its modification time. A lock that was not renewed for a
//! while is stale, and any process may remove it.
//!
//! A killed process would make all others wait for that time. So this program also locks the
//! directory as a file, which the system undoes when the process ends, and shows by the mode of the
//! directory that it does: the other program neither reads the mode nor needs it.

use std::fs::{self, File, FileTimes, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use crate::ConfigError;

/// The first pause of a waiting process; it doubles up to [`LONGEST_PAUSE`]. A holder usually needs
/// about a millisecond.
const FIRST_PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);
/// Waiting time beyond the age at which a lock is stale.
const GRACE: Duration = Duration::from_secs(2);

/// Calls `change` under the lock of a file. The directory of the file must exist.
pub fn with_lock<T>(file: &Path, change: impl FnOnce() -> T) -> Result<T, ConfigError> {
    const STALE: Duration = Duration::from_secs(10);
    let _lock = Lock::take(file, STALE)?;
    Ok(change())
}

/// The wait for a lock: pauses that grow, until the lock must have become stale.
#[derive(Debug)]
pub struct Wait {
    start: Instant,
    limit: Duration,
    pause: Duration,
}

impl Wait {
    /// Begins to wait for a lock that is stale after this time.
    pub fn new(stale: Duration) -> Self {
        Self { start: Instant::now(), limit: stale + GRACE, pause: FIRST_PAUSE }
    }

    /// Returns the time until the next try, or the error of a wait that took too long.
    pub fn pause(&mut self, file: &Path) -> Result<Duration, ConfigError> {
        if self.start.elapsed() > self.limit {
            let (path, lock) = (file.to_owned(), directory(file));
            return Err(ConfigError::Locked { path, lock });
        }
        let pause = self.pause;
        self.pause = (pause * 2).min(LONGEST_PAUSE);
        Ok(pause)
    }
}

/// Returns the directory that is the lock of a file.
fn directory(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".lock");
    PathBuf::from(name)
}

/// A lock that is held.
#[derive(Debug)]
pub struct Lock {
    directory: PathBuf,
    identity: Identity,
    /// Shows that the process lives, where the file system supports that.
    _life: Option<File>,
    renewal: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Lock {
    /// Takes the lock of a file. The file need not exist, but its directory must. Blocks while
    /// another program holds the lock.
    pub(super) fn take(file: &Path, stale: Duration) -> Result<Self, ConfigError> {
        let mut wait = Wait::new(stale);
        loop {
            if let Some(lock) = Self::try_take(file, stale)? {
                return Ok(lock);
            }
            thread::sleep(wait.pause(file)?);
        }
    }

    /// Takes the lock of a file; `None` if another program holds it.
    pub fn try_take(file: &Path, stale: Duration) -> Result<Option<Self>, ConfigError> {
        let directory = directory(file);
        match fs::create_dir(&directory) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if !remove_abandoned(&directory) && is_stale(&directory, stale) {
                    // Another process may be faster, or the directory is not a lock and not empty.
                    // The next try decides.
                    let _ = fs::remove_dir(&directory);
                }
                return Ok(None);
            }
            Err(error) => return Err(ConfigError::write(file)(error)),
        }
        let identity = fs::metadata(&directory)
            .map(|metadata| Identity::of(&metadata))
            .map_err(ConfigError::write(file))?;
        let _life = show_life(&directory);
        let renewal = renew(directory.clone(), stale / 2);
        Ok(Some(Self { directory, identity, _life, renewal }))
    }

    /// Returns true if no other process has removed the lock as stale.
    pub(super) fn is_held(&self) -> bool {
        fs::metadata(&self.directory).is_ok_and(|found| Identity::of(&found) == self.identity)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.renewal.take() {
            drop(stop);
            let _ = thread.join();
        }
        if self.is_held() {
            // A lock that cannot be removed becomes stale soon.
            let _ = fs::remove_dir(&self.directory);
        }
    }
}

/// The mode of a directory whose holder has locked it as a file. No umask leads to it.
#[cfg(unix)]
const LOCKED: u32 = 0o1711;

/// Locks the directory as a file, for as long as the result lives.
#[cfg(unix)]
fn show_life(directory: &Path) -> Option<File> {
    use std::os::unix::fs::PermissionsExt;
    let file = File::open(directory).ok()?;
    file.try_lock().ok()?;
    // Last: from now on a directory that is not locked has lost its holder.
    file.set_permissions(fs::Permissions::from_mode(LOCKED)).ok()?;
    Some(file)
}

/// Removes the lock of a process that has ended. Returns true if it was one.
#[cfg(unix)]
fn remove_abandoned(directory: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let Ok(file) = File::open(directory) else { return false };
    let Ok(opened) = file.metadata() else { return false };
    if opened.permissions().mode() & 0o7777 != LOCKED || file.try_lock().is_err() {
        return false;
    }
    // Processes that find the same lock take turns here; the second one finds another directory.
    let same = fs::metadata(directory).is_ok_and(|now| Identity::of(&now) == Identity::of(&opened));
    same && fs::remove_dir(directory).is_ok()
}

#[cfg(not(unix))]
fn show_life(_: &Path) -> Option<File> {
    None
}

#[cfg(not(unix))]
fn remove_abandoned(_: &Path) -> bool {
    false
}

fn is_stale(directory: &Path, stale: Duration) -> bool {
    let modified = fs::metadata(directory).and_then(|metadata| metadata.modified());
    modified.is_ok_and(|time| SystemTime::now().duration_since(time).is_ok_and(|age| age > stale))
}

/// Renews the modification time of a lock until the sender is dropped.
fn renew(directory: PathBuf, every: Duration) -> Option<(Sender<()>, JoinHandle<()>)> {
    let (stop, stopped) = channel::<()>();
    let run = move || {
        while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
            let now = FileTimes::new().set_modified(SystemTime::now());
            let _ = File::open(&directory).and_then(|lock| lock.set_times(now));
        }
    };
    // Without a thread the lock becomes stale, but a write takes less time than that.
    let thread = thread::Builder::new().name("pi-lock".to_owned()).spawn(run).ok()?;
    Some((stop, thread))
}

/// Distinguishes a directory from another one of the same name.
#[derive(Debug, PartialEq, Eq)]
struct Identity {
    number: u64,
    /// The number alone is not enough: file systems reuse it at once.
    created: Option<SystemTime>,
}

impl Identity {
    fn of(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        let number = std::os::unix::fs::MetadataExt::ino(metadata);
        #[cfg(not(unix))]
        let number = 0;
        Self { number, created: metadata.created().ok() }
    }
}
