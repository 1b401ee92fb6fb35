//! Lists in pages, and how long they stay fresh.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Who may share a cached result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheScope {
    /// All clients.
    Public,
    /// Only requests with the same authorization.
    Private,
}

/// What all pages of lists have, beside their items.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Page {
    /// Where the next page starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// How long the page stays fresh, in milliseconds (modern).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// Who may share the page (modern).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
    /// The items and anything else.
    #[serde(flatten)]
    pub items: serde_json::Map<String, Value>,
}
