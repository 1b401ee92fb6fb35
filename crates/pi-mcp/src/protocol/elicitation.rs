//! Elicitation: a server asks the user.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Extra;

/// Parameters of `elicitation/create`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ElicitParams {
    /// `form` (also if absent) or `url`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The question.
    pub message: String,
    /// JSON Schema of the form: a flat object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requested_schema: Option<Value>,
    /// The address to open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Id of the question, for the notice that it is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elicitation_id: Option<String>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ElicitParams {
    /// Returns true if a URL is to be opened.
    pub fn is_url(&self) -> bool {
        self.mode.as_deref() == Some("url")
    }

    /// Returns the default values of the form's fields.
    pub fn defaults(&self) -> Map<String, Value> {
        let schema = self.requested_schema.as_ref();
        let fields = schema.and_then(|schema| schema.get("properties")?.as_object());
        let fields = fields.into_iter().flatten();
        let defaults = fields.filter_map(|(name, field)| Some((name, field.get("default")?)));
        defaults.map(|(name, value)| (name.clone(), value.clone())).collect()
    }
}

/// Reaction of the user.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ElicitAction {
    /// The user answered the question.
    Accept,
    /// The user declined to answer.
    Decline,
    /// The user closed the question.
    #[default]
    Cancel,
}

/// Result of `elicitation/create`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ElicitResult {
    /// Reaction of the user.
    pub action: ElicitAction,
    /// The fields of the form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Map<String, Value>>,
}
