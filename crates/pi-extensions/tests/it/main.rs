//! Tests of the extension host: real files, a real session, a scripted model.

#![allow(clippy::unwrap_used, dead_code, missing_docs)] // A panic is how a test fails.

mod access;
mod builtin_tools;
mod bus;
mod check;
mod codemode;
mod commands;
mod events;
mod exec;
mod hostile;
mod hostmods;
mod javascript;
mod kit;
mod lifetime;
mod loading;
mod merge;
mod messages;
mod models;
mod positions;
mod probe;
mod probes;
mod process;
mod providers;
mod sessions;
mod test_runner;
mod tools;
mod trial;
mod tui;
mod typebox;
mod ui;
mod virtual_models;
mod web;
