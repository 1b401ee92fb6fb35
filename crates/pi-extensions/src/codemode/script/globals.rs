//! The functions of Rust behind the globals of a script. None of them waits, and none throws:
//! `prelude.js` turns the texts that they return into errors.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rquickjs::{Ctx, Function, IntoJs as _, Object};
use serde_json::Value;
use tokio::sync::mpsc;

use super::{ListModels, Request, with_positions};
use crate::codemode::catalog::Catalog;
use crate::codemode::output::Output;
use crate::codemode::store::Store;

/// Bytes of the arguments of one call.
const MAX_ARGUMENTS: usize = 16 * 1024 * 1024;

/// The state of a running script.
pub(super) struct Globals {
    pub(super) catalog: Arc<Catalog>,
    pub(super) store: RefCell<Store>,
    pub(super) output: Arc<Mutex<Output>>,
    pub(super) stop: Arc<AtomicBool>,
    pub(super) requests: mpsc::UnboundedSender<Request>,
    pub(super) models: ListModels,
    pub(super) most_calls: u32,
    /// Calls that were requested so far.
    pub(super) calls: Cell<u32>,
    /// Calls without a reply.
    pub(super) pending: Cell<u32>,
    pub(super) outcome: RefCell<Option<Outcome>>,
}

/// How a script ended by itself.
#[derive(Debug)]
pub(super) enum Outcome {
    /// It returned, or called `exit`.
    Finished,
    /// It threw this error.
    Failed(String),
}

impl Globals {
    /// Ends the script. The first reason counts.
    pub(super) fn end(&self, outcome: Outcome) {
        self.outcome.borrow_mut().get_or_insert(outcome);
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn has_ended(&self) -> bool {
        self.outcome.borrow().is_some()
    }

    /// Adds output. If there is too much, the script ends.
    fn add(&self, add: impl FnOnce(&mut Output) -> Result<(), String>) {
        if self.has_ended() {
            return;
        }
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(problem) = add(&mut output) {
            self.end(Outcome::Failed(format!("Error: {problem}")));
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    /// Requests a call. Returns its number, or the reason why it is not made.
    fn request(&self, tool: String, arguments: String) -> Result<u32, String> {
        let number = self.calls.get() + 1;
        if number > self.most_calls {
            let most = self.most_calls;
            return Err(format!("Not executed: a script makes at most {most} calls of tools."));
        }
        if arguments.len() > MAX_ARGUMENTS {
            return Err(format!("Not executed: arguments have at most {MAX_ARGUMENTS} bytes."));
        }
        if self.has_ended() || self.requests.send(Request { number, tool, arguments }).is_err() {
            return Err("Not executed: the script has ended.".to_owned());
        }
        self.calls.set(number);
        self.pending.set(self.pending.get() + 1);
        Ok(number)
    }
}

/// Makes the object that the prelude receives.
pub(super) fn install<'js>(ctx: &Ctx<'js>, globals: &Rc<Globals>) -> rquickjs::Result<Object<'js>> {
    let host = Object::new(ctx.clone())?;
    let state = Rc::clone(globals);
    let request = move |ctx: Ctx<'js>, tool: String, arguments: String| match state
        .request(tool, arguments)
    {
        Ok(number) => number.into_js(&ctx),
        Err(problem) => problem.into_js(&ctx),
    };
    host.set("request", Function::new(ctx.clone(), request)?)?;
    let state = Rc::clone(globals);
    let text = move |text: String| state.add(|output| output.text(text));
    host.set("text", Function::new(ctx.clone(), text)?)?;
    let state = Rc::clone(globals);
    let console = move |line: String| state.add(|output| output.console(line));
    host.set("console", Function::new(ctx.clone(), console)?)?;
    let state = Rc::clone(globals);
    let image = move |given: String| -> Option<String> {
        let given: Value = serde_json::from_str(&given).unwrap_or_default();
        let mut output = state.output.lock().unwrap_or_else(PoisonError::into_inner);
        output.image(&given).err().filter(|_| !state.has_ended())
    };
    host.set("image", Function::new(ctx.clone(), image)?)?;
    let state = Rc::clone(globals);
    let exit = move || {
        state.end(Outcome::Finished);
        // A script that catches what `exit` throws is interrupted.
        state.stop.store(true, Ordering::Relaxed);
    };
    host.set("exit", Function::new(ctx.clone(), exit)?)?;
    let state = Rc::clone(globals);
    host.set("finish", Function::new(ctx.clone(), move || state.end(Outcome::Finished))?)?;
    let state = Rc::clone(globals);
    let fail = move |message: String, stack: String| {
        state.end(Outcome::Failed(with_positions(&message, &stack)));
    };
    host.set("fail", Function::new(ctx.clone(), fail)?)?;
    install_store(ctx, globals, &host)?;
    install_catalog(ctx, globals, &host)?;
    Ok(host)
}

fn install_store<'js>(
    ctx: &Ctx<'js>,
    globals: &Rc<Globals>,
    host: &Object<'js>,
) -> rquickjs::Result<()> {
    let state = Rc::clone(globals);
    let store = move |key: String, value: Option<String>| -> Option<String> {
        if state.has_ended() {
            return None;
        }
        state.store.borrow_mut().set(key, value).err()
    };
    host.set("store", Function::new(ctx.clone(), store)?)?;
    let state = Rc::clone(globals);
    let load = move |key: String| state.store.borrow().load(&key);
    host.set("load", Function::new(ctx.clone(), load)?)
}

fn install_catalog<'js>(
    ctx: &Ctx<'js>,
    globals: &Rc<Globals>,
    host: &Object<'js>,
) -> rquickjs::Result<()> {
    let catalog = Arc::clone(&globals.catalog);
    let names = move || catalog.names().to_string();
    host.set("toolNames", Function::new(ctx.clone(), names)?)?;
    let catalog = Arc::clone(&globals.catalog);
    let find = move |name: String| catalog.find(&name).map(|tool| tool.name().to_owned());
    host.set("findTool", Function::new(ctx.clone(), find)?)?;
    let catalog = Arc::clone(&globals.catalog);
    let all = move || catalog.all().to_string();
    host.set("allTools", Function::new(ctx.clone(), all)?)?;
    let catalog = Arc::clone(&globals.catalog);
    let search = move |query: String, limit: f64, namespace: Option<String>| {
        catalog.search(&query, limit, namespace.as_deref()).to_string()
    };
    host.set("searchTools", Function::new(ctx.clone(), search)?)?;
    let catalog = Arc::clone(&globals.catalog);
    let describe = move |name: String| catalog.describe(&name);
    host.set("describeTool", Function::new(ctx.clone(), describe)?)?;
    let catalog = Arc::clone(&globals.catalog);
    let namespace = move |name: String| catalog.namespace(&name).map(|value| value.to_string());
    host.set("describeNamespace", Function::new(ctx.clone(), namespace)?)?;
    let list = Arc::clone(&globals.models);
    let models = move |function: String, arguments: String| {
        let arguments: Value = serde_json::from_str(&arguments).unwrap_or_default();
        list(&function, &arguments).map(|value| value.to_string())
    };
    host.set("models", Function::new(ctx.clone(), models)?)
}
