//! The engine of one thread: a QuickJS runtime and realm under limits.

pub(crate) mod raw;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rquickjs::{Context, Ctx, Persistent, Runtime, Value};

use crate::limits::Limits;
use raw::RunningContext;

/// A runtime with its realm.
pub(crate) struct Engine {
    // Dropped in this order: values, realm, runtime.
    rejections: Rc<RefCell<Vec<Rejection>>>,
    context: Context,
    runtime: Runtime,
    clock: Rc<Clock>,
}

/// The deadline of the running entry, and what was running when it passed.
#[derive(Default)]
pub(crate) struct Clock {
    deadline: Cell<Option<Instant>>,
    interrupted: RefCell<Option<Vec<String>>>,
    /// Another thread sets it to interrupt the running code.
    stop: Arc<AtomicBool>,
}

impl Clock {
    /// Returns true if the running entry must end.
    fn is_over(&self) -> bool {
        let is_late = || self.deadline.get().is_some_and(|deadline| Instant::now() > deadline);
        self.stop.load(Ordering::Relaxed) || is_late()
    }

    /// Runs blocking work and moves the deadline by the time it took.
    pub(crate) fn pause<T>(&self, work: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let result = work();
        if let Some(deadline) = self.deadline.get() {
            self.deadline.set(Some(deadline + began.elapsed()));
        }
        result
    }
}

/// A promise that was rejected without a handler so far.
struct Rejection {
    promise: Persistent<Value<'static>>,
    reason: Persistent<Value<'static>>,
}

/// What one entry into JavaScript left behind.
#[derive(Debug, Default)]
pub(crate) struct Entered {
    /// Files of the functions that ran when the deadline passed, innermost first.
    pub(crate) interrupted: Option<Vec<String>>,
}

impl Engine {
    pub(crate) fn new(limits: &Limits) -> rquickjs::Result<Self> {
        Self::stoppable(limits, Arc::default())
    }

    /// Creates an engine that another thread can interrupt.
    pub(crate) fn stoppable(limits: &Limits, stop: Arc<AtomicBool>) -> rquickjs::Result<Self> {
        let runtime = Runtime::new()?;
        runtime.set_memory_limit(limits.memory);
        runtime.set_max_stack_size(limits.stack);
        let context = Context::full(&runtime)?;
        let clock = Rc::new(Clock { stop, ..Clock::default() });
        let engine = Self { rejections: Rc::default(), context, runtime, clock };
        engine.watch_time();
        engine.watch_rejections();
        Ok(engine)
    }

    /// Runs `entry` and all microtasks that follow, at most for `limit` of time.
    pub(crate) fn enter(&self, limit: Duration, entry: impl FnOnce(&Ctx<'_>)) -> Entered {
        self.clock.deadline.set(Some(Instant::now() + limit));
        self.context.with(|ctx| {
            entry(&ctx);
            while ctx.execute_pending_job() {}
        });
        self.clock.deadline.set(None);
        Entered { interrupted: self.clock.interrupted.take() }
    }

    /// Runs `entry` and the microtasks that follow until the deadline. Those that are left then
    /// never run; returns false in that case.
    pub(crate) fn enter_until(&self, deadline: Instant, entry: impl FnOnce(&Ctx<'_>)) -> bool {
        self.clock.deadline.set(Some(deadline));
        let is_complete = self.context.with(|ctx| {
            entry(&ctx);
            while !self.clock.is_over() && ctx.execute_pending_job() {}
            !self.clock.is_over()
        });
        self.clock.deadline.set(None);
        is_complete
    }

    /// Calls `report` with the reason of each promise that was rejected and has no handler now.
    /// Called when no microtask is left, as Node does.
    pub(crate) fn take_rejections(&self, mut report: impl for<'js> FnMut(&Ctx<'js>, Value<'js>)) {
        if self.rejections.borrow().is_empty() {
            return;
        }
        let rejections = self.rejections.take();
        self.context.with(|ctx| {
            for rejection in rejections {
                if let Ok(reason) = rejection.reason.restore(&ctx) {
                    report(&ctx, reason);
                }
            }
        });
    }

    /// Returns the clock of the entries.
    pub(crate) fn clock(&self) -> Rc<Clock> {
        Rc::clone(&self.clock)
    }

    fn watch_time(&self) {
        let clock = Rc::clone(&self.clock);
        let context = self.context.with(|ctx| RunningContext::of(&ctx));
        self.runtime.set_interrupt_handler(Some(Box::new(move || {
            let late = clock.is_over();
            if late && clock.interrupted.borrow().is_none() {
                *clock.interrupted.borrow_mut() = Some(context.running_files());
            }
            late
        })));
    }

    fn watch_rejections(&self) {
        let rejections = Rc::clone(&self.rejections);
        self.runtime.set_host_promise_rejection_tracker(Some(Box::new(
            move |ctx, promise, reason, is_handled| {
                let mut rejections = rejections.borrow_mut();
                if is_handled {
                    rejections.retain(|one| {
                        one.promise.clone().restore(&ctx).map_or(true, |other| other != promise)
                    });
                } else {
                    rejections.push(Rejection {
                        promise: Persistent::save(&ctx, promise),
                        reason: Persistent::save(&ctx, reason),
                    });
                }
            },
        )));
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.runtime.set_host_promise_rejection_tracker(None);
        self.rejections.borrow_mut().clear();
    }
}
