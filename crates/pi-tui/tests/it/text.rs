//! Widths, wrapping, cutting, escape sequences.

mod ansi;
mod properties;
mod width;
mod wrap;
