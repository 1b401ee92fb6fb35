//! The functions of Rust behind the globals of a script. None of them waits, and none throws:
//! `prelude.js` turns the texts that they return into errors.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use pi_base::lock;
use rquickjs::{Ctx, Function, IntoJs as _, Object};
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use super::{ListModels, Request, with_positions};
use crate::codemode::catalog::Catalog;
use crate::codemode::output::Output;
use crate::codemode::store::Store;

/// Bytes of the arguments of one call, and of all calls without a reply. The memory of the engine
/// does not contain them.
const MAX_ARGUMENTS: usize = 16 * 1024 * 1024;
const MAX_PENDING: usize = 64 * 1024 * 1024;

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
    pub(super) pending: RefCell<Pending>,
    pub(super) outcome: RefCell<Option<Outcome>>,
}

/// The calls without a reply: bytes of their arguments, by number.
#[derive(Debug, Default)]
pub(super) struct Pending(HashMap<u32, usize>);

impl Pending {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn remove(&mut self, number: u32) {
        self.0.remove(&number);
    }

    /// Checks that there is room for a call with arguments of this size.
    fn check(&self, size: usize) -> Result<(), String> {
        if size > MAX_ARGUMENTS {
            return Err(format!("Not executed: arguments have at most {MAX_ARGUMENTS} bytes."));
        }
        if self.0.values().sum::<usize>() + size > MAX_PENDING {
            return Err(format!(
                "Not executed: the arguments of calls without a result have at most {MAX_PENDING} \
                 bytes together. Wait for some calls first."
            ));
        }
        Ok(())
    }
}

/// How a script ended by itself.
#[derive(Debug)]
pub(super) enum Outcome {
    /// The script returned, or called `exit`.
    Finished,
    /// The script threw this error.
    Failed(String),
}

impl Globals {
    /// Ends the script. The first reason counts. What is left of the script is interrupted.
    fn end(&self, outcome: Outcome) {
        self.outcome.borrow_mut().get_or_insert(outcome);
        self.stop.store(true, Ordering::Relaxed);
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
        let mut output = lock(&self.output);
        if let Err(problem) = add(&mut output) {
            self.end(Outcome::Failed(format!("Error: {problem}")));
        }
    }

    /// Requests a call. Returns its number, or the reason why it is not made.
    fn request(&self, tool: String, arguments: &str) -> Result<u32, String> {
        let number = self.calls.get() + 1;
        if number > self.most_calls {
            let most = self.most_calls;
            return Err(format!("Not executed: a script makes at most {most} calls of tools."));
        }
        let size = arguments.len();
        self.pending.borrow().check(size)?;
        let arguments: Map<String, Value> = serde_json::from_str(arguments).map_err(|error| {
            format!("Not executed: the arguments are not valid JSON for a tool: {error}.")
        })?;
        if self.has_ended() || self.requests.send(Request { number, tool, arguments }).is_err() {
            return Err("Not executed: the script has ended.".to_owned());
        }
        self.calls.set(number);
        self.pending.borrow_mut().0.insert(number, size);
        Ok(number)
    }
}

/// Makes the object that the prelude receives.
pub(super) fn install<'js>(ctx: &Ctx<'js>, globals: &Rc<Globals>) -> rquickjs::Result<Object<'js>> {
    let host = Object::new(ctx.clone())?;
    let state = Rc::clone(globals);
    let request = move |ctx: Ctx<'js>, tool: String, arguments: String| match state
        .request(tool, &arguments)
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
        if state.has_ended() {
            return None;
        }
        let given: Value = serde_json::from_str(&given).unwrap_or_default();
        let mut output = lock(&state.output);
        output.image(&given).err()
    };
    host.set("image", Function::new(ctx.clone(), image)?)?;
    let state = Rc::clone(globals);
    // A script that catches what `exit` throws is interrupted.
    host.set("exit", Function::new(ctx.clone(), move || state.end(Outcome::Finished))?)?;
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
    let similar = move |name: String| catalog.similar(&name);
    host.set("similarTools", Function::new(ctx.clone(), similar)?)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_of_pending_calls_are_bounded() {
        let mut pending = Pending::default();
        assert!(pending.check(MAX_ARGUMENTS + 1).unwrap_err().contains("arguments have at most"));
        for number in 0..4 {
            pending.check(MAX_ARGUMENTS).unwrap();
            pending.0.insert(number, MAX_ARGUMENTS);
        }
        assert!(pending.check(1).unwrap_err().contains("Wait for some calls first"));
        pending.remove(2);
        assert_eq!(pending.check(MAX_ARGUMENTS), Ok(()));
    }
}
