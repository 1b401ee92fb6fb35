//! The state of a session that a `ctx` shows.

use pi_coding_agent::AgentSession;
use pi_coding_agent::extension::RunMode;
use rquickjs::{Ctx, Function, IntoJs, Object};
use serde_json::{Value, json};

use super::{context_of, runtime_of, session_of};
use crate::error::NativeError;
use crate::host::{ExtensionId, Host};
use crate::value::Json;

pub(super) fn install<'js>(ctx: &Ctx<'js>, host: &Host) -> rquickjs::Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    let state = host.clone();
    object.set(
        "mode",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, id: ExtensionId| {
            let mode = context_of(&ctx, &state, id)?.mode();
            Ok::<_, rquickjs::Error>(match mode {
                RunMode::Tui => "tui",
                RunMode::Rpc => "rpc",
                RunMode::Json => "json",
                _ => "print",
            })
        })?,
    )?;
    let getters: &[(&str, fn(&AgentSession) -> Value)] = &[
        ("cwd", |session| json!(session.workspace().cwd())),
        ("model", |session| json!(session.model())),
        ("scopedModels", scoped_models),
        ("thinkingLevel", |session| json!(session.thinking_level())),
        ("isIdle", |session| json!(!session.is_streaming())),
        ("hasPendingMessages", |session| json!(session.queued_count() > 0)),
        ("systemPrompt", |session| json!(session.system_prompt())),
        ("systemPromptOptions", |session| session.prompt_options().payload()),
        ("sessionName", |session| json!(session.name())),
    ];
    for (name, getter) in getters {
        object.set(*name, session_getter(ctx, host, *getter)?)?;
    }
    let state = host.clone();
    object.set(
        "contextUsage",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, id: ExtensionId| {
            let usage = session_of(&ctx, &state, id)?.context_usage();
            let usage = usage.map_err(|error| NativeError::from(error).throw(&ctx))?;
            Ok::<_, rquickjs::Error>(usage.map(|usage| Json(json!(usage))))
        })?,
    )?;
    let state = host.clone();
    object.set(
        "isProjectTrusted",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, id: ExtensionId| {
            let runtime = context_of(&ctx, &state, id)?.runtime();
            Ok::<_, rquickjs::Error>(runtime.is_some_and(|runtime| runtime.is_project_trusted()))
        })?,
    )?;
    let state = host.clone();
    object.set(
        "settings",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, id: ExtensionId| {
            let runtime = runtime_of(&ctx, &state, id)?;
            Ok::<_, rquickjs::Error>(Json(Value::Object(runtime.settings_values())))
        })?,
    )?;
    let state = host.clone();
    object.set("runToken", run_token(ctx, &state)?)?;
    Ok(object)
}

/// Returns a function that reads a value of the session.
fn session_getter<'js>(
    ctx: &Ctx<'js>,
    host: &Host,
    getter: fn(&AgentSession) -> Value,
) -> rquickjs::Result<Function<'js>> {
    let host = host.clone();
    Function::new(ctx.clone(), move |ctx: Ctx<'js>, id: ExtensionId| {
        let value = getter(&session_of(&ctx, &host, id)?);
        // What is absent is undefined in JavaScript.
        if value.is_null() {
            return Ok(rquickjs::Value::new_undefined(ctx));
        }
        Json(value).into_js(&ctx)
    })
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

/// Returns `runToken(id)`: the number of the current run, under which JavaScript keeps its signal,
/// negative once the run is aborted; null without a run. The call `abortCall(number)` follows when
/// the run is aborted later.
fn run_token<'js>(ctx: &Ctx<'js>, host: &Host) -> rquickjs::Result<Function<'js>> {
    let host = host.clone();
    let last: std::cell::RefCell<Option<Watched>> = std::cell::RefCell::default();
    Function::new(ctx.clone(), move |ctx: Ctx<'js>, id: ExtensionId| {
        let session = session_of(&ctx, &host, id)?;
        let Some(token) = session.agent().cancel_token() else { return Ok(None) };
        let mut last = last.borrow_mut();
        if let Some(watched) = &*last
            && watched.token.is_same(&token)
        {
            let number = watched.number as f64;
            return Ok(Some(if token.is_cancelled() { -number } else { number }));
        }
        let number = host.number();
        let poster = host.poster();
        let registration = token.on_cancel(move || {
            poster.post(move |ctx, host| host.abort_call(ctx, number));
        });
        let is_cancelled = token.is_cancelled();
        *last = Some(Watched { token, number, _registration: registration });
        let number = number as f64;
        Ok::<_, rquickjs::Error>(Some(if is_cancelled { -number } else { number }))
    })
}

/// The run whose signal JavaScript has.
struct Watched {
    token: pi_protocol::CancelToken,
    number: u64,
    _registration: pi_protocol::CancelRegistration,
}
