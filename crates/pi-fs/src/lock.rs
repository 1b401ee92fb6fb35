//! Advisory locks on files. A process that ends, also by a signal, releases its locks.

use std::fs::{File, TryLockError};
use std::io;
use std::time::{Duration, Instant};

/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(5);

/// Locks a file. Returns false if another process holds the lock for longer than `patience`.
///
/// A child process inherits open files until it executes its program, so the lock of a file that was
/// closed a moment ago, or of a process that was killed, may still be held: callers that expect no
/// other holder wait a little.
pub fn try_lock(file: &File, patience: Duration) -> io::Result<bool> {
    let deadline = Instant::now() + patience;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if Instant::now() >= deadline => return Ok(false),
            Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
        }
    }
}

/// Locks a file like [`try_lock`]. Some network file systems do not support locks; there, a file
/// counts as locked.
pub fn try_lock_where_supported(file: &File, patience: Duration) -> io::Result<bool> {
    match try_lock(file, patience) {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(true),
        tried => tried,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holder_at_a_time() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let first = File::create(&path).unwrap();
        let second = File::open(&path).unwrap();
        assert!(try_lock(&first, Duration::ZERO).unwrap());
        assert!(!try_lock(&second, Duration::from_millis(1)).unwrap());
        drop(first);
        assert!(try_lock(&second, Duration::from_secs(5)).unwrap());
    }
}
