//! Capabilities of an endpoint: a typed view of `model.compat`.
//!
//! Read once per request. Unknown keys belong to other formats and are ignored.

use pi_protocol::Model;
use secrecy::ExposeSecret;
use serde_json::Value;

use crate::wire::Call;

const OPENAI_BASE_URL: &str = "https://api.openai.com/v1";

/// Fields that the API rejects if the key is the token of a ChatGPT subscription, as its vendor
/// documents.
const REJECTED_OF_SUBSCRIPTIONS: &[&str] = &[
    "background",
    "conversation",
    "max_output_tokens",
    "max_tool_calls",
    "metadata",
    "moderation",
    "prompt",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "safety_identifier",
    "service_tier",
    "temperature",
    "top_logprobs",
    "top_p",
    "truncation",
    "user",
];

/// Capabilities of the endpoint of a call.
// Each flag is an independent fact of the model record.
#[derive(Debug, Clone)]
pub(super) struct Compat {
    /// Instructions have the role `developer`, not `system`.
    pub(super) developer_role: bool,
    /// Tools may have strict schemas.
    pub(super) strict_tools: bool,
    /// Tools may be constrained by a grammar.
    pub(super) grammar_tools: bool,
    /// System messages may come after the first user message.
    pub(super) mid_system: bool,
    /// Tools may be declared anywhere, as `additional_tools` items.
    pub(super) additional_tools: bool,
    /// Tools may be added later, as the result of a tool search.
    pub(super) tool_search: bool,
    /// The effort may change within a conversation, by `configuration_update` items.
    pub(super) mid_effort: bool,
    /// Caching is requested with `prompt_cache_options`.
    pub(super) explicit_cache: bool,
    /// The endpoint supports `prompt_cache_retention: 24h`.
    pub(super) long_cache: bool,
    /// The endpoint supports `max_output_tokens`.
    pub(super) max_output_tokens: bool,
    /// Fields of the body that the endpoint rejects.
    pub(super) rejected: &'static [&'static str],
    /// Tools without a strict schema say so with `null`.
    pub(super) null_strict: bool,
    /// The prompt at the beginning is a field of the body, not an item of the input.
    pub(super) prompt_in_body: bool,
    /// The headers that carry the session id.
    pub(super) session_headers: &'static [&'static str],
}

impl Compat {
    /// Returns the capabilities of the endpoint of `call`. A token of a ChatGPT subscription has
    /// fewer of them than an API key.
    pub(super) fn of(call: &Call) -> Self {
        let model = &*call.model;
        let is = |key: &str| model.compat.get(key).and_then(Value::as_bool);
        let offers = |key: &str| is(key).unwrap_or(false);
        let lacks_not = |key: &str| is(key).unwrap_or(true);
        let subscription = is_chatgpt_sign_in(call);
        let mid_system = offers("supportsMidConvoSystemMessages");
        Self {
            developer_role: model.reasoning && lacks_not("supportsDeveloperRole"),
            strict_tools: offers("supportsStrictMode"),
            grammar_tools: offers("supportsOpenAIGrammarTools"),
            mid_system,
            // Both declare tools within the conversation, which requires system messages there.
            additional_tools: mid_system && offers("supportsAdditionalTools"),
            tool_search: mid_system && offers("supportsToolSearch"),
            mid_effort: offers("supportsMidConvoEffort") && !subscription,
            explicit_cache: offers("supportsExplicitPromptCacheMode"),
            long_cache: lacks_not("supportsLongCacheRetention"),
            max_output_tokens: lacks_not("supportsMaxOutputTokens"),
            rejected: if subscription { REJECTED_OF_SUBSCRIPTIONS } else { &[] },
            null_strict: false,
            prompt_in_body: false,
            session_headers: session_headers(model),
        }
    }

    /// Returns the capabilities of a model at Azure, which has neither session headers nor the newer
    /// parameters of OpenAI's own endpoint.
    pub(super) fn of_azure(call: &Call) -> Self {
        let strict = call.model.compat.get("supportsStrictMode").and_then(Value::as_bool);
        Self {
            strict_tools: strict.unwrap_or(true),
            mid_effort: false,
            explicit_cache: false,
            long_cache: false,
            max_output_tokens: true,
            session_headers: &[],
            ..Self::of(call)
        }
    }

    /// Returns the capabilities of ChatGPT's backend.
    pub(super) fn of_codex(call: &Call) -> Self {
        Self {
            strict_tools: true,
            null_strict: true,
            mid_effort: false,
            prompt_in_body: true,
            ..Self::of(call)
        }
    }

    /// Returns the role of instructions.
    pub(super) fn system_role(&self) -> &'static str {
        if self.developer_role { "developer" } else { "system" }
    }
}

/// Returns true if the key is the token of a ChatGPT subscription ("Sign in with ChatGPT").
pub(super) fn is_chatgpt_sign_in(call: &Call) -> bool {
    let model = &call.model;
    let key = call.api_key.as_ref().map(ExposeSecret::expose_secret);
    model.provider == "openai"
        && model.base_url.trim_end_matches('/') == OPENAI_BASE_URL
        && key.is_some_and(|key| !key.starts_with("sk-"))
}

fn session_headers(model: &Model) -> &'static [&'static str] {
    let format = model.compat.get("sessionAffinityFormat").and_then(Value::as_str);
    let is_openrouter =
        || model.provider == "openrouter" || model.base_url.contains("openrouter.ai");
    match format {
        Some("openrouter") => &["x-session-id"],
        Some("openai-nosession") => &["x-client-request-id"],
        None if is_openrouter() => &["x-session-id"],
        _ => &["session_id", "x-client-request-id"],
    }
}
