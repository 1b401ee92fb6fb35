//! The start of a conversation: names, the handshake of the legacy era, discovery of the modern one.

use serde::{Deserialize, Serialize};

use super::lists::CacheScope;
use super::{Extra, ServerCapabilities};

/// The name and version of a program.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Implementation {
    /// Name of the program.
    pub name: String,
    /// Version of the program.
    #[serde(default)]
    pub version: String,
    /// Display name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Implementation {
    /// Names a program.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self { name: name.into(), version: version.into(), ..Self::default() }
    }
}

/// Result of `initialize`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InitializeResult {
    /// The version of the conversation.
    pub protocol_version: String,
    /// Capabilities of the server.
    #[serde(default)]
    pub capabilities: ServerCapabilities,
    /// The server.
    pub server_info: Implementation,
    /// Instructions for models that use the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Result of `server/discover`. The server's name is in `_meta`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DiscoverResult {
    /// Versions that the server knows.
    pub supported_versions: Vec<String>,
    /// Capabilities of the server.
    #[serde(default)]
    pub capabilities: ServerCapabilities,
    /// Instructions for models that use the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Time for which the result stays fresh, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// Clients that may share the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
    /// Metadata of the protocol (`_meta`).
    #[serde(rename = "_meta", default, skip_serializing_if = "Extra::is_empty")]
    pub meta: Extra,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl DiscoverResult {
    /// Returns the server's name and version. Drafts of the version had them beside `_meta`.
    pub fn server_info(&self) -> Option<Implementation> {
        let info =
            self.meta.get(super::meta::SERVER_INFO).or_else(|| self.extra.get("serverInfo"))?;
        serde_json::from_value(info.clone()).ok()
    }
}
