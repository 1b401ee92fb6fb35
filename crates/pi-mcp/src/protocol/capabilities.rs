//! Capabilities of clients and servers.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Extra;

/// The capabilities of a client.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientCapabilities {
    /// The client lists its roots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roots: Option<ListChanged>,
    /// The client asks a model for the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling: Option<Sampling>,
    /// The client asks the user for the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elicitation: Option<Elicitation>,
    /// The client runs requests of the server as tasks (2025-11-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<Value>,
    /// Extensions by name.
    #[serde(skip_serializing_if = "Extra::is_empty")]
    pub extensions: Extra,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A capability with an optional notice of changes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ListChanged {
    /// Changes of the list are announced.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub list_changed: bool,
    /// Single resources can be subscribed to.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub subscribe: bool,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Features that a client offers for sampling.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sampling {
    /// `includeContext` is understood.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Value>,
    /// Tools are understood.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Value>,
}

/// The forms of questions that a client offers. Neither means forms.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Elicitation {
    /// Forms that the client shows to the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub form: Option<Value>,
    /// URLs that the client opens for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<Value>,
}

/// The capabilities of a server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerCapabilities {
    /// The server has tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<ListChanged>,
    /// The server has resources.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<ListChanged>,
    /// The server has prompts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompts: Option<ListChanged>,
    /// The server completes arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completions: Option<Value>,
    /// The server sends log messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logging: Option<Value>,
    /// The server runs requests as tasks (2025-11-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<Value>,
    /// Extensions by name.
    #[serde(skip_serializing_if = "Extra::is_empty")]
    pub extensions: Extra,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}
