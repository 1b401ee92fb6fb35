//! The state of a session that a `ctx` shows.

use std::cell::RefCell;

use pi_coding_agent::AgentSession;
use pi_coding_agent::extension::RunMode;
use serde_json::{Value, json};

use super::{context_of, runtime_of, session_of};
use crate::error::NativeError;
use crate::host::{Answer, Call, Natives};

pub(super) const FUNCTIONS: Natives = &[
    ("mode", |call| {
        call.reply(match context_of(call)?.mode() {
            RunMode::Tui => "tui",
            RunMode::Rpc => "rpc",
            RunMode::Json => "json",
            _ => "print",
        })
    }),
    ("cwd", |call| present(call, json!(session_of(call)?.workspace().cwd()))),
    ("model", |call| present(call, json!(session_of(call)?.model()))),
    ("scopedModels", |call| present(call, scoped_models(&session_of(call)?))),
    ("thinkingLevel", |call| present(call, json!(session_of(call)?.thinking_level()))),
    ("isIdle", |call| call.reply(!session_of(call)?.is_streaming())),
    ("hasPendingMessages", |call| call.reply(session_of(call)?.queued_count() > 0)),
    ("systemPrompt", |call| present(call, json!(session_of(call)?.system_prompt()))),
    ("systemPromptOptions", |call| present(call, session_of(call)?.prompt_options().payload())),
    ("sessionName", |call| present(call, json!(session_of(call)?.name()))),
    ("contextUsage", |call| {
        let usage = session_of(call)?.context_usage().map_err(NativeError::from)?;
        call.reply(usage.map(|usage| json!(usage)))
    }),
    ("isProjectTrusted", |call| {
        let runtime = context_of(call)?.runtime();
        call.reply(runtime.is_some_and(|runtime| runtime.is_project_trusted()))
    }),
    ("settings", |call| call.reply(Value::Object(runtime_of(call)?.settings_values()))),
    ("runToken", run_token),
];

/// Returns a value of the session; what is absent is undefined in JavaScript.
fn present<'js>(call: &Call<'_, 'js>, value: Value) -> Answer<'js> {
    call.reply((!value.is_null()).then_some(value))
}

fn scoped_models(session: &AgentSession) -> Value {
    let scoped = session.scoped_models();
    let scoped = scoped.iter().map(|one| {
        let mut item = json!({ "model": one.model });
        if let Some(level) = one.thinking_level {
            item["thinkingLevel"] = json!(level);
        }
        item
    });
    scoped.collect()
}

/// `runToken(id)`: the number of the current run, under which JavaScript keeps its signal, negative
/// once the run is aborted; undefined without a run. The call `abortCall(number)` follows when the
/// run is aborted later.
fn run_token<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let Some(token) = session_of(call)?.agent().cancel_token() else { return call.done() };
    let current = call.host.area::<CurrentRun>();
    let mut last = current.borrow_mut();
    let known = last.as_ref().filter(|watched| watched.token.is_same(&token));
    let number = match known {
        Some(watched) => watched.number,
        None => {
            let (number, poster) = (call.host.number(), call.host.poster());
            let _registration = token.on_cancel(move || {
                poster.post(move |ctx, host| host.abort_call(ctx, number));
            });
            *last = Some(Watched { token: token.clone(), number, _registration });
            number
        }
    };
    let number = number as f64;
    call.reply(if token.is_cancelled() { -number } else { number })
}

/// The run whose signal JavaScript has.
type CurrentRun = RefCell<Option<Watched>>;

struct Watched {
    token: pi_protocol::CancelToken,
    number: u64,
    _registration: pi_protocol::CancelRegistration,
}
