//! The panels: what replaces the editor for a while. One file or directory per panel.

pub(super) mod approval;
pub(super) mod copy;
pub(super) mod custom;
pub(super) mod dialog;
mod dialog_frame;
pub(super) mod entry;
mod exact;
pub(super) mod fork;
mod frame;
pub(super) mod history;
pub(super) mod login;
pub(super) mod model;
pub(super) mod processes;
pub(super) mod providers;
pub(super) mod question;
pub(super) mod resources;
pub(super) mod resume;
pub(super) mod scoped_models;
mod scroll;
pub(super) mod settings;
#[cfg(test)]
mod testing;
pub(super) mod thinking;
pub(super) mod tree;
pub(super) mod trust;
pub(super) mod undo;
