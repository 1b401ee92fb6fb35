//! Asking users for credentials: on a terminal, in JSON lines, and on the screen.
//!
//! `pi-ai` drives logins and `pi-coding-agent` stores them; both ask through [`Interaction`], which
//! this module implements for terminals and scripts. The screen has its own in `interactive`.
//!
//! [`Interaction`]: pi_ai::oauth::Interaction

pub(crate) mod browser;
pub(crate) mod forms;
pub(crate) mod hidden;
pub(crate) mod json_lines;
pub(crate) mod terminal;
