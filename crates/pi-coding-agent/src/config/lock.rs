//! The lock on a file that several programs change.
//!
//! It is the lock of npm's `proper-lockfile`, which the TypeScript pi takes: a directory named
//! `FILE.lock`, beside the name that is used (not beside what a link leads to). Whoever created it
//! has the lock. Its time of modification is renewed while it is held; one that has not been
//! renewed for a while belongs to a program that died, and may be removed by anybody.

use std::fs::{self, File, FileTimes, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use super::ConfigError;

/// Waiting begins with this pause and doubles it up to the other. The holder usually needs about
/// a millisecond.
const FIRST_PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);
/// Beyond the time after which a dead program's lock may be taken.
const PATIENCE: Duration = Duration::from_secs(2);

/// Does something to a file while nobody else changes it. Its directory must be there.
pub(crate) fn with_lock<T>(file: &Path, change: impl FnOnce() -> T) -> Result<T, ConfigError> {
    const STALE: Duration = Duration::from_secs(10);
    let _lock = Lock::take(file, STALE)?;
    Ok(change())
}

/// A file that is ours to change.
#[derive(Debug)]
pub(super) struct Lock {
    directory: PathBuf,
    identity: Identity,
    renewal: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Lock {
    /// Takes the lock on a file, which need not exist; its directory must. Blocks while another
    /// program has it.
    pub(super) fn take(file: &Path, stale: Duration) -> Result<Self, ConfigError> {
        let mut name = file.as_os_str().to_owned();
        name.push(".lock");
        let directory = PathBuf::from(name);
        let start = Instant::now();
        let mut pause = FIRST_PAUSE;
        loop {
            match fs::create_dir(&directory) {
                Ok(()) => break,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(ConfigError::write(file)(error)),
            }
            if is_stale(&directory, stale) {
                // Somebody else may be quicker, or it is not empty and no lock at all: the next
                // round tells.
                let _ = fs::remove_dir(&directory);
            }
            if start.elapsed() > stale + PATIENCE {
                return Err(ConfigError::Locked { path: file.to_owned(), lock: directory });
            }
            thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        let identity = fs::metadata(&directory)
            .map(|metadata| Identity::of(&metadata))
            .map_err(ConfigError::write(file))?;
        Ok(Self { renewal: renew(directory.clone(), stale / 2), directory, identity })
    }

    /// Whether nobody took us for dead meanwhile.
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
            // Nothing more can be done about a failure; it will look stale soon.
            let _ = fs::remove_dir(&self.directory);
        }
    }
}

fn is_stale(directory: &Path, stale: Duration) -> bool {
    let modified = fs::metadata(directory).and_then(|metadata| metadata.modified());
    modified.is_ok_and(|time| SystemTime::now().duration_since(time).is_ok_and(|age| age > stale))
}

/// Says from time to time that we are alive, until the sender is gone.
fn renew(directory: PathBuf, every: Duration) -> Option<(Sender<()>, JoinHandle<()>)> {
    let (stop, stopped) = channel::<()>();
    let run = move || {
        while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
            let now = FileTimes::new().set_modified(SystemTime::now());
            let _ = File::open(&directory).and_then(|lock| lock.set_times(now));
        }
    };
    // Without a thread the lock lasts as long as one that is never renewed: plenty for a write.
    let thread = thread::Builder::new().name("pi-lock".to_owned()).spawn(run).ok()?;
    Some((stop, thread))
}

/// Tells a directory from another of the same name.
#[derive(Debug, PartialEq, Eq)]
struct Identity {
    number: u64,
    /// The number alone is not enough: file systems use it again at once.
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
