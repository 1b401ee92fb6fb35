//! Roots: the folders that a client works in.

use serde::{Deserialize, Serialize};

use super::Extra;

/// A folder.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Root {
    /// Address: `file:///…`.
    pub uri: String,
    /// Name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Anything else.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Result of `roots/list`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ListRootsResult {
    /// The folders.
    pub roots: Vec<Root>,
}
