//! The number of scripts that run at the same time in the process.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

/// Scripts at the same time unless the environment says otherwise, and at most.
const DEFAULT_WORKERS: usize = 2;
const MAX_WORKERS: usize = 64;

/// Time that a script waits for a free worker.
const PATIENCE: Duration = Duration::from_secs(60);

/// The workers of the process, which all sessions share. The first script decides on their number.
static WORKERS: OnceLock<Arc<Semaphore>> = OnceLock::new();

/// The right to run a script. It must be kept until the thread of the script has ended.
pub(super) type Worker = OwnedSemaphorePermit;

/// Waits for a free worker, in the order of arrival.
pub(super) async fn wait(number: Option<&str>, deadline: Option<Instant>) -> Option<Worker> {
    let number = number.and_then(|number| number.parse().ok()).unwrap_or(DEFAULT_WORKERS);
    let workers = WORKERS.get_or_init(|| Arc::new(Semaphore::new(number.clamp(1, MAX_WORKERS))));
    let patience = Instant::now() + PATIENCE;
    let until = deadline.map_or(patience, |deadline| deadline.min(patience));
    let worker = tokio::time::timeout_at(until, Arc::clone(workers).acquire_owned()).await;
    worker.ok()?.ok()
}
