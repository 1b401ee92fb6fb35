//! The session as extensions reach it: registrations, actions, state, control, the log, models.
//!
//! Each file installs one area. All functions take the number of the extension first; the code in
//! `js/pi` checks before that the caller is not stale.

mod actions;
mod control;
mod exec;
mod log;
mod mcp_servers;
mod models;
mod register;
mod state;
mod stream;
mod tools;

use pi_coding_agent::extension::{ExtensionApi, ExtensionContext};
use pi_coding_agent::{AgentRuntime, AgentSession};
use pi_protocol::CancelToken;
use pi_session::SessionError;
use rquickjs::{Ctx, Function, Object, Promise};

use super::Install;
use crate::error::NativeError;
use crate::host::{ExtensionId, Host};

/// The areas of this directory.
pub(super) const AREAS: &[(&str, Install)] = &[
    ("session", register::install),
    ("actions", actions::install),
    ("control", control::install),
    ("exec", exec::install),
    ("models", models::install),
    ("session_log", log::install),
    ("session_tools", tools::install),
    ("state", state::install),
];

const NOT_INITIALIZED: &str = "Extension runtime not initialized. Action methods cannot be called \
                               during extension loading.";

/// Returns the surroundings of an extension, or throws if it has no session yet.
fn context_of(ctx: &Ctx<'_>, host: &Host, id: ExtensionId) -> rquickjs::Result<ExtensionContext> {
    host.context(id).ok_or_else(|| NativeError::new(NOT_INITIALIZED).throw(ctx))
}

/// Returns the session of an extension.
fn session_of(ctx: &Ctx<'_>, host: &Host, id: ExtensionId) -> rquickjs::Result<AgentSession> {
    let session = context_of(ctx, host, id)?.session();
    session.ok_or_else(|| NativeError::new("the session has ended").throw(ctx))
}

/// Returns the runtime of the session of an extension.
fn runtime_of(ctx: &Ctx<'_>, host: &Host, id: ExtensionId) -> rquickjs::Result<AgentRuntime> {
    let runtime = context_of(ctx, host, id)?.runtime();
    runtime.ok_or_else(|| NativeError::new("the session has ended").throw(ctx))
}

/// Returns the registrations of an extension: those of its session, or those that it makes while
/// it is loaded.
fn api_of(host: &Host, id: ExtensionId) -> Option<ExtensionApi> {
    let bound = host.context(id).map(|context| context.api().clone());
    bound.or_else(|| host.with_extension(id, |loaded| loaded.api.clone()))
}

/// Returns `{ promise, cancel }` for work that JavaScript can cancel.
fn cancellable<'js>(
    ctx: &Ctx<'js>,
    promise: Promise<'js>,
    cancel: CancelToken,
) -> rquickjs::Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    object.set("promise", promise)?;
    object.set("cancel", Function::new(ctx.clone(), move || cancel.cancel())?)?;
    Ok(object)
}

/// Describes an error of the log with the words that extensions know.
fn log_error(error: SessionError) -> NativeError {
    match error {
        SessionError::UnknownEntry(id) => NativeError::new(format!("Entry {id} not found")),
        error => error.into(),
    }
}
