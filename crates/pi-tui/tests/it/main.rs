//! Tests of the toolkit at its seams.

mod editor;
mod emulator;
mod screen;
mod fuzzy;
mod text;
mod theme;
