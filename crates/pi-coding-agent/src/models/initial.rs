//! The model and the thinking level of a new session.

use std::collections::BTreeMap;

use pi_protocol::{Model, ThinkingLevel};

use super::resolve::ModelName;
use super::scope::ScopedName;

/// Default models of providers, as provider and id, in the order in which providers are tried.
/// Observed from pi 1.5.0.
pub(super) const DEFAULT_MODELS: &[(&str, &str)] = &[
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
pub(super) fn default_model(provider: &str) -> Option<&'static str> {
    DEFAULT_MODELS.iter().find(|(known, _)| *known == provider).map(|(_, id)| *id)
}

/// Preferences for the model of a session that was started without one. Models are given as
/// provider and id.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ModelPreferences<'a> {
    /// Models in the scope.
    pub(crate) scoped: &'a [ScopedName<'a>],
    /// Model of a resumed session. If it is set, the scope is ignored.
    pub(crate) session: Option<(&'a str, &'a str)>,
    /// Default model of the settings.
    pub(crate) default: Option<(&'a str, &'a str)>,
}

/// The model of a session that was started without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InitialModel<'a> {
    /// Name of the model.
    pub(crate) model: ModelName<'a>,
    /// Thinking level of its pattern in the scope.
    pub(crate) level: Option<ThinkingLevel>,
}

/// Selects the initial model: the default of the settings if it is in the scope, else the first
/// model of the scope. Without a scope, the first of these that is in `available`: the model of the
/// session, the default of the settings, the default model of a provider, any model.
pub(crate) fn initial_model<'a>(
    preferences: &ModelPreferences<'a>,
    available: &[ModelName<'a>],
) -> Option<InitialModel<'a>> {
    if preferences.session.is_none()
        && let Some(first) = preferences.scoped.first()
    {
        let default = preferences.default.and_then(|default| {
            let mut scoped = preferences.scoped.iter();
            scoped.find(|scoped| (scoped.model.provider, scoped.model.id) == default)
        });
        let ScopedName { model, level } = *default.unwrap_or(first);
        return Some(InitialModel { model, level });
    }
    let find = |(provider, id): (&str, &str)| {
        available.iter().find(|model| model.provider == provider && model.id == id).copied()
    };
    let model = preferences
        .session
        .and_then(find)
        .or_else(|| preferences.default.and_then(find))
        .or_else(|| DEFAULT_MODELS.iter().find_map(|default| find(*default)))
        .or_else(|| available.first().copied())?;
    Some(InitialModel { model, level: None })
}

/// Returns the warning for a session whose model is not available. `instead` is the model that
/// replaces it.
pub(crate) fn restore_failure(
    (provider, id): (&str, &str),
    instead: Option<(&str, &str)>,
) -> String {
    let failure = format!("Could not restore model {provider}/{id}");
    match instead {
        Some((provider, id)) => format!("{failure}. Using {provider}/{id}"),
        None => format!("{failure}, and no other model has credentials"),
    }
}

/// Returns the thinking level of a model: the requested one, else the level of the settings for
/// this model, else the default; limited to the levels that the model supports.
pub(crate) fn thinking_level(
    model: &Model,
    requested: Option<ThinkingLevel>,
    by_model: &BTreeMap<String, ThinkingLevel>,
    default: ThinkingLevel,
) -> ThinkingLevel {
    let own = || by_model.get(&format!("{}/{}", model.provider, model.id)).copied();
    model.clamp_thinking(requested.or_else(own).unwrap_or(default))
}
