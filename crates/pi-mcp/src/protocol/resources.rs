//! Resources and their templates.

use serde::{Deserialize, Serialize};

use super::lists::CacheScope;
use super::{Extra, ResourceContents};

/// A resource of a server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    /// Address of the resource.
    pub uri: String,
    /// Name of the resource.
    #[serde(default)]
    pub name: String,
    /// Display name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Description of the resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// MIME type of the resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Size of the resource in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Anything else, such as annotations and icons.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A family of resources.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceTemplate {
    /// Address with places for variables (RFC 6570).
    pub uri_template: String,
    /// Name of the resource.
    #[serde(default)]
    pub name: String,
    /// Display name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Description of the resources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Kind of all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Result of `resources/read`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ReadResourceResult {
    /// The contents; several for a folder, for example.
    pub contents: Vec<ResourceContents>,
    /// Time for which the result stays fresh, in milliseconds (modern).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// Clients that may share the result (modern).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}
