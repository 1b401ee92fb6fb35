//! The panels: what replaces the editor for a while. One file or directory per panel.

mod frame;
pub(super) mod model;
pub(super) mod resume;
pub(super) mod scoped_models;
pub(super) mod thinking;
