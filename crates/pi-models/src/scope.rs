//! The models to cycle through: the patterns of `--models` and `enabledModels`.
//!
//! A pattern with `*`, `?` or `[` is a glob over `provider/id` and `id`; any other is resolved like
//! the name of a model. Both may end in `:level`.

use globset::GlobBuilder;
use pi_protocol::ThinkingLevel;

use crate::resolve::{ModelName, ModelReference, Resolution, Suffix, exact, resolve};

/// A model in the scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScopedName<'a> {
    /// Name of the model.
    pub model: ModelName<'a>,
    /// Thinking level of its pattern.
    pub level: Option<ThinkingLevel>,
}

/// The models that match a list of patterns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelScope<'a> {
    /// Models in the order of the patterns, each once.
    pub models: Vec<ScopedName<'a>>,
    /// Problems of the patterns.
    pub warnings: Vec<ScopeWarning>,
}

/// A problem of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScopeWarning {
    /// Kind of the problem.
    pub kind: ScopeWarningKind,
    /// Message for the user.
    pub message: String,
    /// The pattern itself.
    pub pattern: String,
}

/// The kinds of problems of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScopeWarningKind {
    /// No model matches the pattern.
    NoMatch,
    /// The text after the last colon is not a thinking level.
    InvalidThinkingLevel,
    /// Several providers have the model; the scope contains all of them.
    Ambiguous,
}

impl ScopeWarningKind {
    /// Returns the name of the kind in the TypeScript pi.
    #[cfg(test)]
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::NoMatch => "no-match",
            Self::InvalidThinkingLevel => "invalid-thinking-level",
            Self::Ambiguous => "ambiguous",
        }
    }
}

/// Returns the models that match `patterns`. All `models` have credentials.
pub fn model_scope<'a>(patterns: &[impl AsRef<str>], models: &[ModelName<'a>]) -> ModelScope<'a> {
    let mut scope = ModelScope::default();
    for pattern in patterns {
        let pattern = pattern.as_ref();
        let (found, level) = if pattern.contains(['*', '?', '[']) {
            matching(pattern, models)
        } else {
            resolved(pattern, models, &mut scope.warnings)
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

/// Resolves a pattern without wildcards.
fn resolved<'a>(
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

/// Returns the models that a glob matches. An exact id takes precedence, since ids may contain the
/// characters of globs.
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
    // An invalid glob matches nothing, which the caller reports.
    let Ok(glob) = built.map(|glob| glob.compile_matcher()) else { return (Vec::new(), None) };
    let matches = |text: &str| glob.is_match(text) != negated.is_some();
    let fits = |model: &&ModelName<'_>| {
        matches(&format!("{}/{}", model.provider, model.id)) || matches(model.id)
    };
    (models.iter().filter(fits).copied().collect(), level)
}
