//! Control of the session: abort, compaction, other sessions, reload, the end of the program.

use std::path::PathBuf;

use pi_coding_agent::Replaced;
use pi_coding_agent::session::{Navigation, NavigationError};
use pi_session::ForkPosition;
use rquickjs::{Ctx, Function, IntoJs as _, Object, Promise};
use serde_json::json;

use super::{log_error, runtime_of, session_of};
use crate::error::NativeError;
use crate::host::{ExtensionId, Host};
use crate::value::Json;

pub(super) fn install<'js>(ctx: &Ctx<'js>, host: &Host) -> rquickjs::Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    install_run(ctx, host, &object)?;
    install_replacement(ctx, host, &object)?;
    Ok(object)
}

fn install_run<'js>(ctx: &Ctx<'js>, host: &Host, object: &Object<'js>) -> rquickjs::Result<()> {
    let state = host.clone();
    object.set(
        "abort",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, id: ExtensionId| {
            let session = session_of(&ctx, &state, id)?;
            // Requested at once, so that no further request begins; no caller waits for the end.
            state.actions().detach(async move { session.abort().await });
            Ok::<_, rquickjs::Error>(())
        })?,
    )?;
    let state = host.clone();
    object.set(
        "waitForIdle",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, id: ExtensionId| {
            let session = session_of(&ctx, &state, id)?;
            state.promise_on_main(&ctx, async move {
                session.wait_for_idle().await;
                Ok(())
            })
        })?,
    )?;
    let state = host.clone();
    object.set(
        "compact",
        Function::new(
            ctx.clone(),
            move |ctx: Ctx<'js>, id: ExtensionId, instructions: Option<String>| {
                let session = session_of(&ctx, &state, id)?;
                state.promise_on_main(&ctx, async move {
                    let compacted = session.compact(instructions.as_deref()).await?;
                    Ok(Json(json!(compacted)))
                })
            },
        )?,
    )?;
    let state = host.clone();
    object.set(
        "shutdown",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, id: ExtensionId| {
            runtime_of(&ctx, &state, id)?.request_shutdown();
            Ok::<_, rquickjs::Error>(())
        })?,
    )?;
    let state = host.clone();
    object.set(
        "navigateTree",
        Function::new(
            ctx.clone(),
            move |ctx: Ctx<'js>, id: ExtensionId, target: String, options: Json| {
                let session = session_of(&ctx, &state, id)?;
                let text = |name: &str| options.0[name].as_str().map(str::to_owned);
                let is_set = |name: &str| options.0[name].as_bool() == Some(true);
                let mut navigation = Navigation::default()
                    .summarize(is_set("summarize"))
                    .instructions(text("customInstructions"))
                    .label(text("label"));
                navigation.replace_instructions = is_set("replaceInstructions");
                state.promise_on_main(&ctx, async move {
                    let result = session.navigate(&target, navigation).await;
                    let result = result.map_err(|error| match error {
                        NavigationError::Session(error) => log_error(error),
                        error => error.into(),
                    })?;
                    Ok(Json(json!({ "cancelled": result.cancelled })))
                })
            },
        )?,
    )?;
    Ok(())
}

fn install_replacement<'js>(
    ctx: &Ctx<'js>,
    host: &Host,
    object: &Object<'js>,
) -> rquickjs::Result<()> {
    let state = host.clone();
    object.set(
        "newSession",
        Function::new(
            ctx.clone(),
            move |ctx: Ctx<'js>, id: ExtensionId, parent: Option<String>, setup: Option<f64>| {
                new_session(&ctx, &state, id, parent, setup)
            },
        )?,
    )?;
    let state = host.clone();
    object.set(
        "switchSession",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, id: ExtensionId, path: String| {
            let runtime = runtime_of(&ctx, &state, id)?;
            let path = state.process.absolute(&PathBuf::from(path));
            state.promise_on_main(
                &ctx,
                async move { replaced(&runtime.switch_session(&path).await?) },
            )
        })?,
    )?;
    let state = host.clone();
    object.set(
        "fork",
        Function::new(
            ctx.clone(),
            move |ctx: Ctx<'js>, id: ExtensionId, entry: String, at: bool| {
                let runtime = runtime_of(&ctx, &state, id)?;
                let session = session_of(&ctx, &state, id)?;
                let position = if at { ForkPosition::At } else { ForkPosition::Before };
                state.promise_on_main(&ctx, async move {
                    if !session.with_log(|log| log.is_saved() || log.path().is_none()) {
                        return Err(NativeError::new(UNSAVED));
                    }
                    replaced(&runtime.fork(&entry, position).await?)
                })
            },
        )?,
    )?;
    let state = host.clone();
    object.set(
        "reload",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, id: ExtensionId| {
            let runtime = runtime_of(&ctx, &state, id)?;
            state.promise_on_main(&ctx, async move {
                runtime.reload().await;
                Ok(())
            })
        })?,
    )?;
    Ok(())
}

const UNSAVED: &str =
    "This session has not been saved yet. Send a message before cloning or forking it.";

fn replaced(replaced: &Replaced) -> Result<Json, NativeError> {
    Ok(Json(json!({ "cancelled": replaced.cancelled })))
}

/// Starts a new session. `setup` is the number of a function in JavaScript that fills its log.
fn new_session<'js>(
    ctx: &Ctx<'js>,
    host: &Host,
    id: ExtensionId,
    parent: Option<String>,
    setup: Option<f64>,
) -> rquickjs::Result<Promise<'js>> {
    let runtime = runtime_of(ctx, host, id)?;
    let thread = host.with_extension(id, |extension| extension.thread.clone());
    let parent = parent.map(PathBuf::from);
    host.promise_on_main(ctx, async move {
        let thread = thread.and_then(|thread| thread.upgrade());
        let (Some(setup), Some(thread)) = (setup, thread) else {
            return replaced(&runtime.new_session(parent).await?);
        };
        let prepare = move |_| async move {
            let called =
                thread.call::<()>(id, "setUpSession", move |ctx, _| Ok(vec![setup.into_js(ctx)?]));
            called.await.map_err(|error| error.message)
        };
        replaced(&runtime.new_session_with(parent, prepare).await?)
    })
}
