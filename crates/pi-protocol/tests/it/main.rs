//! The vocabulary at its boundaries: JSON both ways, and the promises of the stream.

#![allow(clippy::unwrap_used)]

mod declarations;
mod json;
mod stream;
