//! The models that one can cycle through: patterns of `--models` and `enabledModels`.
//!
//! A pattern with `*`, `?` or `[` is a glob over `provider/id` and `id`; any other is looked for
//! like a model. Both may end in `:level`.

use globset::GlobBuilder;
use pi_protocol::ThinkingLevel;

use super::resolve::{ModelName, ModelReference, Resolution, Suffix, exact, resolve};

/// A model in the scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScopedName<'a> {
    /// The model.
    pub model: ModelName<'a>,
    /// The level that its pattern asks for.
    pub level: Option<ThinkingLevel>,
}

/// What patterns lead to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelScope<'a> {
    /// The models in the order of the patterns, each once.
    pub models: Vec<ScopedName<'a>>,
    /// What is wrong with the patterns.
    pub warnings: Vec<ScopeWarning>,
}

/// Something is wrong with a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScopeWarning {
    /// What it is.
    pub kind: ScopeWarningKind,
    /// The same for people.
    pub message: String,
    /// The pattern.
    pub pattern: String,
}

/// What can be wrong with a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScopeWarningKind {
    /// No model matches.
    NoMatch,
    /// What follows the last colon is no level.
    InvalidThinkingLevel,
    /// Several providers have the model; all are in the scope.
    Ambiguous,
}

impl ScopeWarningKind {
    /// The name that the TypeScript pi gives it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoMatch => "no-match",
            Self::InvalidThinkingLevel => "invalid-thinking-level",
            Self::Ambiguous => "ambiguous",
        }
    }
}

/// The scope that `patterns` describe among `models`, which all have credentials.
pub fn model_scope<'a>(patterns: &[impl AsRef<str>], models: &[ModelName<'a>]) -> ModelScope<'a> {
    let mut scope = ModelScope::default();
    for pattern in patterns {
        let pattern = pattern.as_ref();
        let (found, level) = if pattern.contains(['*', '?', '[']) {
            matching(pattern, models)
        } else {
            meant(pattern, models, &mut scope.warnings)
        };
        if found.is_empty() {
            warn(
                &mut scope.warnings,
                ScopeWarningKind::NoMatch,
                pattern,
                format!("No models match pattern \"{pattern}\""),
            );
        }
        for model in found {
            let known = |scoped: &ScopedName<'_>| {
                (scoped.model.provider, scoped.model.id) == (model.provider, model.id)
            };
            if !scope.models.iter().any(known) {
                scope.models.push(ScopedName { model, level });
            }
        }
    }
    scope
}

fn warn(warnings: &mut Vec<ScopeWarning>, kind: ScopeWarningKind, pattern: &str, message: String) {
    warnings.push(ScopeWarning { kind, message, pattern: pattern.to_owned() });
}

/// What a pattern without wild cards means.
fn meant<'a>(
    pattern: &str,
    models: &[ModelName<'a>],
    warnings: &mut Vec<ScopeWarning>,
) -> (Vec<ModelName<'a>>, Option<ThinkingLevel>) {
    let reference = ModelReference { text: pattern, provider: None, suffix: Suffix::Lenient };
    let (found, level, warning) = match resolve(&reference, models, &|_| true) {
        Resolution::Found { model, level, warning } => (vec![model], level, warning),
        Resolution::Ambiguous { candidates, level, warning, .. } => (candidates, level, warning),
        Resolution::NotFound(_) => return (Vec::new(), None),
    };
    if let Some(message) = warning {
        warn(warnings, ScopeWarningKind::InvalidThinkingLevel, pattern, message);
    }
    if found.len() > 1 {
        let mut providers: Vec<&str> = found.iter().map(|model| model.provider).collect();
        providers.sort_unstable();
        let providers = providers.join(", ");
        let message = format!(
            "Pattern \"{pattern}\" matches several providers: {providers}. Use provider/id to choose one."
        );
        warn(warnings, ScopeWarningKind::Ambiguous, pattern, message);
    }
    (found, level)
}

/// What a glob matches; an id that contains such signs is found first.
fn matching<'a>(
    pattern: &str,
    models: &[ModelName<'a>],
) -> (Vec<ModelName<'a>>, Option<ThinkingLevel>) {
    let found = exact(pattern, models);
    if !found.is_empty() {
        return (found, None);
    }
    let (glob, level) = match pattern.rsplit_once(':').map(|(head, tail)| (head, tail.parse())) {
        Some((head, Ok(level))) => (head, Some(level)),
        _ => (pattern, None),
    };
    let negated = glob.strip_prefix('!');
    let built = GlobBuilder::new(negated.unwrap_or(glob))
        .literal_separator(true)
        .case_insensitive(true)
        .backslash_escape(true)
        .build();
    // A glob that is none matches nothing, which is what the caller reports.
    let Ok(glob) = built.map(|glob| glob.compile_matcher()) else { return (Vec::new(), None) };
    let matches = |text: &str| glob.is_match(text) != negated.is_some();
    let fits = |model: &&ModelName<'_>| {
        matches(&format!("{}/{}", model.provider, model.id)) || matches(model.id)
    };
    (models.iter().filter(fits).copied().collect(), level)
}
