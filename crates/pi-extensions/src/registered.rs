//! What extensions register, as the types of a session: tools, providers, commands, logins, routers.
//!
//! The functions stay in JavaScript; a [`JsHandle`] calls them.

mod command;
mod handle;
mod login;
mod output;
mod provider;
mod router;
mod tool;

pub(crate) use command::{argument_completer, command_handler};
pub(crate) use handle::JsHandle;
pub(crate) use login::provider_login;
pub(crate) use output::output_from_json;
pub(crate) use provider::JsProvider;
pub(crate) use router::router;
pub(crate) use tool::JsTool;
