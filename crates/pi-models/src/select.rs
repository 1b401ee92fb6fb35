//! Selecting the model that the user requests.

use std::fmt;

use pi_protocol::{Model, ThinkingLevel};

use crate::initial::default_model;
use crate::resolve::is_exact;
use crate::resolve::{ModelName, ModelReference, Resolution, Suffix, resolve};
use crate::usable::UnusableModel;

/// A request for a model, for example from the command line.
#[derive(Debug, Clone, Copy, Default)]
pub struct ModelRequest<'t> {
    /// Provider of the model.
    pub provider: Option<&'t str>,
    /// Id, `provider/id` or part of a name, optionally with `:level`.
    pub model: Option<&'t str>,
    /// Requested thinking level.
    pub level: Option<ThinkingLevel>,
    /// The request has its own API key. The key belongs to the provider of the selected model, so
    /// stored credentials do not decide between providers.
    pub has_key: bool,
}

/// The result of a request for a model.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelSelection<'a> {
    /// The selected model.
    pub model: SelectedModel<'a>,
    /// Thinking level at the end of the requested text.
    pub level: Option<ThinkingLevel>,
    /// Warning for the user.
    pub warning: Option<String>,
}

/// A known model, or an unknown model of a known provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SelectedModel<'a> {
    /// A known model.
    Known(ModelName<'a>),
    /// A model that is not in the catalog. The provider may have it.
    Custom {
        /// A model of the same provider, which serves as template.
        template: ModelName<'a>,
        /// Id of the unknown model.
        id: String,
        /// The request includes a thinking level.
        reasoning: bool,
    },
}

/// The reasons why no model can be selected. The texts are those of the TypeScript pi without its
/// advice about the command line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SelectModelError {
    /// No model has this provider.
    #[error("Unknown provider \"{0}\".")]
    UnknownProvider(String),
    /// No model matches this text.
    #[error("Model \"{0}\" not found.")]
    NotFound(String),
    /// The model cannot be used, and no other replaces it.
    #[error("{origin}{model} cannot be used: {reason}")]
    Unusable {
        /// Place where the model was named.
        origin: ModelOrigin,
        /// Provider and id of the model.
        model: String,
        /// The reason.
        reason: UnusableModel,
    },
    /// Several providers have the model.
    #[error("Model \"{text}\" is ambiguous across providers: {candidates}. {reason}")]
    Ambiguous {
        /// The requested text.
        text: String,
        /// Names of the matching models.
        candidates: String,
        /// Reason why credentials do not decide.
        reason: &'static str,
        /// Number of candidates whose provider has credentials.
        usable: usize,
        /// The text is the id of the candidates, not a part of it.
        exact: bool,
    },
}

/// The place where a model was named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModelOrigin {
    /// The options of this run.
    Request,
    /// The default of the settings.
    Default,
    /// The log of a resumed session.
    Session,
}

impl fmt::Display for ModelOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Request => "",
            Self::Default => "the default model ",
            Self::Session => "the session's model ",
        })
    }
}

/// Selects the requested model; `None` if the request names none. `usable` returns true for a
/// provider with credentials.
pub fn select_model<'a>(
    request: &ModelRequest<'_>,
    models: &[ModelName<'a>],
    usable: &dyn Fn(&str) -> bool,
) -> Result<Option<ModelSelection<'a>>, SelectModelError> {
    let Some(text) = request.model.filter(|text| !text.is_empty()) else { return Ok(None) };
    let provider = request.provider.filter(|provider| !provider.is_empty());
    if let Some(provider) = provider
        && models.iter().all(|model| !model.provider.eq_ignore_ascii_case(provider))
    {
        return Err(SelectModelError::UnknownProvider(provider.to_owned()));
    }
    let reference = ModelReference { text, provider, suffix: Suffix::Strict };
    let resolution = if request.has_key {
        resolve(&reference, models, &|_| false)
    } else {
        resolve(&reference, models, usable)
    };
    match resolution {
        Resolution::Found { model, level, warning } => {
            Ok(Some(ModelSelection { model: SelectedModel::Known(model), level, warning }))
        }
        Resolution::Ambiguous { candidates, usable, .. } => {
            let mut names: Vec<String> =
                candidates.iter().map(|model| format!("{}/{}", model.provider, model.id)).collect();
            names.sort_unstable();
            Err(SelectModelError::Ambiguous {
                text: text.to_owned(),
                candidates: names.join(", "),
                reason: match (request.has_key, usable) {
                    (true, _) => "An API key does not choose a provider.",
                    (false, 0) => "No matching provider is authenticated.",
                    (false, _) => "More than one matching provider is authenticated.",
                },
                usable,
                exact: candidates.iter().any(|model| is_exact(text, model.id)),
            })
        }
        Resolution::NotFound(unknown) => {
            let not_found = || SelectModelError::NotFound(text.to_owned());
            let unknown = unknown.ok_or_else(not_found)?;
            // With an explicit level, a suffix is part of the id.
            let (id, level) = match request.level {
                Some(_) => (unknown.text, None),
                None => (unknown.id, unknown.level),
            };
            if id.is_empty() {
                return Err(not_found());
            }
            let template = template(unknown.provider, models).ok_or_else(not_found)?;
            let reasoning =
                request.level.or(level).is_some_and(|level| level != ThinkingLevel::Off);
            let warning = format!(
                "Model \"{id}\" not found for provider \"{}\". Using custom model id.",
                unknown.provider
            );
            let model = SelectedModel::Custom { template, id, reasoning };
            Ok(Some(ModelSelection { model, level, warning: Some(warning) }))
        }
    }
}

/// Returns the template for unknown models of a provider: its default model, else its first.
fn template<'a>(provider: &str, models: &[ModelName<'a>]) -> Option<ModelName<'a>> {
    let mut own = models.iter().filter(|model| model.provider == provider);
    let default = default_model(provider);
    own.clone().find(|model| Some(model.id) == default).or_else(|| own.next()).copied()
}

impl<'a> SelectedModel<'a> {
    /// Returns the id of the provider.
    pub fn provider(&self) -> &'a str {
        match self {
            Self::Known(model) | Self::Custom { template: model, .. } => model.provider,
        }
    }

    /// Returns the record of the model. `find` looks up a record by provider and id.
    pub fn record(&self, find: impl FnOnce(&str, &str) -> Option<Model>) -> Option<Model> {
        match self {
            Self::Known(name) => find(name.provider, name.id),
            Self::Custom { template, id, reasoning } => {
                let mut model = find(template.provider, template.id)?;
                model.id.clone_from(id);
                model.name.clone_from(id);
                model.reasoning |= reasoning;
                Some(model)
            }
        }
    }
}
