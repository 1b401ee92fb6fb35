//! Tests of the public API: JSON round trips and the contract of the stream.

#![allow(clippy::unwrap_used)]

mod declarations;
mod json;
mod stream;
