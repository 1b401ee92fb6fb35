//! Tests of the extension host: real files, a real session, a scripted model.

#![allow(clippy::unwrap_used, dead_code, missing_docs)] // A panic is how a test fails.

mod access;
mod check;
mod hostile;
mod hostmods;
mod kit;
mod loading;
mod positions;
mod process;
mod test_runner;
mod trial;
mod tui;
mod typebox;
mod ui;
