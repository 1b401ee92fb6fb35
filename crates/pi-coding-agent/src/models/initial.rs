//! Which model to begin with, at what thinking level, and which one comes next.

use std::collections::BTreeMap;

use pi_protocol::{Model, ThinkingLevel};

use super::resolve::ModelName;
use super::scope::ScopedName;

/// The model to begin with where only the provider is known, in the order in which providers are
/// tried. Observed from pi 1.5.0.
pub const DEFAULT_MODELS: &[(&str, &str)] = &[
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

/// The level to think at where nobody says otherwise.
const DEFAULT_LEVEL: ThinkingLevel = ThinkingLevel::Medium;

/// The model that a provider begins with.
pub fn default_model(provider: &str) -> Option<&'static str> {
    DEFAULT_MODELS.iter().find(|(known, _)| *known == provider).map(|(_, id)| *id)
}

/// What there is to choose from besides what the command line names.
#[derive(Debug, Clone, Copy, Default)]
pub struct ModelPreferences<'a> {
    /// The models in the scope.
    pub scoped: &'a [ScopedName<'a>],
    /// A session is continued, so the scope does not choose.
    pub continuing: bool,
    /// Provider and id of the session's model.
    pub session: Option<(&'a str, &'a str)>,
    /// Provider and id of the settings.
    pub default: Option<(&'a str, &'a str)>,
}

/// The model to begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InitialModel<'a> {
    /// The model.
    pub model: ModelName<'a>,
    /// The level that its pattern in the scope asks for.
    pub level: Option<ThinkingLevel>,
    /// The session's model is not available, so this one takes its place.
    pub instead: bool,
}

/// Chooses the model to begin with among those with credentials: the scope's first (or the
/// settings' one if it is in the scope), the session's, the settings', the default of the first
/// provider that has it, the first of all.
pub fn initial_model<'a>(
    preferences: &ModelPreferences<'a>,
    available: &[ModelName<'a>],
) -> Option<InitialModel<'a>> {
    let find = |(provider, id): (&str, &str)| {
        available.iter().find(|model| model.provider == provider && model.id == id).copied()
    };
    let plain = |model| InitialModel { model, level: None, instead: false };
    if let Some(first) = preferences.scoped.first().filter(|_| !preferences.continuing) {
        let default = preferences.default.and_then(|default| {
            preferences.scoped.iter().find(|s| (s.model.provider, s.model.id) == default)
        });
        let scoped = default.unwrap_or(first);
        return Some(InitialModel { model: scoped.model, level: scoped.level, instead: false });
    }
    if let Some(model) = preferences.session.and_then(find) {
        return Some(plain(model));
    }
    let model = preferences
        .default
        .and_then(find)
        .or_else(|| DEFAULT_MODELS.iter().find_map(|default| find(*default)))
        .or_else(|| available.first().copied())?;
    Some(InitialModel { instead: preferences.session.is_some(), ..plain(model) })
}

/// What to say when a session's model is not available.
pub fn restore_failure((provider, id): (&str, &str), instead: Option<(&str, &str)>) -> String {
    let failure = format!("Could not restore model {provider}/{id}");
    match instead {
        Some((provider, id)) => format!("{failure}. Using {provider}/{id}"),
        None => format!("{failure}, and no other model has credentials"),
    }
}

/// The level to think at: the one asked for, the settings' one for this model, the settings'
/// one for all, the current one; fitted to the model.
pub fn thinking_level(
    model: &Model,
    asked: Option<ThinkingLevel>,
    by_model: &BTreeMap<String, ThinkingLevel>,
    default: Option<ThinkingLevel>,
    current: Option<ThinkingLevel>,
) -> ThinkingLevel {
    let own = || by_model.get(&format!("{}/{}", model.provider, model.id)).copied();
    let wanted = asked.or_else(own).or(default).or(current).unwrap_or(DEFAULT_LEVEL);
    model.clamp_thinking(wanted)
}

/// A direction to cycle in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// To the next.
    Forward,
    /// To the previous.
    Backward,
}

/// The index that follows `current` among `count`; one that is not among them counts as the
/// first. `None` if there is nothing to cycle through.
pub fn cycle(count: usize, current: Option<usize>, direction: Direction) -> Option<usize> {
    if count <= 1 {
        return None;
    }
    let current = current.filter(|index| *index < count).unwrap_or(0);
    Some(match direction {
        Direction::Forward => (current + 1) % count,
        Direction::Backward => (current + count - 1) % count,
    })
}
