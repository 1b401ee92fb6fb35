//! The session as extensions reach it: registrations, actions, state, control, the log, models.
//!
//! Each file has the table of one area. All functions take the number of the extension first; the code in
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
use rquickjs::Object;

use crate::error::NativeError;
use crate::host::{Answer, Call, ExtensionId, Host, Natives, Thrown, function};

/// The areas of this directory.
pub(super) const AREAS: &[(&str, &[Natives])] = &[
    ("session", &[register::FUNCTIONS]),
    ("actions", &[actions::FUNCTIONS]),
    ("control", &[control::FUNCTIONS]),
    ("exec", &[exec::FUNCTIONS]),
    ("models", &[models::FUNCTIONS, stream::FUNCTIONS]),
    ("session_log", &[log::FUNCTIONS]),
    ("session_tools", &[tools::FUNCTIONS]),
    ("state", &[state::FUNCTIONS]),
];

const NOT_INITIALIZED: &str = "Extension runtime not initialized. Action methods cannot be called \
                               during extension loading.";

/// Returns the surroundings of the extension that calls, or throws if it has no session yet.
fn context_of(call: &Call<'_, '_>) -> Result<ExtensionContext, Thrown> {
    let context = call.host.context(call.id(0)?);
    context.ok_or_else(|| NativeError::new(NOT_INITIALIZED).into())
}

/// Returns the session of the extension that calls.
fn session_of(call: &Call<'_, '_>) -> Result<AgentSession, Thrown> {
    let session = context_of(call)?.session();
    session.ok_or_else(|| NativeError::new("the session has ended").into())
}

/// Returns the session of the extension that calls, with everything that is registered.
fn refreshed_session_of(call: &Call<'_, '_>) -> Result<AgentSession, Thrown> {
    let session = session_of(call)?;
    session.refresh_registry();
    Ok(session)
}

/// Returns the runtime of the session of the extension that calls.
fn runtime_of(call: &Call<'_, '_>) -> Result<AgentRuntime, Thrown> {
    let runtime = context_of(call)?.runtime();
    runtime.ok_or_else(|| NativeError::new("the session has ended").into())
}

/// Returns the registrations of an extension: those of its session, or those that it makes while
/// it is loaded.
fn api_of(host: &Host, id: ExtensionId) -> Option<ExtensionApi> {
    let bound = host.context(id).map(|context| context.api().clone());
    bound.or_else(|| host.with_extension(id, |loaded| loaded.api.clone()))
}

/// Returns `{ promise, cancel }` for work that JavaScript can cancel.
fn cancellable<'js>(
    call: &Call<'_, 'js>,
    promise: rquickjs::Value<'js>,
    cancel: CancelToken,
) -> Answer<'js> {
    let object = Object::new(call.ctx().clone())?;
    object.set("promise", promise)?;
    let cancel = function(call.ctx(), call.host, move |call| {
        cancel.cancel();
        call.done()
    })?;
    object.set("cancel", cancel)?;
    Ok(object.into_value())
}

/// Describes an error of the log with the words that extensions know.
fn log_error(error: SessionError) -> NativeError {
    match error {
        SessionError::UnknownEntry(id) => NativeError::new(format!("Entry {id} not found")),
        error => error.into(),
    }
}
