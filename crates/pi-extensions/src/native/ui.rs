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

use crate::host::{ExtensionId, Host, Natives};

pub(super) const TABLES: &[Natives] = &[
    dialogs::FUNCTIONS,
    updates::FUNCTIONS,
    state::FUNCTIONS,
    components::FUNCTIONS,
    completions::FUNCTIONS,
    renderers::FUNCTIONS,
];

/// Returns the user interface of an extension.
fn ui_of(host: &Host, id: ExtensionId) -> Option<ExtensionUi> {
    // All extensions of a thread share one screen, which components of the host read.
    let context = if id == ExtensionId::MAX { host.any_context() } else { host.context(id) };
    context.map(|context| context.ui().clone())
}
