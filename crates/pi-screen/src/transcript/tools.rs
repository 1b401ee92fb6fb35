//! The renderers of the built-in tools. All have one shape: a call and a width in, lines out.

pub(super) mod bash;
pub(super) mod codemode;
pub(super) mod edit;
pub(super) mod find;
pub(super) mod grep;
mod listing;
pub(super) mod ls;
pub(super) mod other;
pub(super) mod read;
pub(super) mod write;
