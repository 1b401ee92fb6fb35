//! The panels: what replaces the editor for a while. One file or directory per panel.

pub(super) mod approval;
pub(super) mod choice;
pub(super) mod copy;
pub(super) mod custom;
pub(super) mod dialog;
mod dialog_frame;
mod entry;
mod exact;
pub(super) mod fork;
mod frame;
pub(super) mod line;
pub(super) mod login;
pub(super) mod logout;
pub(super) mod model;
mod providers;
mod question;
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
