//! Tests of the validator: rows recorded from the TypeScript pi, properties, the official suite.

#![allow(clippy::unwrap_used)]

mod arguments;
mod suite;
