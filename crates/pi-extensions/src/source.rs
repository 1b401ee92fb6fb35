//! Source files: from TypeScript or JavaScript text to a compiled function.
//!
//! A module becomes a *function* with its imports as parameters, not a module of the engine: the
//! engine never frees modules, refuses an import whose name does not exist, and cannot `require` an
//! ES module. [`transpile`] removes types, [`rewrite`] turns imports and exports into property
//! reads and getters, [`map`] leads positions back to the text that the user wrote, [`cache`] keeps
//! the result, keyed by content.

pub(crate) mod cache;
pub(crate) mod map;
pub(crate) mod prepare;
mod rewrite;
mod transpile;

pub(crate) use prepare::{Format, SyntaxProblem, prepare};
pub(crate) use transpile::source_type;
