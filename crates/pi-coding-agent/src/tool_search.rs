//! Tool search: finding one tool among many, and giving it to the model.
//!
//! `words` cuts text into terms, `document` is what is known about a tool, `index` ranks tools for
//! a query, and `tool` is the `tool_search` tool. The index is built once per tool set and shared
//! with scripts (`searchTools`).

mod document;
mod index;
mod tool;
mod words;

pub use index::{Found, ToolIndex};
pub use tool::builtin;

/// Name of the tool.
pub const TOOL_SEARCH: &str = "tool_search";
