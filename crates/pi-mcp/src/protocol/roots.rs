//! Roots: the folders that a client works in.

use serde::{Deserialize, Serialize};

use super::Extra;

/// A directory that the client offers to servers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Root {
    /// Address of the directory: `file:///…`.
    pub uri: String,
    /// Display name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Result of `roots/list`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ListRootsResult {
    /// The directories that the client offers.
    pub roots: Vec<Root>,
}
