//! Arranging lines: boxes, rules, rows with two ends, columns, stacks of components.
//!
//! Functions take and return lines; only [`Stack`] holds components.

mod boxed;
mod columns;
mod row;
mod stack;

pub use boxed::{Padding, boxed};
pub use columns::columns;
pub use row::{justified, rule};
pub use stack::{Spacer, Stack};
