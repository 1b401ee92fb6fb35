//! A thread with a JavaScript runtime. Everything that runs on it is a task that was posted to it.

mod bounded;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pi_agent::BoxFuture;
use rquickjs::{Ctx, IntoJs as _, Value};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

use crate::access::Access;
use crate::engine::Engine;
use crate::error::{STOPPED, ScriptError};
use crate::host::{ExtensionId, Host, Outside, Reply};
use crate::host_process::{ProcessOptions, ProcessState};
use crate::limits::Limits;
use crate::poster::Poster;
use crate::report::Report;
use crate::source::cache::Cache;
use crate::value::Plain;
use crate::{modules, native};

/// Time for which a frame of the screen waits for JavaScript.
const PATIENCE: Duration = Duration::from_millis(30);

/// Work on a JavaScript thread.
pub(crate) type Task = Box<dyn FnOnce(&Ctx<'_>, &Host) + Send>;

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

/// Properties of a JavaScript thread.
pub struct ThreadOptions {
    /// Limits of the runtime.
    pub limits: Limits,
    /// What the JavaScript may reach.
    pub access: Access,
    /// The process that the JavaScript sees.
    pub process: ProcessOptions,
    /// Directory of compiled code; `None` keeps nothing.
    pub cache: Option<PathBuf>,
    /// The thread runs tests of extensions, which may start sessions.
    pub is_test: bool,
    /// Receives errors that no call returns.
    pub reporter: Arc<dyn Fn(Report) + Send + Sync>,
}

impl std::fmt::Debug for ThreadOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ThreadOptions").field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// A thread with a JavaScript runtime. It ends when the last clone is dropped.
#[derive(Clone, Debug)]
pub struct JsThread {
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
    /// Returns a handle that does not keep the thread alive.
    pub(crate) fn downgrade(&self) -> WeakJsThread {
        WeakJsThread(self.tasks.downgrade(), Arc::clone(&self.late))
    }

    /// Starts a thread. What belongs to the session runs on the current tokio runtime.
    pub fn start(options: ThreadOptions) -> std::io::Result<Self> {
        // Unbounded: a task is small, and the caller that posts one mostly waits for its result.
        let (tasks, receiver) = mpsc::unbounded_channel();
        let weak = tasks.downgrade();
        let main = Handle::current();
        // The engine's own limit must be reached before the end of the stack.
        let stack = options.limits.stack + (2 << 20);
        std::thread::Builder::new()
            .name("extensions".to_owned())
            .stack_size(stack)
            .spawn(move || run(options, &main, weak, receiver))?;
        Ok(Self { tasks, late: Arc::default() })
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

/// Runs the tasks of a thread until no one can post another.
fn run(
    options: ThreadOptions,
    main: &Handle,
    weak: mpsc::WeakUnboundedSender<Task>,
    mut receiver: mpsc::UnboundedReceiver<Task>,
) {
    let ThreadOptions { limits, access, process, cache, is_test, reporter } = options;
    let failed = |error: String| reporter(Report::new(None, "uncaught", error));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return failed(error.to_string()),
    };
    let engine = match Engine::new(&limits) {
        Ok(engine) => engine,
        Err(error) => return failed(error.to_string()),
    };
    let process = ProcessState::new(process, &access);
    let outside = Outside { is_test, access, process, clock: engine.clock() };
    let host = Host::new(weak, main.clone(), outside, Cache::new(cache), Arc::clone(&reporter));
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, async {
        enter(&engine, &host, &limits, |ctx, host| {
            if let Err(error) = start(ctx, host) {
                let error = ScriptError::catch(ctx, &error);
                failed(error.stack);
            }
        });
        while let Some(task) = receiver.recv().await {
            enter(&engine, &host, &limits, task);
        }
    });
    host.clear();
    drop(local);
    drop(runtime);
}

/// Runs a task with its microtasks, and reports what it left behind.
fn enter(engine: &Engine, host: &Host, limits: &Limits, task: impl FnOnce(&Ctx<'_>, &Host)) {
    let entered = engine.enter(limits.slice, |ctx| {
        // A panic of a native function concerns its task.
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| task(ctx, host))) {
            let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
            let error = format!("a native function panicked: {}", text.unwrap_or_default());
            host.report(Report::new(None, "uncaught", error));
        }
        native::run_ticks(ctx, host);
    });
    if let Some(files) = entered.interrupted {
        let owner = host.owner_of(&files).or_else(|| host.only_caller());
        let seconds = limits.slice.as_secs_f32();
        let message = STOPPED.to_owned();
        let place = files.first().map(|file| format!("\n    at {file}")).unwrap_or_default();
        let error = ScriptError { stack: format!("{message} ({seconds} s){place}"), message };
        host.report(Report::new(
            owner.as_ref().map(|(_, path)| path.to_string()),
            "interrupted",
            error.stack.clone(),
        ));
        host.fail_calls(owner.map(|(id, _)| id), &error);
    }
    engine.take_rejections(|ctx, reason| {
        let error = ScriptError::from_value(ctx, &reason);
        let extension = host.owner_of_stack(&error.stack).map(|(_, path)| path.to_string());
        host.report(Report::new(extension, "unhandledRejection", error.stack));
    });
}

/// Evaluates `js/host/main.js`.
fn start(ctx: &Ctx<'_>, host: &Host) -> rquickjs::Result<()> {
    let natives = native::provider(ctx, host)?;
    let function = modules::compile_host(ctx, host, "pi:main")?;
    let entry = function.call((natives,))?;
    host.set_entry(ctx, entry);
    Ok(())
}
