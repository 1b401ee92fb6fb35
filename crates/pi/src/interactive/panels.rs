//! The panels: what replaces the editor for a while. One file or directory per panel.

pub(super) mod resume;
