//! The model and the thinking level of a new session.

use std::collections::BTreeMap;

use pi_protocol::{Model, ThinkingLevel};

use crate::resolve::ModelName;

/// Default models of providers, as provider and id, in the order in which providers are tried.
/// Observed from pi 1.5.0.
pub(crate) const DEFAULT_MODELS: &[(&str, &str)] = &[
    ("amazon-bedrock", "us.anthropic.claude-opus-4-6-v1"),
    ("ant-ling", "Ring-2.6-1T"),
    ("anthropic", "claude-opus-4-8"),
    ("openai", "gpt-6.1-sol"),
    ("azure", "gpt-5.4"),
    ("openai-codex", "gpt-6.1-sol"),
    ("radius", "balanced"),
    ("nvidia", "nvidia/nemotron-3.5-super-vl-120b-a12b"),
    ("deepseek", "deepseek-v4-pro"),
    ("google", "gemini-3.1-pro-preview"),
    ("google-vertex", "gemini-3.1-pro-preview"),
    ("github-copilot", "gpt-6.1-sol"),
    ("openrouter", "moonshotai/kimi-k2.6"),
    ("vercel-ai-gateway", "zai/glm-5.1"),
    ("xai", "grok-4.7"),
    ("groq", "openai/gpt-oss-120b"),
    ("cerebras", "gpt-oss-120b"),
    ("zai", "glm-5.3"),
    ("zai-coding-cn", "glm-5.3"),
    ("mistral", "devstral-medium-latest"),
    ("minimax", "MiniMax-M2.7"),
    ("minimax-cn", "MiniMax-M2.7"),
    ("moonshotai", "kimi-k2.6"),
    ("moonshotai-cn", "kimi-k2.6"),
    ("huggingface", "moonshotai/Kimi-K2.6"),
    ("fireworks", "accounts/fireworks/models/kimi-k3"),
    ("together", "moonshotai/Kimi-K3"),
    ("baseten", "zai-org/GLM-5.2"),
    ("opencode", "kimi-k2.6"),
    ("opencode-go", "kimi-k3"),
    ("kimi-coding", "kimi-for-coding"),
    ("meta", "muse-spark-1.3"),
    ("cloudflare-workers-ai", "@cf/moonshotai/kimi-k2.6"),
    ("cloudflare-ai-gateway", "workers-ai/@cf/moonshotai/kimi-k2.6"),
    ("qwen-token-plan", "qwen3.7-max"),
    ("qwen-token-plan-cn", "qwen3.7-max"),
    ("qwen-token-plan-individual", "qwen3.8-max"),
    ("xiaomi", "mimo-v2.6-pro"),
    ("xiaomi-token-plan-cn", "mimo-v2.6-pro"),
    ("xiaomi-token-plan-ams", "mimo-v2.6-pro"),
    ("xiaomi-token-plan-sgp", "mimo-v2.6-pro"),
];

/// Returns the id of a provider's default model.
pub(crate) fn default_model(provider: &str) -> Option<&'static str> {
    DEFAULT_MODELS.iter().find(|(known, _)| *known == provider).map(|(_, id)| *id)
}

/// Selects the model of a session for which none is named: the default model of a provider, else any
/// model.
pub fn initial_model<'a>(available: &[ModelName<'a>]) -> Option<ModelName<'a>> {
    let find = |(provider, id): &(&str, &str)| {
        available.iter().find(|model| model.provider == *provider && model.id == *id).copied()
    };
    DEFAULT_MODELS.iter().find_map(find).or_else(|| available.first().copied())
}

/// Returns the warning for a session whose model does not exist. `instead` is the model that
/// replaces it.
pub fn restore_failure((provider, id): (&str, &str), instead: &Model) -> String {
    let Model { provider: other, id: instead, .. } = instead;
    format!("Could not restore model {provider}/{id}. Using {other}/{instead}")
}

/// Returns the thinking level of a model: the requested one, else the level of the settings for
/// this model, else the default; limited to the levels that the model supports.
pub fn thinking_level(
    model: &Model,
    requested: Option<ThinkingLevel>,
    by_model: &BTreeMap<String, ThinkingLevel>,
    default: ThinkingLevel,
) -> ThinkingLevel {
    let own = || by_model.get(&format!("{}/{}", model.provider, model.id)).copied();
    model.clamp_thinking(requested.or_else(own).unwrap_or(default))
}
