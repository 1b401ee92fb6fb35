//! Measuring, cutting and reading text in columns of the terminal.
//!
//! The unit is the grapheme cluster: what a reader sees as one character has one width and is never
//! cut in two.

mod ansi;
mod columns;
mod cut;
mod sgr;
mod visible;
mod wrap;

pub use ansi::{from_ansi, plain};
pub(crate) use columns::extended_width;
pub use columns::{grapheme_width, graphemes, width};
pub use cut::{slice, truncate};
pub(crate) use visible::is_hidden;
pub use visible::visible;
pub(crate) use wrap::is_cjk;
pub use wrap::{wrap, wrap_indented};
