//! JSON Schema: validation of a value, and coercion of a value to the types of a schema.
//!
//! The validator reports [`Mismatch`]es as data, and each caller puts them into its own words: for
//! a model that called a tool ([`arguments`]), for a result, for a task file.
//! One dialect has the keywords of all drafts: draft 2020-12, and the older forms of tuples,
//! dependencies and exclusive limits. Embedded resources share the pointers of the root.
//!
//! Schemas are untrusted: a tool can come from a server that was never reviewed. A malformed
//! keyword constrains nothing, cyclic references end, nothing is loaded, and a schema that is built
//! to be slow runs out of steps. [`find_defect`] is for schemas that must be right.

pub mod arguments;

mod coerce;
mod defect;
mod document;
mod format;
mod json;
mod mismatch;
mod number;
mod pattern;
mod validate;

pub use coerce::without_nulls;
pub use defect::{Defect, find_defect};
pub use mismatch::{Detail, Mismatch, child_pointer};
pub(crate) use validate::check_in;
pub use validate::{Checked, check};
