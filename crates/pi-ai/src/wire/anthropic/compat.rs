//! Differences of an endpoint from Anthropic's own.

use pi_protocol::{Model, ModelCost};
use serde::Deserialize;
use serde_json::Value;

use crate::wire::OutputSupport;

/// The keys of `model.compat` that this format reads. The default of a key is Anthropic's behavior.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Compat {
    /// Tools may request that their input streams while it is produced.
    pub(super) supports_eager_tool_input_streaming: bool,
    pub(super) supports_long_cache_retention: bool,
    pub(super) supports_cache_control_on_tools: bool,
    pub(super) supports_temperature: bool,
    pub(super) supports_strict_tools: bool,
    /// Thinking is requested by effort instead of a token budget.
    pub(super) force_adaptive_thinking: bool,
    /// The endpoint accepts thinking without a signature.
    pub(super) allow_empty_signature: bool,
    pub(super) supports_mid_convo_system_messages: bool,
    pub(super) supports_mid_convo_tool_changes: bool,
    /// The effort can change between turns without losing the prompt cache.
    pub(super) supports_mid_convo_effort: bool,
    /// A header has the session id, for routing to the server with the cached prompt. OpenRouter
    /// is sent one by default.
    send_session_affinity_headers: Option<bool>,
    session_affinity_format: Option<String>,
    /// Models that may answer instead, with their prices.
    pub(super) allowed_fallback_models: Vec<FallbackModel>,
}

/// A model that may answer in place of the requested one.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct FallbackModel {
    pub(super) model: String,
    pub(super) cost: ModelCost,
}

impl Default for Compat {
    fn default() -> Self {
        Self {
            supports_eager_tool_input_streaming: true,
            supports_long_cache_retention: true,
            supports_cache_control_on_tools: true,
            supports_temperature: true,
            supports_strict_tools: false,
            force_adaptive_thinking: false,
            allow_empty_signature: false,
            supports_mid_convo_system_messages: false,
            supports_mid_convo_tool_changes: false,
            supports_mid_convo_effort: false,
            send_session_affinity_headers: None,
            session_affinity_format: None,
            allowed_fallback_models: Vec::new(),
        }
    }
}

impl Compat {
    /// Reads the model record. A malformed record gives the defaults: it may come from a user's
    /// file, and a wrong flag must not make the model unusable.
    pub(super) fn of(model: &Model) -> Self {
        serde_json::from_value(Value::Object(model.compat.clone())).unwrap_or_default()
    }

    /// Returns the support for schemas of the final answer. It came with strict tools.
    pub(super) fn output_support(&self, model: &Model) -> OutputSupport {
        OutputSupport::of(model, OutputSupport::if_true(self.supports_strict_tools))
    }

    /// Returns the name of the header that carries the session id.
    pub(super) fn session_header(&self, model: &Model) -> Option<&'static str> {
        let at_openrouter =
            model.provider == "openrouter" || model.base_url.contains("openrouter.ai");
        if !self.send_session_affinity_headers.unwrap_or(at_openrouter) {
            return None;
        }
        match self.session_affinity_format.as_deref() {
            Some("openrouter") => Some("x-session-id"),
            None if at_openrouter => Some("x-session-id"),
            _ => Some("x-session-affinity"),
        }
    }
}
