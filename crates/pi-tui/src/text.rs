//! Text in columns of the terminal: styled lines, and measuring, cutting and reading text.
//!
//! The unit is the grapheme cluster: what a reader sees as one character has one width and is never
//! cut in two.

mod ansi;
mod columns;
mod cut;
mod line;
mod sgr;
mod visible;
mod wrap;

pub use ansi::{from_ansi, plain};
pub use columns::{grapheme_width, graphemes, width};
pub use cut::{slice, truncate};
pub use line::{Line, LineEnd, Lines, Span, rule};
pub use visible::visible;
pub(crate) use wrap::is_cjk;
pub use wrap::{wrap, wrap_indented};
