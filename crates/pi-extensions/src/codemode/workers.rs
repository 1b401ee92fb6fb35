//! The number of scripts that run at the same time in the process.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use pi_base::{lock, unpoisoned};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

/// Scripts at the same time unless the environment says otherwise, and at most.
const DEFAULT_WORKERS: usize = 2;
const MAX_WORKERS: usize = 64;

/// Threads of scripts that could not be stopped. With more of them, no script runs.
const MAX_LOST: usize = 4;

/// Time that a script waits for a free worker.
const PATIENCE: Duration = Duration::from_secs(60);

/// The workers of the process, which all sessions share. The first script decides on their number.
static WORKERS: OnceLock<Arc<Workers>> = OnceLock::new();

/// The right to run scripts.
#[derive(Debug)]
struct Workers {
    free: Arc<Semaphore>,
    /// Threads that were given up and still run.
    lost: AtomicUsize,
}

/// The right to run a script. The thread of the script keeps one until it has ended, and the call
/// keeps another, to give up the thread.
#[derive(Debug, Clone)]
pub(super) struct Worker(Arc<Held>);

#[derive(Debug)]
struct Held {
    workers: Arc<Workers>,
    /// `None` after the thread was given up.
    permit: Mutex<Option<OwnedSemaphorePermit>>,
}

impl Worker {
    /// Gives up the thread, which does not react: another script may run in its place.
    pub(super) fn give_up(&self) {
        let permit = lock(&self.0.permit).take();
        if permit.is_some() {
            self.0.workers.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let permit = unpoisoned(self.permit.get_mut());
        if permit.is_none() {
            self.workers.lost.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Workers {
    fn new(number: usize) -> Arc<Self> {
        let free = Arc::new(Semaphore::new(number.clamp(1, MAX_WORKERS)));
        Arc::new(Self { free, lost: AtomicUsize::new(0) })
    }

    async fn wait(self: &Arc<Self>, deadline: Option<Instant>) -> Result<Worker, String> {
        let lost = self.lost.load(Ordering::Relaxed);
        if lost >= MAX_LOST {
            return Err(format!(
                "{lost} earlier scripts cannot be stopped and still run. Scripts run again after a \
                 restart of the program."
            ));
        }
        let patience = Instant::now() + PATIENCE;
        let until = deadline.map_or(patience, |deadline| deadline.min(patience));
        let waiting = tokio::time::timeout_at(until, Arc::clone(&self.free).acquire_owned());
        let Ok(Ok(permit)) = waiting.await else {
            return Err("too many scripts are running. Try again later.".to_owned());
        };
        let held = Held { workers: Arc::clone(self), permit: Mutex::new(Some(permit)) };
        Ok(Worker(Arc::new(held)))
    }
}

/// Waits for a free worker, in the order of arrival.
pub(super) async fn wait(
    number: Option<&str>,
    deadline: Option<Instant>,
) -> Result<Worker, String> {
    let number = number.and_then(|number| number.parse().ok()).unwrap_or(DEFAULT_WORKERS);
    WORKERS.get_or_init(|| Workers::new(number)).wait(deadline).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn lost_threads_leave_their_place_to_others() {
        let workers = Workers::new(1);
        let mut threads = Vec::new();
        for _ in 0..MAX_LOST {
            let worker = workers.wait(None).await.unwrap();
            assert!(workers.wait(None).await.unwrap_err().contains("too many scripts"));
            threads.push(worker.clone());
            worker.give_up();
            worker.give_up();
        }
        assert!(workers.wait(None).await.unwrap_err().contains("cannot be stopped"));
        // A thread that ends after all makes room.
        threads.pop();
        let worker = workers.wait(None).await.unwrap();
        drop(worker);
        assert_eq!(workers.lost.load(Ordering::Relaxed), MAX_LOST - 1);
    }
}
