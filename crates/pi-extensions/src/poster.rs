//! Tasks for a JavaScript thread, from anywhere.

use rquickjs::Ctx;
use tokio::sync::mpsc;

use crate::host::Host;
use crate::thread::Task;

/// Runs tasks on a JavaScript thread as long as it exists.
#[derive(Clone, Debug)]
pub(crate) struct Poster(mpsc::WeakUnboundedSender<Task>);

impl Poster {
    pub(crate) fn new(tasks: mpsc::WeakUnboundedSender<Task>) -> Self {
        Self(tasks)
    }

    /// Runs a task; returns false if the thread is gone.
    pub(crate) fn post(&self, task: impl FnOnce(&Ctx<'_>, &Host) + Send + 'static) -> bool {
        self.0.upgrade().is_some_and(|tasks| tasks.send(Box::new(task)).is_ok())
    }
}
