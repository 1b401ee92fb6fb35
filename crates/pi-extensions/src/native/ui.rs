//! The user interface, for `js/pi/ui.js`.
//!
//! Every function takes the number of the extension first. Without a user interface, or before the
//! session exists, dialogs resolve to nothing and updates are dropped.

mod completions;
mod components;
mod dialogs;
mod renderers;
mod state;
mod updates;

use pi_coding_agent::extension::ExtensionUi;
use rquickjs::{Ctx, Object};

use crate::host::{ExtensionId, Host};

pub(super) fn install<'js>(ctx: &Ctx<'js>, host: &Host) -> rquickjs::Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    dialogs::install(ctx, host, &object)?;
    updates::install(ctx, host, &object)?;
    state::install(ctx, host, &object)?;
    components::install(ctx, host, &object)?;
    completions::install(ctx, host, &object)?;
    renderers::install(ctx, host, &object)?;
    Ok(object)
}

/// Returns the user interface of an extension.
fn ui_of(host: &Host, id: ExtensionId) -> Option<ExtensionUi> {
    // All extensions of a thread share one screen, which components of the host read.
    let context = if id == ExtensionId::MAX { host.any_context() } else { host.context(id) };
    context.map(|context| context.ui().clone())
}
