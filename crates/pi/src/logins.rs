//! Asking users for credentials: on a terminal, and in JSON lines for scripts.
//!
//! `pi-ai` drives logins, and `pi-host` has the forms of keys; both ask through [`Interaction`], which
//! this module implements for terminals and scripts. The screen has its own.
//!
//! [`Interaction`]: pi_web::oauth::Interaction

pub(crate) mod hidden;
pub(crate) mod json_lines;
pub(crate) mod terminal;
