//! Descriptions of models for `pi models`: the record, where it comes from, and whether the model
//! can be used.

use std::sync::Arc;

use pi_protocol::Model;
use serde_json::{Map, Value, json};

use crate::definitions::Models;
use crate::listing::matching;
use crate::registry::ModelRegistry;
use crate::usable::UnusableModel;
use crate::virtual_model::VIRTUAL_API;

/// Origin of the record of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecordSource {
    /// The catalog of this version.
    BuiltIn,
    /// An update of the catalog, in `models-store.json`.
    Update,
    /// The user's `models.json`.
    ModelsFile,
    /// An extension.
    Extension,
    /// A model server of this machine.
    LocalServer,
}

/// A model with what is known about its record and its provider.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ModelDescription {
    /// The record of the model.
    pub model: Arc<Model>,
    /// Origin of the record.
    pub source: RecordSource,
    /// `models.json` or an extension changes the record.
    pub is_changed: bool,
    /// Reason why the model cannot be used.
    pub unusable: Option<UnusableModel>,
}

impl RecordSource {
    /// Returns the name of the source in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BuiltIn => "built-in",
            Self::Update => "update",
            Self::ModelsFile => "models.json",
            Self::Extension => "extension",
            Self::LocalServer => "local-server",
        }
    }
}

impl ModelDescription {
    /// Returns the description as JSON: the record with more fields.
    pub fn to_json(&self) -> Value {
        let mut object = match serde_json::to_value(&*self.model) {
            Ok(Value::Object(object)) => object,
            _ => Map::new(),
        };
        object.insert("thinkingLevels".to_owned(), json!(self.model.thinking_levels()));
        object.insert("source".to_owned(), self.source.as_str().into());
        object.insert("changed".to_owned(), self.is_changed.into());
        object.insert("usable".to_owned(), self.unusable.is_none().into());
        if let Some(reason) = &self.unusable {
            object.insert("reason".to_owned(), reason.to_string().into());
        }
        Value::Object(object)
    }
}

impl ModelRegistry {
    /// Describes the models of a provider, or of all, that match `search`, sorted by provider and
    /// id.
    pub fn describe_models(
        &self,
        provider: Option<&str>,
        search: Option<&str>,
    ) -> Vec<ModelDescription> {
        let models = self.models();
        let all: Vec<Arc<Model>> = models
            .providers()
            .filter(|id| provider.is_none_or(|wanted| wanted.eq_ignore_ascii_case(id)))
            .flat_map(|provider| models.models_of(provider))
            .map(Arc::new)
            .collect();
        let mut described: Vec<ModelDescription> = Vec::new();
        for model in matching(&all, search, |model| model) {
            let (source, is_changed) = self.origin(&models, model);
            // The models are sorted, so each provider is checked once.
            let unusable = match described.last() {
                Some(last) if last.model.provider == model.provider => {
                    let of_provider = last.unusable.clone().filter(|why| !is_of_format(why));
                    match of_provider {
                        None => self.check_format(model).err(),
                        reason => reason,
                    }
                }
                _ => self.known_problem(&model.provider).or_else(|| self.check_format(model).err()),
            };
            let model = Arc::clone(model);
            described.push(ModelDescription { model, source, is_changed, unusable });
        }
        described
    }

    /// Describes a model.
    pub fn describe(&self, model: Arc<Model>) -> ModelDescription {
        let (source, is_changed) = self.origin(&self.models(), &model);
        let of_provider = self.known_problem(&model.provider);
        let unusable = of_provider.or_else(|| self.check_format(&model).err());
        ModelDescription { model, source, is_changed, unusable }
    }

    /// Returns the origin of a record, and true if another place changes it.
    fn origin(&self, models: &Models, model: &Model) -> (RecordSource, bool) {
        let (provider, id) = (&model.provider, &model.id);
        if self.is_registered(provider, id) || model.api == VIRTUAL_API {
            return (RecordSource::Extension, false);
        }
        let record = models.record(provider);
        if record.is_some_and(|record| record.models.iter().any(|one| one.id == *id)) {
            return (RecordSource::ModelsFile, false);
        }
        let is_changed = record.is_some_and(|record| {
            record.base_url.is_some()
                || !record.compat.is_empty()
                || !record.headers.is_empty()
                || record.model_overrides.contains_key(id)
        });
        let source = if models.updates().find(provider, id).is_some() {
            RecordSource::Update
        } else if models.is_local(provider) {
            RecordSource::LocalServer
        } else {
            RecordSource::BuiltIn
        };
        (source, is_changed)
    }
}

/// Returns true for a reason that other models of the provider need not share.
fn is_of_format(reason: &UnusableModel) -> bool {
    matches!(reason, UnusableModel::Unsupported { .. })
}
