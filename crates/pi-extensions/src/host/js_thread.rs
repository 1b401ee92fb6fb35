//! A handle of a JavaScript thread: posts tasks, and makes calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pi_agent::BoxFuture;
use rquickjs::{Ctx, IntoJs as _, Value};
use tokio::sync::{mpsc, oneshot};

use super::{ExtensionId, Host, Poster, Reply, Task, bounded};
use crate::error::ScriptError;
use crate::value::Plain;

/// Time for which a frame of the screen waits for JavaScript.
const PATIENCE: Duration = Duration::from_millis(30);

/// The value of a call, or what it threw.
pub(crate) type Called = BoxFuture<'static, Result<serde_json::Value, ScriptError>>;

/// The arguments of a call.
pub(crate) enum Arguments {
    Plain(Vec<Plain>),
    Built(Build),
}

/// Makes arguments on the thread.
type Build = Box<dyn for<'js> FnOnce(&Ctx<'js>, &Host) -> rquickjs::Result<Vec<Value<'js>>> + Send>;

impl Arguments {
    /// Arguments that need the engine: functions, or the number of something new.
    pub(crate) fn built(
        build: impl for<'js> FnOnce(&Ctx<'js>, &Host) -> rquickjs::Result<Vec<Value<'js>>>
        + Send
        + 'static,
    ) -> Self {
        Self::Built(Box::new(build))
    }

    pub(crate) fn build<'js>(
        self,
        ctx: &Ctx<'js>,
        host: &Host,
    ) -> rquickjs::Result<Vec<Value<'js>>> {
        match self {
            Self::Plain(values) => values.into_iter().map(|value| value.into_js(ctx)).collect(),
            Self::Built(build) => build(ctx, host),
        }
    }
}

impl From<Vec<Plain>> for Arguments {
    fn from(values: Vec<Plain>) -> Self {
        Self::Plain(values)
    }
}

/// A thread with a JavaScript runtime. It ends when the last clone is dropped.
#[derive(Clone, Debug)]
pub(crate) struct JsThread {
    tasks: mpsc::UnboundedSender<Task>,
    /// The screen waits for an answer that did not come in time.
    late: Arc<AtomicBool>,
}

/// A thread, without keeping it alive.
#[derive(Clone, Debug)]
pub(crate) struct WeakJsThread(mpsc::WeakUnboundedSender<Task>, Arc<AtomicBool>);

impl WeakJsThread {
    /// Returns the thread if it is still used.
    pub(crate) fn upgrade(&self) -> Option<JsThread> {
        self.0.upgrade().map(|tasks| JsThread { tasks, late: Arc::clone(&self.1) })
    }
}

impl JsThread {
    /// Creates the handle of a thread that receives tasks.
    pub(crate) fn new(tasks: mpsc::UnboundedSender<Task>) -> Self {
        Self { tasks, late: Arc::default() }
    }

    /// Returns a handle that does not keep the thread alive.
    pub(crate) fn downgrade(&self) -> WeakJsThread {
        WeakJsThread(self.tasks.downgrade(), Arc::clone(&self.late))
    }

    /// Returns a way to post tasks that does not keep the thread alive.
    pub(crate) fn poster(&self) -> Poster {
        Poster::new(self.tasks.downgrade())
    }

    /// Runs a task on the thread.
    pub(crate) fn post(&self, task: impl FnOnce(&Ctx<'_>, &Host) + Send + 'static) {
        // The receiver lives as long as this sender.
        let _ = self.tasks.send(Box::new(task));
    }

    /// Calls a function of `js/host/main.js` and returns its value, after waiting for a promise.
    /// The call is made when the future is polled first.
    pub(crate) fn call(
        &self,
        extension: ExtensionId,
        function: &'static str,
        arguments: impl Into<Arguments>,
    ) -> Called {
        self.call_boxed(extension, function, arguments.into(), true)
    }

    /// Calls a function like [`Self::call`] without a use for its value.
    pub(crate) fn run(
        &self,
        extension: ExtensionId,
        function: &'static str,
        arguments: impl Into<Arguments>,
    ) -> Called {
        self.call_boxed(extension, function, arguments.into(), false)
    }

    fn call_boxed(
        &self,
        extension: ExtensionId,
        function: &'static str,
        arguments: Arguments,
        wants_value: bool,
    ) -> Called {
        let thread = self.clone();
        Box::pin(async move {
            let (sender, answer) = oneshot::channel();
            thread.post(move |ctx, host| {
                let values = arguments.build(ctx, host);
                let result = values.and_then(|values| host.call_entry(ctx, function, values));
                host.reply_with(ctx, extension, result, Reply { wants_value, sender });
            });
            answer.await.unwrap_or_else(|_| Err(ScriptError::new("the extension was stopped")))
        })
    }

    /// Runs a task for the screen and waits a moment for its result. Without an answer the thread
    /// counts as late: no other call waits before it has answered, and then it requests a frame.
    pub(crate) fn call_for_screen<T: Send + 'static>(
        &self,
        task: impl FnOnce(&Ctx<'_>, &Host) -> T + Send + 'static,
    ) -> Option<T> {
        if self.is_late() {
            return None;
        }
        let (question, reply) = bounded::ask(Arc::clone(&self.late));
        self.post(move |ctx, host| {
            if !reply.send(task(ctx, host)) {
                host.redraw();
            }
        });
        question.wait(PATIENCE)
    }

    /// Returns true if the thread has not answered the screen in time.
    pub(crate) fn is_late(&self) -> bool {
        self.late.load(Ordering::Acquire)
    }
}
