//! Tests of the toolkit at its seams.

mod text;
mod theme;
