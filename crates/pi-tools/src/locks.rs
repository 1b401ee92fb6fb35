//! Locks on files.
//!
//! Calls of one turn run in parallel. Two calls that change the same file, by any of its names,
//! wait for each other; others do not.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};

use pi_base::lock;
use tokio::sync::OwnedMutexGuard;

/// Locks by the real paths of files.
#[derive(Debug, Default)]
pub(crate) struct Locks(Mutex<HashMap<PathBuf, Weak<tokio::sync::Mutex<()>>>>);

impl Locks {
    /// Waits for the lock on a file. Dropping the guard releases it.
    pub(crate) async fn lock(&self, path: &Path) -> OwnedMutexGuard<()> {
        let file = {
            let mut files = lock(&self.0);
            // Only files that are locked or awaited are kept, so the table stays small.
            files.retain(|_, file| file.strong_count() > 0);
            let known = files.get(path).and_then(Weak::upgrade);
            known.unwrap_or_else(|| {
                let new = Arc::default();
                files.insert(path.to_owned(), Arc::downgrade(&new));
                new
            })
        };
        file.lock_owned().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Waker};

    #[test]
    fn calls_on_one_file_wait_and_no_lock_stays() {
        let locks = Locks::default();
        let mut context = Context::from_waker(Waker::noop());
        let mut first = pin!(locks.lock(Path::new("/a")));
        let std::task::Poll::Ready(guard) = first.as_mut().poll(&mut context) else {
            panic!("the file is not locked")
        };
        let mut second = pin!(locks.lock(Path::new("/a")));
        assert!(second.as_mut().poll(&mut context).is_pending());
        let mut other = pin!(locks.lock(Path::new("/b")));
        assert!(other.as_mut().poll(&mut context).is_ready());
        drop(guard);
        assert!(second.as_mut().poll(&mut context).is_ready());
        let mut last = pin!(locks.lock(Path::new("/c")));
        assert!(last.as_mut().poll(&mut context).is_ready());
        assert_eq!(locks.0.lock().unwrap().len(), 1);
    }
}
