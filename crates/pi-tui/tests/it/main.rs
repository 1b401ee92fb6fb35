//! Tests of the toolkit at its seams.

mod editor;
mod text;
mod theme;
