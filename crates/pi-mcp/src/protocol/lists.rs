//! Lists in pages, and how long they stay fresh.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Clients that may share a cached result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheScope {
    /// All clients may share the result.
    Public,
    /// Only requests with the same authorization.
    Private,
}

/// Fields that all pages of lists have beside their items.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Page {
    /// Start of the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// Time for which the page stays fresh, in milliseconds (modern).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// Clients that may share the page (modern).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
    /// The items and anything else.
    #[serde(flatten)]
    pub items: serde_json::Map<String, Value>,
}
