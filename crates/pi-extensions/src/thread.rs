//! A thread with a JavaScript runtime. Everything that runs on it is a task that was posted to it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;

use rquickjs::Ctx;
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use crate::access::Access;
use crate::engine::Engine;
use crate::error::{STOPPED, ScriptError};
use crate::host::{Host, JsThread, Outside, Task};
use crate::host_process::{ProcessOptions, ProcessState};
use crate::limits::Limits;
use crate::modules;
use crate::native::{self, Area};
use crate::report::Report;
use crate::source::cache::Cache;

/// Properties of a JavaScript thread.
pub(crate) struct ThreadOptions {
    /// Limits of the runtime.
    pub(crate) limits: Limits,
    /// What the JavaScript may reach.
    pub(crate) access: Access,
    /// The process that the JavaScript sees.
    pub(crate) process: ProcessOptions,
    /// Directory of compiled code; `None` keeps nothing.
    pub(crate) cache: Option<PathBuf>,
    /// Areas of native functions that other threads do not have.
    pub(crate) areas: &'static [Area],
    /// Receives errors that no call returns.
    pub(crate) reporter: Arc<dyn Fn(Report) + Send + Sync>,
}

pi_protocol::debug_fields!(ThreadOptions, limits);

impl JsThread {
    /// Starts a thread. What belongs to the session runs on the current tokio runtime.
    pub(crate) fn start(options: ThreadOptions) -> std::io::Result<Self> {
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
        Ok(Self::new(tasks))
    }
}

/// Runs the tasks of a thread until no one can post another.
fn run(
    options: ThreadOptions,
    main: &Handle,
    weak: mpsc::WeakUnboundedSender<Task>,
    mut receiver: mpsc::UnboundedReceiver<Task>,
) {
    let ThreadOptions { limits, access, process, cache, areas, reporter } = options;
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
    let outside = Outside { access, process, clock: engine.clock() };
    let host = Host::new(weak, main.clone(), outside, Cache::new(cache), Arc::clone(&reporter));
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, async {
        enter(&engine, &host, &limits, |ctx, host| {
            if let Err(error) = start(ctx, host, areas) {
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
        run_ticks(ctx, host);
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

/// Runs the callbacks of `process.nextTick` and the microtasks, in turns, until none is left.
fn run_ticks(ctx: &Ctx<'_>, host: &Host) {
    loop {
        if host.take_ticks()
            && let Err(error) = host.call_entry(ctx, "runTicks", Vec::new())
        {
            host.report_uncaught(ctx, &error);
        }
        while ctx.execute_pending_job() {}
        if !host.wants_ticks() {
            return;
        }
    }
}

/// Evaluates `js/host/main.js`.
fn start(ctx: &Ctx<'_>, host: &Host, areas: &'static [Area]) -> rquickjs::Result<()> {
    let natives = native::provider(ctx, host, areas)?;
    let function = modules::compile_host(ctx, host, "pi:main")?;
    let entry = function.call((natives,))?;
    host.set_entry(ctx, entry);
    Ok(())
}
