//! Task files: from the text of a user to a contract, with the place of every value.

mod document;
mod json;
mod shape;
mod yaml;

pub use document::{Document, Place, Problem};
