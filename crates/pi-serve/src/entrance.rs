//! The security half: which requests may pass, who sends them, and what the sender may do.
//!
//! [`gate`] refuses requests that a browser sends for a page of another site. [`tokens`] and
//! [`cookies`] tell who sends a request, [`guesses`] slows wrong tokens down, and [`rights`] says
//! what an identity may do. Must not know sessions but by their ids.

pub mod cookies;
pub mod gate;
pub mod guesses;
pub mod rights;
mod secret;
pub mod tokens;

pub use rights::{Identity, Right};
