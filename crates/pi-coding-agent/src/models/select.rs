//! The model that the command line asks for.

use pi_protocol::{Model, ThinkingLevel};

use super::initial::default_model;
use super::resolve::{ModelName, ModelReference, Resolution, Suffix, resolve};

/// What the command line says about the model.
#[derive(Debug, Clone, Copy, Default)]
pub struct ModelRequest<'t> {
    /// `--provider`.
    pub provider: Option<&'t str>,
    /// `--model`.
    pub model: Option<&'t str>,
    /// `--thinking`.
    pub level: Option<ThinkingLevel>,
    /// There is `--api-key`. It is for the provider of the model, so it cannot choose one.
    pub own_key: bool,
}

/// What was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelSelection<'a> {
    /// The model.
    pub model: SelectedModel<'a>,
    /// The level that the text ends in.
    pub level: Option<ThinkingLevel>,
    /// What the user should know.
    pub warning: Option<String>,
}

/// A model that is known, or one that is like it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SelectedModel<'a> {
    /// This model.
    Known(ModelName<'a>),
    /// One that nobody knows; the provider may.
    Custom {
        /// A model of the same provider, whose facts are assumed.
        like: ModelName<'a>,
        /// The id.
        id: String,
        /// It was asked to think.
        thinks: bool,
    },
}

/// Reasons why no model can be chosen. The texts are those of the TypeScript pi without its advice
/// about the command line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectModelError {
    /// No model has a provider like this.
    #[error("Unknown provider \"{0}\".")]
    UnknownProvider(String),
    /// No model is called like this.
    #[error("Model \"{0}\" not found.")]
    NotFound(String),
    /// Several providers have it.
    #[error("Model \"{text}\" is ambiguous across providers: {candidates}. {reason}")]
    Ambiguous {
        /// What was asked for.
        text: String,
        /// The models in question.
        candidates: String,
        /// Why credentials do not decide.
        reason: &'static str,
    },
}

/// Chooses the model that the command line asks for; `None` if it asks for none.
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
    let resolution = if request.own_key {
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
                reason: match (request.own_key, usable) {
                    (true, _) => "An API key does not choose a provider.",
                    (false, 0) => "No matching provider is authenticated.",
                    (false, _) => "More than one matching provider is authenticated.",
                },
            })
        }
        Resolution::NotFound(target) => {
            let not_found = || SelectModelError::NotFound(text.to_owned());
            let target = target.ok_or_else(not_found)?;
            // With `--thinking` there is nothing for a suffix to say, so it is part of the id.
            let (id, level) = match request.level {
                Some(_) => (target.text, None),
                None => (target.id, target.level),
            };
            if id.is_empty() {
                return Err(not_found());
            }
            let like = like(target.provider, models).ok_or_else(not_found)?;
            let thinks = request.level.or(level).is_some_and(|level| level != ThinkingLevel::Off);
            let warning = format!(
                "Model \"{id}\" not found for provider \"{}\". Using custom model id.",
                target.provider
            );
            let model = SelectedModel::Custom { like, id, thinks };
            Ok(Some(ModelSelection { model, level, warning: Some(warning) }))
        }
    }
}

/// The model of a provider that others are assumed to be like: its default, else its first.
fn like<'a>(provider: &str, models: &[ModelName<'a>]) -> Option<ModelName<'a>> {
    let mut own = models.iter().filter(|model| model.provider == provider);
    let default = default_model(provider);
    own.clone().find(|model| Some(model.id) == default).or_else(|| own.next()).copied()
}

impl SelectedModel<'_> {
    /// The model as it is asked, made from the record that it names.
    pub fn record(&self, find: impl FnOnce(&str, &str) -> Option<Model>) -> Option<Model> {
        match self {
            Self::Known(name) => find(name.provider, name.id),
            Self::Custom { like, id, thinks } => {
                let mut model = find(like.provider, like.id)?;
                model.id.clone_from(id);
                model.name.clone_from(id);
                model.reasoning |= thinks;
                Some(model)
            }
        }
    }
}
