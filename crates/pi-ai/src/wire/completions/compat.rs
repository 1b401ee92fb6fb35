//! The dialect of an endpoint.
//!
//! The base is detected from the provider's id and the base URL; every key of the model record's
//! `compat` overrides it. A key of the wrong type counts as absent: a typo in a user's file must
//! not affect other settings.

use pi_protocol::Model;
use serde_json::{Map, Value};

use crate::wire::OutputSupport;

/// The dialect of an endpoint.
#[derive(Debug)]
pub(super) struct Compat {
    /// The endpoint supports `store`, so requests must disable it.
    pub store: bool,
    /// The prompt of reasoning models has the role `developer`.
    pub developer_role: bool,
    /// The endpoint supports `reasoning_effort`.
    pub reasoning_effort: bool,
    /// The endpoint supports `stream_options.include_usage`.
    pub usage_in_streaming: bool,
    /// The endpoint sends a finish reason. If not, the end of the stream completes the answer.
    pub finish_reason: bool,
    /// Name of the field for the output limit.
    pub max_tokens_field: String,
    /// Tool results must repeat the tool's name.
    pub tool_result_name: bool,
    /// A tool result must be followed by an assistant message before a user message.
    pub assistant_after_tool_result: bool,
    /// Thinking of earlier turns is sent as text.
    pub thinking_as_text: bool,
    /// Earlier assistant messages must have `reasoning_content`, possibly empty.
    pub reasoning_content: bool,
    /// The way in which thinking is requested.
    pub thinking_format: ThinkingFormat,
    /// Arguments of the chat template, which may contain variables.
    pub chat_template_kwargs: Map<String, Value>,
    /// Arguments of Baseten's chat template, which may contain variables.
    pub chat_template_args: Map<String, Value>,
    /// The `provider` object of OpenRouter.
    pub open_router_routing: Map<String, Value>,
    /// The `providerOptions.gateway` object of Vercel.
    pub vercel_gateway_routing: Map<String, Value>,
    /// The endpoint supports `tool_stream`.
    pub tool_stream: bool,
    /// Name of the field for the thinking budget, if the endpoint supports one.
    pub thinking_budget_field: Option<String>,
    /// The endpoint supports strict tool schemas.
    pub strict_tools: bool,
    /// The endpoint supports custom tools with a grammar.
    pub grammar_tools: bool,
    /// The endpoint accepts system messages anywhere.
    pub system_anywhere: bool,
    /// The endpoint accepts tool declarations in system messages anywhere.
    pub tools_anywhere: bool,
    /// The scheduling priority of vLLM.
    pub vllm_priority: Option<Value>,
    /// The endpoint uses Anthropic's cache markers.
    pub cache_control: bool,
    /// The headers that carry the session id, if the endpoint uses any.
    pub session_affinity: Option<SessionAffinity>,
    /// The endpoint supports long cache retention.
    pub long_cache: bool,
    /// Usage reports of the endpoint contain the charge.
    pub bills: bool,
    /// The ability to constrain the final answer to a JSON Schema.
    pub output: OutputSupport,
}

/// The way in which thinking is requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ThinkingFormat {
    OpenAi,
    OpenRouter,
    DeepSeek,
    Zai,
    Together,
    AntLing,
    Qwen,
    QwenChatTemplate,
    ChatTemplate,
    Baseten,
    StringThinking,
}

/// The headers that carry the session id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionAffinity {
    /// The header `session_id` and two more.
    OpenAi,
    /// The headers of `OpenAi` without `session_id`.
    WithoutSession,
    /// The header `x-session-id`.
    OpenRouter,
}

impl Compat {
    /// Returns the dialect of the endpoint that serves `model`.
    pub(super) fn of(model: &Model) -> Self {
        let vendor = Vendor::of(model);
        let keys = CompatKeys(&model.compat);
        let is = |vendors: &[Vendor]| vendor.is_some_and(|vendor| vendors.contains(&vendor));
        let open_router = is(&[Vendor::OpenRouter]);
        let non_standard = vendor.is_some() && !open_router;
        let of_lab = |lab: &str| model.id.starts_with(lab);
        let developer = match vendor {
            Some(Vendor::OpenRouter) => of_lab("anthropic/") || of_lab("openai/"),
            Some(_) => false,
            None => true,
        };
        Self {
            store: keys.flag("supportsStore", !non_standard),
            developer_role: keys.flag("supportsDeveloperRole", developer),
            reasoning_effort: keys.flag("supportsReasoningEffort", !is(NO_REASONING_EFFORT)),
            usage_in_streaming: keys.flag("supportsUsageInStreaming", true),
            finish_reason: keys.flag("supportsFinishReason", true),
            max_tokens_field: keys.text("maxTokensField").unwrap_or_else(|| {
                let old = is(OLD_MAX_TOKENS);
                if old { "max_tokens" } else { "max_completion_tokens" }.to_owned()
            }),
            tool_result_name: keys.flag("requiresToolResultName", false),
            assistant_after_tool_result: keys.flag("requiresAssistantAfterToolResult", false),
            thinking_as_text: keys.flag("requiresThinkingAsText", false),
            reasoning_content: keys
                .flag("requiresReasoningContentOnAssistantMessages", is(&[Vendor::DeepSeek])),
            thinking_format: keys
                .text("thinkingFormat")
                .and_then(|name| ThinkingFormat::named(&name))
                .unwrap_or_else(|| ThinkingFormat::of(vendor)),
            chat_template_kwargs: keys.object("chatTemplateKwargs"),
            chat_template_args: keys.object("chatTemplateArgs"),
            open_router_routing: keys.object("openRouterRouting"),
            vercel_gateway_routing: keys.object("vercelGatewayRouting"),
            tool_stream: keys.flag("zaiToolStream", false),
            thinking_budget_field: keys.text("thinkingTokenBudgetField").or_else(|| {
                let standard = keys.flag("supportsThinkingTokenBudget", false);
                standard.then(|| "thinking_token_budget".to_owned())
            }),
            strict_tools: keys.flag("supportsStrictMode", false),
            grammar_tools: keys.flag("supportsOpenAIGrammarTools", false),
            system_anywhere: keys.flag("supportsMidConvoSystemMessages", false),
            tools_anywhere: keys.flag("supportsMidConvoToolAdditions", false),
            vllm_priority: keys.0.get("vllmPriority").filter(|value| value.is_number()).cloned(),
            cache_control: match keys.text("cacheControlFormat") {
                Some(format) => format == "anthropic",
                None => model.provider == "openrouter" && of_lab("anthropic/"),
            },
            session_affinity: keys.flag("sendSessionAffinityHeaders", open_router).then(|| {
                match keys.text("sessionAffinityFormat").as_deref() {
                    Some("openrouter") => SessionAffinity::OpenRouter,
                    Some("openai-nosession") => SessionAffinity::WithoutSession,
                    None if open_router => SessionAffinity::OpenRouter,
                    _ => SessionAffinity::OpenAi,
                }
            }),
            long_cache: keys.flag("supportsLongCacheRetention", !is(NO_LONG_CACHE)),
            bills: open_router,
            output: OutputSupport::of(model, default_output(model, vendor)),
        }
    }
}

/// Vendors whose endpoints differ from OpenAI's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Vendor {
    AntLing,
    Cerebras,
    Chutes,
    CloudflareGateway,
    CloudflareWorkers,
    DeepSeek,
    Grok,
    Moonshot,
    Nvidia,
    OpenCode,
    OpenRouter,
    Together,
    Zai,
}

/// Provider ids and parts of base URLs that identify a vendor.
const VENDORS: &[(Vendor, &[&str], &[&str])] = &[
    (Vendor::Zai, &["zai", "zai-coding-cn"], &["api.z.ai", "open.bigmodel.cn"]),
    (Vendor::Together, &["together"], &["api.together.ai", "api.together.xyz"]),
    (Vendor::Moonshot, &["moonshotai", "moonshotai-cn"], &["api.moonshot."]),
    (Vendor::OpenRouter, &["openrouter"], &["openrouter.ai"]),
    (Vendor::CloudflareWorkers, &["cloudflare-workers-ai"], &["api.cloudflare.com"]),
    (Vendor::CloudflareGateway, &["cloudflare-ai-gateway"], &["gateway.ai.cloudflare.com"]),
    (Vendor::Nvidia, &["nvidia"], &["integrate.api.nvidia.com"]),
    (Vendor::AntLing, &["ant-ling"], &["api.ant-ling.com"]),
    (Vendor::Cerebras, &["cerebras"], &["cerebras.ai"]),
    (Vendor::DeepSeek, &["deepseek"], &["deepseek.com"]),
    (Vendor::Grok, &["xai"], &["api.x.ai"]),
    (Vendor::Chutes, &[], &["chutes.ai"]),
    (Vendor::OpenCode, &["opencode", "opencode-go"], &["opencode.ai"]),
];

const NO_REASONING_EFFORT: &[Vendor] = &[
    Vendor::Grok,
    Vendor::Zai,
    Vendor::Moonshot,
    Vendor::Together,
    Vendor::CloudflareGateway,
    Vendor::Nvidia,
    Vendor::AntLing,
];

const OLD_MAX_TOKENS: &[Vendor] = &[
    Vendor::Chutes,
    Vendor::DeepSeek,
    Vendor::Moonshot,
    Vendor::CloudflareGateway,
    Vendor::Together,
    Vendor::Nvidia,
    Vendor::AntLing,
    Vendor::Zai,
];

const NO_LONG_CACHE: &[Vendor] = &[
    Vendor::Together,
    Vendor::CloudflareWorkers,
    Vendor::CloudflareGateway,
    Vendor::Nvidia,
    Vendor::AntLing,
];

/// Returns the support for schemas that a vendor documents. Servers that compile a schema to a
/// grammar cannot call tools at the same time; only OpenAI's own endpoints are known to.
fn default_output(model: &Model, vendor: Option<Vendor>) -> OutputSupport {
    match vendor {
        Some(Vendor::Cerebras | Vendor::Grok | Vendor::Moonshot) => OutputSupport::WithoutTools,
        Some(Vendor::OpenRouter) if model.id.starts_with("openai/") => OutputSupport::Supported,
        None if matches!(model.provider.as_str(), "openai" | "azure") => OutputSupport::Supported,
        None if model.provider == "fireworks" => OutputSupport::WithoutTools,
        _ => OutputSupport::Unsupported,
    }
}

impl Vendor {
    fn of(model: &Model) -> Option<Self> {
        let url = model.base_url.to_ascii_lowercase();
        let known = VENDORS.iter().find(|(_, ids, hosts)| {
            ids.contains(&model.provider.as_str()) || hosts.iter().any(|host| url.contains(host))
        });
        known.map(|(vendor, ..)| *vendor)
    }
}

impl ThinkingFormat {
    fn of(vendor: Option<Vendor>) -> Self {
        match vendor {
            Some(Vendor::DeepSeek) => Self::DeepSeek,
            Some(Vendor::Zai) => Self::Zai,
            Some(Vendor::Together) => Self::Together,
            Some(Vendor::AntLing) => Self::AntLing,
            Some(Vendor::OpenRouter) => Self::OpenRouter,
            _ => Self::OpenAi,
        }
    }

    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "openai" => Self::OpenAi,
            "openrouter" => Self::OpenRouter,
            "deepseek" => Self::DeepSeek,
            "zai" => Self::Zai,
            "together" => Self::Together,
            "ant-ling" => Self::AntLing,
            "qwen" => Self::Qwen,
            "qwen-chat-template" => Self::QwenChatTemplate,
            "chat-template" => Self::ChatTemplate,
            "baseten" => Self::Baseten,
            "string-thinking" => Self::StringThinking,
            _ => return None,
        })
    }
}

/// The `compat` object of a model record.
struct CompatKeys<'a>(&'a Map<String, Value>);

impl CompatKeys<'_> {
    fn flag(&self, key: &str, otherwise: bool) -> bool {
        self.0.get(key).and_then(Value::as_bool).unwrap_or(otherwise)
    }

    fn text(&self, key: &str) -> Option<String> {
        self.0.get(key)?.as_str().map(str::to_owned)
    }

    fn object(&self, key: &str) -> Map<String, Value> {
        self.0.get(key).and_then(Value::as_object).cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn compat(provider: &str, base_url: &str, compat: &Value) -> Compat {
        let model = json!({
            "id": "m", "api": "openai-completions", "provider": provider, "baseUrl": base_url,
            "compat": compat,
        });
        Compat::of(&serde_json::from_value(model).unwrap())
    }

    #[test]
    fn the_record_overrides_detection() {
        let detected = compat("x", "https://api.deepseek.com", &json!({}));
        assert_eq!(detected.thinking_format, ThinkingFormat::DeepSeek);
        assert_eq!(detected.max_tokens_field, "max_tokens");
        assert!(detected.reasoning_content && !detected.store);
        let overridden = compat(
            "x",
            "https://api.deepseek.com",
            &json!({"thinkingFormat": "qwen", "supportsStore": true, "maxTokensField": "n"}),
        );
        assert_eq!(overridden.thinking_format, ThinkingFormat::Qwen);
        assert!(overridden.store);
        assert_eq!(overridden.max_tokens_field, "n");
    }

    #[test]
    fn values_of_the_wrong_type_count_as_absent() {
        let keys = json!({"supportsStore": "no", "thinkingFormat": "unknown", "vllmPriority": "x",
            "chatTemplateKwargs": [1]});
        let compat = compat("x", "http://localhost:1", &keys);
        assert!(compat.store && compat.developer_role);
        assert_eq!(compat.thinking_format, ThinkingFormat::OpenAi);
        assert!(compat.vllm_priority.is_none() && compat.chat_template_kwargs.is_empty());
    }

    #[test]
    fn session_headers_have_three_shapes() {
        let shape = |keys: &Value| compat("x", "http://localhost:1", keys).session_affinity;
        assert_eq!(shape(&json!({})), None);
        let on = |format: &str| {
            shape(&json!({"sendSessionAffinityHeaders": true, "sessionAffinityFormat": format}))
        };
        assert_eq!(on("openai"), Some(SessionAffinity::OpenAi));
        assert_eq!(on("openai-nosession"), Some(SessionAffinity::WithoutSession));
        assert_eq!(on("openrouter"), Some(SessionAffinity::OpenRouter));
    }
}
