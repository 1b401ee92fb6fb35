//! Tasks for a JavaScript thread, from anywhere.

use rquickjs::{Ctx, IntoJs as _};
use tokio::sync::mpsc;

use super::{Host, Task};
use crate::value::Plain;

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

    /// Calls a function of `js/host/main.js` and reports what it throws; returns false if the
    /// thread is gone.
    pub(crate) fn post_call(&self, function: &'static str, arguments: Vec<Plain>) -> bool {
        self.post(move |ctx, host| {
            let arguments = arguments.into_iter().map(|argument| argument.into_js(ctx));
            let called = arguments
                .collect::<rquickjs::Result<Vec<_>>>()
                .and_then(|arguments| host.call_entry(ctx, function, arguments));
            if let Err(error) = called {
                host.report_uncaught(ctx, &error);
            }
        })
    }
}
