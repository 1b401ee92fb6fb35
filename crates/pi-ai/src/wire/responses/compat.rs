//! What an endpoint supports: a typed view of `model.compat`.
//!
//! Read once per request. Keys this format does not know belong to other formats and are ignored.

use pi_protocol::Model;
use secrecy::ExposeSecret;
use serde_json::Value;

use crate::wire::Call;

const OPENAI_BASE_URL: &str = "https://api.openai.com/v1";

/// What the endpoint of a call supports.
// Each flag is one fact of the model record, and they are independent.
#[derive(Debug, Clone)]
pub(super) struct Compat {
    /// Instructions go out as `developer`, not as `system`.
    pub(super) developer_role: bool,
    /// Tools may be strict.
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
    /// Caching is asked for by `prompt_cache_options`.
    pub(super) explicit_cache: bool,
    /// `prompt_cache_retention: 24h` is understood.
    pub(super) long_cache: bool,
    /// `max_output_tokens` is understood.
    pub(super) max_output_tokens: bool,
    /// `temperature` is understood.
    pub(super) temperature: bool,
    /// Which headers carry the session id.
    pub(super) session_headers: &'static [&'static str],
}

impl Compat {
    /// What the endpoint of `call` supports. The token of a ChatGPT subscription supports less
    /// than an API key.
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
            // Both declare tools in the middle, which takes system messages there.
            additional_tools: mid_system && offers("supportsAdditionalTools"),
            tool_search: mid_system && offers("supportsToolSearch"),
            mid_effort: offers("supportsMidConvoEffort") && !subscription,
            explicit_cache: offers("supportsExplicitPromptCacheMode") && !subscription,
            long_cache: lacks_not("supportsLongCacheRetention") && !subscription,
            max_output_tokens: lacks_not("supportsMaxOutputTokens") && !subscription,
            temperature: !subscription,
            session_headers: session_headers(model),
        }
    }

    /// The role of instructions.
    pub(super) fn system_role(&self) -> &'static str {
        if self.developer_role { "developer" } else { "system" }
    }
}

/// The key is the token of a ChatGPT subscription ("Sign in with ChatGPT").
fn is_chatgpt_sign_in(call: &Call) -> bool {
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
