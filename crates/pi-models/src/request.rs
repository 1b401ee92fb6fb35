//! Finding the model that the user requests among all known ones.
//!
//! Models that can be used come first, and local servers are probed before any other provider is
//! considered. If none can be used, the request still leads to one model, so that the error names
//! a provider that the user expects: one with credentials, then the maker of the model, then any
//! supported provider.

use std::sync::Arc;

use pi_protocol::{Model, ThinkingLevel};

use crate::local;
use crate::registry::ModelRegistry;
use crate::resolve::{ModelName, is_exact};
use crate::select::{ModelOrigin, ModelRequest, ModelSelection, SelectModelError, select_model};

/// Providers that serve models of their own.
const MAKERS: &[&str] = &[
    "ant-ling",
    "anthropic",
    "deepseek",
    "google",
    "meta",
    "minimax",
    "mistral",
    "moonshotai",
    "nvidia",
    "openai",
    "xai",
    "xiaomi",
    "zai",
];

/// A requested model.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RequestedModel {
    /// The model, with or without credentials.
    pub model: Arc<Model>,
    /// Thinking level at the end of the requested text.
    pub level: Option<ThinkingLevel>,
    /// Warning for the user.
    pub warning: Option<String>,
}

impl ModelRegistry {
    /// Finds the requested model; `None` if the request names none. The model may be unusable; see
    /// `check_usable`.
    pub async fn request(
        &self,
        request: &ModelRequest<'_>,
    ) -> Result<Option<RequestedModel>, SelectModelError> {
        let Some(text) = request.model.filter(|text| !text.is_empty()) else { return Ok(None) };
        let head = request.provider.unwrap_or(text);
        let names_local = local::names_local_provider(head);
        if names_local {
            self.find_local_servers().await;
        }
        let mut found = self.select(request, |_| true);
        if !self.is_final(request, &found) {
            self.find_local_servers().await;
            found = self.select(request, |_| true);
        }
        if !self.is_final(request, &found) {
            found = self.closest(request, found);
        }
        if names_local && found.is_err() {
            let provider = head.split('/').next().unwrap_or(head).to_lowercase();
            if let Err(reason) = self.check_provider(&provider) {
                let (origin, model) = (ModelOrigin::Request, text.to_owned());
                return Err(SelectModelError::Unusable { origin, model, reason });
            }
        }
        found.map(Some)
    }

    /// Selects among the models of some providers.
    fn select(
        &self,
        request: &ModelRequest<'_>,
        allowed: impl Fn(&str) -> bool,
    ) -> Result<RequestedModel, SelectModelError> {
        let models = self.models();
        let providers = models.providers().filter(|provider| allowed(provider));
        let names: Vec<ModelName<'_>> =
            providers.flat_map(|provider| models.names_of(provider)).collect();
        let not_found = || SelectModelError::NotFound(request.model.unwrap_or_default().to_owned());
        let selected = select_model(request, &names, &|provider| self.is_available(provider))?;
        let ModelSelection { model, level, warning } = selected.ok_or_else(not_found)?;
        let model = model.record(|provider, id| models.find(provider, id)).ok_or_else(not_found)?;
        Ok(RequestedModel { model: Arc::new(model), level, warning })
    }

    /// Returns true if no other provider may be meant: the model can be used, its provider was
    /// named, or the user must choose between several that can be used.
    fn is_final(
        &self,
        request: &ModelRequest<'_>,
        found: &Result<RequestedModel, SelectModelError>,
    ) -> bool {
        match found {
            Ok(RequestedModel { model, .. }) => {
                let text = request.model.unwrap_or_default();
                let named = text
                    .split_at_checked(model.provider.len())
                    .filter(|(head, _)| head.eq_ignore_ascii_case(&model.provider))
                    .is_some_and(|(_, rest)| rest.starts_with('/'));
                request.provider.is_some() || named || self.is_available(&model.provider)
            }
            Err(SelectModelError::Ambiguous { usable, .. }) => *usable > 0,
            Err(SelectModelError::UnknownProvider(_)) => true,
            Err(_) => false,
        }
    }

    /// Returns the unusable model that the user most likely means.
    fn closest(
        &self,
        request: &ModelRequest<'_>,
        found: Result<RequestedModel, SelectModelError>,
    ) -> Result<RequestedModel, SelectModelError> {
        let text = request.model.unwrap_or_default();
        let exact = |found: &RequestedModel| is_exact(text, &found.model.id);
        let must_be_exact = match &found {
            Ok(found) => exact(found),
            Err(SelectModelError::Ambiguous { exact, .. }) => *exact,
            Err(_) => return found,
        };
        let models = self.models();
        let has_credentials = |provider: &str| self.credential_source(provider).is_some();
        let is_maker = |provider: &str| MAKERS.contains(&provider) && models.is_supported(provider);
        let is_supported = |provider: &str| models.is_supported(provider);
        let tiers: [&dyn Fn(&str) -> bool; 3] = [&has_credentials, &is_maker, &is_supported];
        for tier in tiers {
            if let Ok(closest) = self.select(request, tier)
                && (!must_be_exact || exact(&closest))
            {
                return Ok(closest);
            }
        }
        found
    }
}
