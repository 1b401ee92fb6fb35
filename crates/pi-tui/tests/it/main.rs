//! Tests of the toolkit at its seams.

#![allow(clippy::unwrap_used)]

mod editor;
mod emulator;
mod fuzzy;
#[cfg(unix)]
mod guard;
mod list;
mod overlay;
mod screen;
mod text;
mod theme;
