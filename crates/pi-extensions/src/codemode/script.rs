//! One script on a thread and an engine of its own.
//!
//! The thread alternates between running JavaScript and waiting for the results of calls, which
//! the session makes. Nothing of the session is on it: requests go out and replies come in.

mod globals;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rquickjs::context::EvalOptions;
use rquickjs::{Ctx, Function, Object, Persistent};
use serde_json::{Map, Value};
use tokio::sync::{mpsc, oneshot, watch};

use super::catalog::Catalog;
use super::output::{Ending, Output};
use super::store::Store;
use super::workers::Worker;
use crate::engine::Engine;
use crate::error::ScriptError;
use crate::limits::Limits;
use globals::{Globals, Outcome};

/// Memory of a script, its stack, and the time for which it may compute without a pause.
const MEMORY: usize = 256 << 20;
const STACK: usize = 1 << 20;
const SLICE: Duration = Duration::from_secs(60);

/// The error of a script whose own deadline has passed.
pub(super) const TIMED_OUT: &str = "Script timed out: its timeout_ms has passed.";

/// Name of scripts in positions of errors.
const FILE: &str = "codemode.js";

/// Lines before the first line of a script.
const LINES_BEFORE: usize = 1;

const PRELUDE: &str = include_str!("prelude.js");

/// Lists models for scripts: the name of a function of `models` and its arguments.
pub(super) type ListModels = Arc<dyn Fn(&str, &Value) -> Option<Value> + Send + Sync>;

/// A script to run, and its surroundings.
pub(super) struct Script {
    pub(super) code: String,
    pub(super) deadline: Option<Instant>,
    /// Most calls of tools.
    pub(super) most_calls: u32,
    pub(super) catalog: Arc<Catalog>,
    pub(super) store: Store,
    pub(super) output: Arc<Mutex<Output>>,
    /// Set to interrupt the script.
    pub(super) stop: Arc<AtomicBool>,
    pub(super) requests: mpsc::UnboundedSender<Request>,
    pub(super) replies: Receiver<Reply>,
    pub(super) models: ListModels,
    pub(super) computing: watch::Sender<Option<Instant>>,
}

/// A call that a script asks for.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) number: u32,
    pub(super) tool: String,
    pub(super) arguments: Map<String, Value>,
}

/// A message to a script that waits.
#[derive(Debug)]
pub(super) enum Reply {
    /// A call has ended: with a value as JSON text, or with an error.
    Settle { number: u32, result: Result<String, String> },
    /// The script must end.
    Stop,
}

/// The time until which the engine may compute; `None` while the script waits for replies.
pub(super) type Computing = watch::Receiver<Option<Instant>>;

/// Waits until the engine has computed for longer than it may. Functions of the engine that loop in
/// native code cannot be interrupted.
pub(super) async fn unstoppable(mut computing: Computing, grace: Duration) {
    loop {
        let until = *computing.borrow_and_update();
        let over = async {
            match until {
                Some(until) => tokio::time::sleep_until((until + grace).into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = over => return,
            changed = computing.changed() => {
                if changed.is_err() {
                    return std::future::pending().await;
                }
            }
        }
    }
}

/// What is left of a script.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) ending: Ending,
    pub(super) store: Store,
}

/// Starts a script. The worker is free again when its thread has ended.
pub(super) fn start(script: Script, worker: Worker) -> std::io::Result<oneshot::Receiver<Ended>> {
    let (sender, ended) = oneshot::channel();
    std::thread::Builder::new()
        .name("codemode".to_owned())
        // The engine's own limit must be reached before the end of the stack.
        .stack_size(STACK + (2 << 20))
        .spawn(move || {
            let _worker = worker;
            let panicked = |_| Ended {
                ending: Ending::Failed("The engine failed. Try a simpler script.".to_owned()),
                store: Store::default(),
            };
            let ended = catch_unwind(AssertUnwindSafe(|| run(script))).unwrap_or_else(panicked);
            // Without a receiver no one waits for the script any more.
            let _ = sender.send(ended);
        })?;
    Ok(ended)
}

fn run(script: Script) -> Ended {
    let limits = Limits { memory: MEMORY, stack: STACK, slice: SLICE };
    let Script { code, deadline, replies, stop, .. } = script;
    let globals = Rc::new(Globals {
        catalog: script.catalog,
        store: script.store.into(),
        output: script.output,
        stop: Arc::clone(&stop),
        requests: script.requests,
        models: script.models,
        most_calls: script.most_calls,
        calls: Default::default(),
        pending: Default::default(),
        outcome: Default::default(),
    });
    let ending = match Engine::stoppable(&limits, stop) {
        Ok(engine) => {
            let computing = script.computing;
            let running = Running { engine: &engine, globals: &globals, deadline, computing };
            running.run(&code, &replies)
        }
        Err(error) => Ending::Failed(error.to_string()),
    };
    Ended { ending, store: globals.store.take() }
}

/// A script that runs.
struct Running<'a> {
    engine: &'a Engine,
    globals: &'a Rc<Globals>,
    deadline: Option<Instant>,
    computing: watch::Sender<Option<Instant>>,
}

impl Running<'_> {
    fn run(&self, code: &str, replies: &Receiver<Reply>) -> Ending {
        let mut begun = Err(String::new());
        let is_complete = self.enter(|ctx| {
            begun = begin(ctx, self.globals, code).map_err(|error| explain(ctx, &error));
        });
        match begun {
            Ok(settle) if is_complete => self.wait(replies, &settle),
            Err(error) if is_complete => Ending::Failed(error),
            // It was interrupted.
            _ => self.ending(),
        }
    }

    /// Passes replies to the script until it has ended.
    fn wait(&self, replies: &Receiver<Reply>, settle: &Persistent<Function<'static>>) -> Ending {
        while self.globals.outcome.borrow().is_none() {
            if self.globals.pending.borrow().is_empty() {
                return Ending::Failed(
                    "Error: The script waits for a promise that nothing can settle: no call of a \
                     tool is pending, and there are no timers."
                        .to_owned(),
                );
            }
            let reply = match self.deadline {
                Some(deadline) => {
                    replies.recv_timeout(deadline.saturating_duration_since(Instant::now()))
                }
                None => replies.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            let Ok(Reply::Settle { number, result }) = reply else { break };
            self.globals.pending.borrow_mut().remove(number);
            let mut settled = Ok(());
            let is_complete = self.enter(|ctx| {
                let called = settle.clone().restore(ctx).and_then(|settle| match result {
                    Ok(value) => settle.call::<_, ()>((number, false, value)),
                    Err(error) => settle.call::<_, ()>((number, true, error)),
                });
                settled = called.map_err(|error| explain(ctx, &error));
            });
            if !is_complete {
                break;
            }
            if let Err(error) = settled {
                return Ending::Failed(error);
            }
        }
        self.ending()
    }

    fn enter(&self, entry: impl FnOnce(&Ctx<'_>)) -> bool {
        let slice = Instant::now() + SLICE;
        let until = self.deadline.map_or(slice, |deadline| deadline.min(slice));
        self.computing.send_replace(Some(until));
        let is_complete = self.engine.enter_until(until, entry);
        self.computing.send_replace(None);
        is_complete
    }

    fn ending(&self) -> Ending {
        match self.globals.outcome.take() {
            Some(Outcome::Finished) => Ending::Completed,
            Some(Outcome::Failed(error)) => Ending::Failed(error),
            None if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) => {
                Ending::Failed(TIMED_OUT.to_owned())
            }
            None if self.globals.is_stopped() => Ending::Failed("Operation aborted".to_owned()),
            None => {
                let seconds = SLICE.as_secs();
                Ending::Failed(format!(
                    "Script stopped: it computed for {seconds} seconds without a pause."
                ))
            }
        }
    }
}

/// Sets the globals and starts the script. Returns the function that settles calls.
fn begin(
    ctx: &Ctx<'_>,
    globals: &Rc<Globals>,
    code: &str,
) -> rquickjs::Result<Persistent<Function<'static>>> {
    let host = globals::install(ctx, globals)?;
    let prelude: Function<'_> = ctx.eval_with_options(PRELUDE, options("codemode-globals.js"))?;
    let entry: Object<'_> = prelude.call((host,))?;
    // On lines of its own, so that a comment at the end hides nothing.
    let script = format!("(async () => {{\n{code}\n}})");
    let script: Function<'_> = ctx.eval_with_options(script, options(FILE))?;
    let settle: Function<'_> = entry.get("settle")?;
    let run: Function<'_> = entry.get("run")?;
    run.call::<_, ()>((script,))?;
    Ok(Persistent::save(ctx, settle))
}

fn options(name: &str) -> EvalOptions {
    let mut options = EvalOptions::default();
    options.strict = false;
    options.filename = Some(name.to_owned());
    options
}

/// Describes an error outside of the script's own functions, such as one of its syntax.
fn explain(ctx: &Ctx<'_>, error: &rquickjs::Error) -> String {
    if !matches!(error, rquickjs::Error::Exception) {
        return error.to_string();
    }
    let thrown = ctx.catch();
    let name = thrown.as_object().and_then(|object| object.get::<_, String>("name").ok());
    let error = ScriptError::from_value(ctx, &thrown);
    let name = name.unwrap_or_else(|| "Error".to_owned());
    with_positions(&format!("{name}: {}", error.message), &error.stack)
}

/// Adds the positions of a stack that are in the script, counted from its first line.
fn with_positions(message: &str, stack: &str) -> String {
    let mut text = message.to_owned();
    for line in stack.lines() {
        let Some((before, place)) = line.split_once(FILE) else { continue };
        let mut parts = place.trim_start_matches(':').splitn(2, ':');
        let number = parts.next().and_then(|number| number.parse::<usize>().ok());
        let (Some(number), Some(rest)) = (number, parts.next()) else { continue };
        let number = number.saturating_sub(LINES_BEFORE);
        text.push_str(&format!("\n{before}{FILE}:{number}:{rest}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn engines_that_compute_for_too_long_are_noticed() {
        let grace = Duration::from_secs(2);
        let (sender, computing) = watch::channel(None);
        let mut waiting = std::pin::pin!(unstoppable(computing, grace));
        assert!(waiting.as_mut().now_or_never().is_none());
        let begin = || tokio::time::Instant::now().into_std();
        sender.send_replace(Some(begin() + SLICE));
        assert!(waiting.as_mut().now_or_never().is_none());
        tokio::time::advance(SLICE).await;
        assert!(waiting.as_mut().now_or_never().is_none());
        // The script paused, and computes again.
        sender.send_replace(None);
        sender.send_replace(Some(begin() + SLICE));
        assert!(waiting.as_mut().now_or_never().is_none());
        tokio::time::advance(SLICE).await;
        assert!(waiting.as_mut().now_or_never().is_none());
        tokio::time::advance(grace + Duration::from_millis(1)).await;
        assert!(waiting.as_mut().now_or_never().is_some());
    }
}
