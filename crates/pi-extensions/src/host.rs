//! The state of one JavaScript thread, as native functions see it, and what they are made of.

mod bounded;
mod call;
mod js_thread;
mod listeners;
mod poster;
mod shown;

use std::any::{Any, TypeId};
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use pi_agent::BoxFuture;
use pi_coding_agent::extension::{ExtensionApi, ExtensionContext};
use rquickjs::function::Args;
use rquickjs::{Ctx, FromJs as _, Function, IntoJs as _, Object, Persistent, Promise, Value};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

use crate::access::Access;
use crate::actions::Actions;
use crate::engine::Clock;
use crate::error::{ScriptError, files_of_stack};
use crate::host_process::ProcessState;
use crate::report::Report;
use crate::source::cache::Cache;
use crate::source::map::PositionMap;
use crate::value::Json;

pub(crate) use call::{Answer, Call, Natives, Outcome, Thrown, function, object};
pub(crate) use js_thread::{Arguments, Called, JsThread, WeakJsThread};
pub(crate) use listeners::{Listeners, is_progress};
pub(crate) use poster::Poster;
pub(crate) use shown::{ComponentId, Link, Shown};

/// Work on a JavaScript thread.
pub(crate) type Task = Box<dyn FnOnce(&Ctx<'_>, &Host) + Send>;

/// A number that identifies an extension within its thread.
pub(crate) type ExtensionId = u32;

/// The state of one JavaScript thread. Clones share it.
#[derive(Clone)]
pub(crate) struct Host(Rc<State>);

pub(crate) struct State {
    /// Weak, so that the thread ends when the last [`JsThread`] is gone.
    tasks: mpsc::WeakUnboundedSender<Task>,
    /// The runtime of the session. What belongs to the session runs there, so that a busy
    /// extension does not stop it.
    main: Handle,
    pub(crate) access: Access,
    pub(crate) process: ProcessState,
    clock: Rc<Clock>,
    /// Time at which the thread started.
    pub(crate) started: Instant,
    pub(crate) cache: Cache,
    /// Position maps of the compiled files, by name.
    pub(crate) maps: RefCell<BTreeMap<String, PositionMap>>,
    /// Components on the screen.
    pub(crate) shown: Shown,
    /// What areas of native functions keep, by type.
    areas: RefCell<BTreeMap<TypeId, Rc<dyn Any>>>,
    extensions: RefCell<BTreeMap<ExtensionId, Loaded>>,
    /// Functions of `js/host/main.js` that Rust calls.
    entry: RefCell<Option<Persistent<Object<'static>>>>,
    /// Promises that wait for a Rust future.
    waiting: RefCell<BTreeMap<u64, Settle>>,
    /// Calls from Rust that wait for a JavaScript promise.
    calls: RefCell<BTreeMap<u64, (ExtensionId, Reply)>>,
    /// Problems of extensions that are loading: event and text.
    unreported: RefCell<BTreeMap<ExtensionId, Vec<(&'static str, String)>>>,
    actions: OnceCell<Actions>,
    next: Cell<u64>,
    /// True if `process.nextTick` has callbacks.
    ticks: Cell<bool>,
    reporter: Arc<dyn Fn(Report) + Send + Sync>,
}

/// What the JavaScript of a thread can see and reach outside of the engine, and the time it has.
pub(crate) struct Outside {
    pub(crate) access: Access,
    pub(crate) process: ProcessState,
    pub(crate) clock: Rc<Clock>,
}

/// An extension of this thread.
pub(crate) struct Loaded {
    pub(crate) path: Arc<str>,
    pub(crate) api: ExtensionApi,
    pub(crate) listeners: Listeners,
    pub(crate) thread: WeakJsThread,
    /// The surroundings of the last call; `None` while the extension loads.
    pub(crate) context: Option<ExtensionContext>,
}

type Settle = (Persistent<Function<'static>>, Persistent<Function<'static>>);

/// The Rust side of a call of JavaScript.
pub(crate) struct Reply {
    /// False if the value does not matter.
    pub(crate) wants_value: bool,
    pub(crate) sender: oneshot::Sender<Result<serde_json::Value, ScriptError>>,
}

impl Reply {
    fn send<'js>(self, ctx: &Ctx<'js>, value: Value<'js>) {
        let value = match self.wants_value {
            true => Json::from_js(ctx, value).map(|json| json.0),
            false => Ok(serde_json::Value::Null),
        };
        // Without a receiver the caller has given up.
        let _ = self.sender.send(value.map_err(|error| ScriptError::catch(ctx, &error)));
    }

    fn fail(self, error: ScriptError) {
        let _ = self.sender.send(Err(error));
    }
}

impl std::ops::Deref for Host {
    type Target = State;

    fn deref(&self) -> &State {
        &self.0
    }
}

impl Host {
    pub(crate) fn new(
        tasks: mpsc::WeakUnboundedSender<Task>,
        main: Handle,
        outside: Outside,
        cache: Cache,
        reporter: Arc<dyn Fn(Report) + Send + Sync>,
    ) -> Self {
        let Outside { access, process, clock } = outside;
        Self(Rc::new(State {
            tasks,
            main,
            access,
            process,
            clock,
            started: Instant::now(),
            cache,
            maps: RefCell::default(),
            shown: Shown::default(),
            areas: RefCell::default(),
            extensions: RefCell::default(),
            entry: RefCell::default(),
            waiting: RefCell::default(),
            calls: RefCell::default(),
            unreported: RefCell::default(),
            actions: OnceCell::new(),
            next: Cell::new(1),
            ticks: Cell::new(false),
            reporter,
        }))
    }

    /// Returns a number that was not used before.
    pub(crate) fn number(&self) -> u64 {
        let number = self.next.get();
        self.next.set(number + 1);
        number
    }

    /// Returns what an area of native functions keeps from call to call.
    pub(crate) fn area<T: Default + 'static>(&self) -> Rc<T> {
        let mut areas = self.areas.borrow_mut();
        let area = areas.entry(TypeId::of::<T>()).or_insert_with(|| Rc::new(T::default()));
        Rc::clone(area).downcast().unwrap_or_default()
    }

    /// Asks for the callbacks of `process.nextTick` to run.
    pub(crate) fn request_ticks(&self) {
        self.ticks.set(true);
    }

    /// Returns true if callbacks of `process.nextTick` wait.
    pub(crate) fn wants_ticks(&self) -> bool {
        self.ticks.get()
    }

    /// Returns true if callbacks of `process.nextTick` wait, and forgets it.
    pub(crate) fn take_ticks(&self) -> bool {
        self.ticks.replace(false)
    }

    /// Returns a function that runs a task on this thread later, from anywhere.
    pub(crate) fn poster(&self) -> Poster {
        Poster::new(self.tasks.clone())
    }

    /// Returns the queue of actions on sessions.
    pub(crate) fn actions(&self) -> &Actions {
        self.actions.get_or_init(|| Actions::new(&self.main))
    }

    /// Aborts a call by its number, if it is still running.
    pub(crate) fn abort_call(&self, ctx: &Ctx<'_>, number: u64) {
        // Listeners of the signal may throw; that is reported as of any other code.
        let number = Value::new_number(ctx.clone(), number as f64);
        if let Err(error) = self.call_entry(ctx, "abortCall", vec![number]) {
            self.report_uncaught(ctx, &error);
        }
    }

    /// Reports an error that was thrown where no caller could catch it.
    pub(crate) fn report_uncaught(&self, ctx: &Ctx<'_>, error: &rquickjs::Error) {
        let error = ScriptError::catch(ctx, error);
        let extension = self.owner_of_stack(&error.stack).map(|(_, path)| path.to_string());
        self.report(Report::new(extension, "uncaught", error.stack));
    }

    /// Returns the runtime of the session.
    pub(crate) fn main(&self) -> &Handle {
        &self.main
    }

    /// Runs blocking work of a native function. Its time does not count as time of JavaScript.
    pub(crate) fn block<T>(&self, work: impl FnOnce() -> T) -> T {
        self.clock.pause(work)
    }

    /// Adds an extension, or replaces what is known of it when it is loaded again.
    pub(crate) fn set_extension(&self, id: ExtensionId, loaded: Loaded) {
        self.extensions.borrow_mut().insert(id, loaded);
    }

    /// Forgets an extension.
    pub(crate) fn remove_extension(&self, id: ExtensionId) {
        self.extensions.borrow_mut().remove(&id);
    }

    /// Sets the surroundings of the calls of an extension.
    pub(crate) fn set_context(&self, id: ExtensionId, context: ExtensionContext) {
        if !self.access.is_trusted()
            && let Some(guard) = context.session().and_then(|session| session.guard().cloned())
        {
            self.access.set_guard(&guard);
        }
        if let Some(loaded) = self.extensions.borrow_mut().get_mut(&id) {
            loaded.context = Some(context);
        }
        let unreported = self.unreported.borrow_mut().remove(&id);
        for (event, problem) in unreported.into_iter().flatten() {
            self.report_problem(id, event, problem);
        }
    }

    /// Reports a problem of an extension to its session, as soon as it has one.
    pub(crate) fn report_problem(&self, id: ExtensionId, event: &'static str, problem: String) {
        let session = self.context(id).and_then(|context| context.session());
        let path = self.with_extension(id, |extension| Arc::clone(&extension.path));
        match (session, path) {
            (Some(session), Some(path)) => self.actions().detach(async move {
                session.report_extension_error(&path, event, &problem).await;
            }),
            _ => {
                self.unreported.borrow_mut().entry(id).or_default().push((event, problem));
            }
        }
    }

    /// Accesses an extension; `None` if it is not loaded.
    pub(crate) fn with_extension<T>(
        &self,
        id: ExtensionId,
        access: impl FnOnce(&Loaded) -> T,
    ) -> Option<T> {
        self.extensions.borrow().get(&id).map(access)
    }

    /// Returns the surroundings of the last call of an extension.
    pub(crate) fn context(&self, id: ExtensionId) -> Option<ExtensionContext> {
        self.extensions.borrow().get(&id).and_then(|loaded| loaded.context.clone())
    }

    /// Requests a frame in which everything that JavaScript draws is drawn again.
    pub(crate) fn redraw(&self) {
        self.shown.redraw();
        let extensions = self.extensions.borrow();
        // All extensions of a thread share the interface.
        if let Some(context) = extensions.values().find_map(|loaded| loaded.context.as_ref()) {
            context.ui().interface().redraw_rendered();
        }
    }

    /// Returns the surroundings of any extension that has some.
    pub(crate) fn any_context(&self) -> Option<ExtensionContext> {
        self.extensions.borrow().values().find_map(|loaded| loaded.context.clone())
    }

    /// Reports an error that no call returns.
    pub(crate) fn report(&self, mut report: Report) {
        let extensions = self.extensions.borrow();
        let own =
            |loaded: &&Loaded| report.extension.as_deref().is_none_or(|path| path == &*loaded.path);
        let context = extensions.values().filter(own).find_map(|loaded| loaded.context.clone());
        drop(extensions);
        report.session = context.map(|context| (context, self.main.clone()));
        (self.reporter)(report);
    }

    /// Returns a promise for the result of a future, which runs on `runtime`.
    pub(crate) fn promise_on<'js>(
        &self,
        runtime: &Handle,
        ctx: &Ctx<'js>,
        future: BoxFuture<'static, Outcome>,
    ) -> rquickjs::Result<Promise<'js>> {
        let (promise, resolve, reject) = ctx.promise()?;
        let number = self.number();
        let settle = (Persistent::save(ctx, resolve), Persistent::save(ctx, reject));
        self.waiting.borrow_mut().insert(number, settle);
        let poster = self.poster();
        runtime.spawn(async move {
            let result = future.await;
            poster.post(move |ctx, host| host.settle(ctx, number, result));
        });
        Ok(promise)
    }

    fn settle(&self, ctx: &Ctx<'_>, number: u64, result: Outcome) {
        let Some((resolve, reject)) = self.waiting.borrow_mut().remove(&number) else { return };
        let value = match result {
            Ok(value) => value.into_js(ctx).map(|value| (resolve, value)),
            Err(error) => error.to_value(ctx).map(|value| (reject, value)),
        };
        // An error here means that memory is exhausted or time is up: nothing more can be done.
        if let Ok((function, value)) = value
            && let Ok(function) = function.restore(ctx)
        {
            let _ = function.call::<_, ()>((value,));
        }
    }

    /// Sets the functions that Rust calls.
    pub(crate) fn set_entry<'js>(&self, ctx: &Ctx<'js>, entry: Object<'js>) {
        *self.entry.borrow_mut() = Some(Persistent::save(ctx, entry));
    }

    /// Calls a function of `js/host/main.js`.
    pub(crate) fn call_entry<'js>(
        &self,
        ctx: &Ctx<'js>,
        name: &str,
        arguments: Vec<Value<'js>>,
    ) -> rquickjs::Result<Value<'js>> {
        let entry = self.entry.borrow().clone().ok_or(rquickjs::Error::Unknown)?;
        let entry = entry.restore(ctx)?;
        let function: Function<'js> = entry.get(name)?;
        let mut args = Args::new(ctx.clone(), arguments.len());
        args.push_args(arguments)?;
        function.call_arg(args)
    }

    /// Sends the value of a call to `reply`: at once, or when the promise that it returned settles.
    pub(crate) fn reply_with<'js>(
        &self,
        ctx: &Ctx<'js>,
        extension: ExtensionId,
        result: rquickjs::Result<Value<'js>>,
        reply: Reply,
    ) {
        let value = match result {
            Ok(value) => value,
            Err(error) => return reply.fail(ScriptError::catch(ctx, &error)),
        };
        let Some(promise) = value.clone().into_promise() else { return reply.send(ctx, value) };
        let number = self.number();
        self.calls.borrow_mut().insert(number, (extension, reply));
        if let Err(error) = self.follow(ctx, &promise, number) {
            let error = ScriptError::catch(ctx, &error);
            if let Some((_, reply)) = self.calls.borrow_mut().remove(&number) {
                reply.fail(error);
            }
        }
    }

    fn follow<'js>(
        &self,
        ctx: &Ctx<'js>,
        promise: &Promise<'js>,
        number: u64,
    ) -> rquickjs::Result<()> {
        let resolved = function(ctx, self, move |call| {
            let waiting = call.host.calls.borrow_mut().remove(&number);
            if let Some((_, reply)) = waiting {
                reply.send(call.ctx(), call.value(0));
            }
            call.done()
        })?;
        let rejected = function(ctx, self, move |call| {
            let waiting = call.host.calls.borrow_mut().remove(&number);
            if let Some((_, reply)) = waiting {
                reply.fail(ScriptError::from_value(call.ctx(), &call.value(0)));
            }
            call.done()
        })?;
        promise.then()?.call((rquickjs::function::This(promise.clone()), resolved, rejected))
    }

    /// Fails the calls of an extension whose code was stopped; without one, all calls.
    pub(crate) fn fail_calls(&self, extension: Option<ExtensionId>, error: &ScriptError) {
        let mut calls = self.calls.borrow_mut();
        let concerned: Vec<u64> = calls
            .iter()
            .filter(|(_, (owner, _))| extension.is_none_or(|extension| *owner == extension))
            .map(|(number, _)| *number)
            .collect();
        for (_, reply) in concerned.iter().filter_map(|number| calls.remove(number)) {
            reply.fail(error.clone());
        }
    }

    /// Returns the extension to which one of these files belongs.
    pub(crate) fn owner_of(&self, files: &[String]) -> Option<(ExtensionId, Arc<str>)> {
        let extensions = self.extensions.borrow();
        let directory =
            |path: &str| path.rsplit_once('/').map_or("", |(before, _)| before).to_owned();
        files.iter().find_map(|file| {
            let own = extensions.iter().find(|(_, one)| *one.path == **file);
            let own = own.or_else(|| {
                let inside = |path: &str| {
                    let directory = directory(path);
                    !directory.is_empty() && file.starts_with(&format!("{directory}/"))
                };
                extensions
                    .iter()
                    .filter(|(_, one)| inside(&one.path))
                    .max_by_key(|(_, one)| directory(&one.path).len())
            });
            own.map(|(id, one)| (*id, Arc::clone(&one.path)))
        })
    }

    /// Returns the extension whose calls are under way, if it is only one.
    pub(crate) fn only_caller(&self) -> Option<(ExtensionId, Arc<str>)> {
        let calls = self.calls.borrow();
        let mut callers = calls.values().map(|(extension, _)| *extension);
        let first = callers.next().filter(|first| callers.all(|other| other == *first))?;
        self.with_extension(first, |loaded| (first, Arc::clone(&loaded.path)))
    }

    /// Returns the extension that a stack names.
    pub(crate) fn owner_of_stack(&self, stack: &str) -> Option<(ExtensionId, Arc<str>)> {
        self.owner_of(&files_of_stack(stack))
    }

    /// Drops every value of the engine. Called before the engine ends.
    pub(crate) fn clear(&self) {
        self.areas.take();
        self.entry.borrow_mut().take();
        self.waiting.borrow_mut().clear();
        self.extensions.borrow_mut().clear();
        let error = ScriptError {
            message: "the extension host has stopped".to_owned(),
            stack: String::new(),
        };
        self.fail_calls(None, &error);
    }
}
