//! All known models: the catalog with its updates, changed by the user's file, and local servers.
//!
//! The catalog stays text until a record is needed. Names are enough to find a model, and only the
//! selected record is decoded.

use std::sync::Arc;

use pi_ai::{catalog, providers, wire};
use pi_protocol::Model;

use crate::file::{ModelRecord, ModelsFile, ProviderRecord};
use crate::local::LocalServer;
use crate::patch;
use crate::resolve::ModelName;
use crate::updates::ModelUpdates;

/// All known models, with or without credentials.
#[derive(Debug, Clone, Default)]
pub struct Models {
    file: Arc<ModelsFile>,
    local: Arc<Vec<LocalServer>>,
    updates: Arc<ModelUpdates>,
    /// Models that route their requests. They hide models of the same id.
    virtual_models: Arc<Vec<Arc<Model>>>,
}

impl Models {
    /// Returns the models of the catalog, changed by the user's file.
    pub fn new(file: ModelsFile) -> Self {
        Self { file: Arc::new(file), ..Self::default() }
    }

    /// Sets the updates of the catalog.
    #[must_use]
    pub(crate) fn with_updates(mut self, updates: ModelUpdates) -> Self {
        self.updates = Arc::new(updates);
        self
    }

    /// Replaces the virtual models.
    #[must_use]
    pub(crate) fn with_virtual(mut self, models: Vec<Arc<Model>>) -> Self {
        self.virtual_models = Arc::new(models);
        self
    }

    /// Returns the virtual models of a provider.
    fn virtual_models_of(&self, provider: &str) -> impl Iterator<Item = &Model> {
        let models = self.virtual_models.iter().map(AsRef::as_ref);
        models.filter(move |model: &&Model| model.provider == provider)
    }

    /// Returns true if the provider has only virtual models.
    pub(crate) fn is_virtual(&self, provider: &str) -> bool {
        self.virtual_models_of(provider).next().is_some()
            && catalog::providers().all(|known| known != provider)
            && self.record(provider).is_none()
            && !self.is_local(provider)
    }

    /// Returns the updates of the catalog.
    pub(crate) fn updates(&self) -> &ModelUpdates {
        &self.updates
    }

    /// Replaces the local servers. A provider of the user's file with the same id takes precedence.
    #[must_use]
    pub(crate) fn with_local(&self, mut servers: Vec<LocalServer>) -> Self {
        servers.retain(|server| self.record(server.provider).is_none());
        Self { local: Arc::new(servers), ..self.clone() }
    }

    /// Replaces the user's file.
    #[must_use]
    pub(crate) fn with_file(&self, file: ModelsFile) -> Self {
        let changed = Self { file: Arc::new(file), ..self.clone() };
        changed.with_local((*self.local).clone())
    }

    /// Returns the ids of all providers: built-in ones, those of the user's file in its order, and
    /// local servers.
    pub fn providers(&self) -> impl Iterator<Item = &str> {
        let own = self.file.providers.iter().map(|(id, _)| id.as_str());
        let built_in = catalog::providers().map(|id| -> &str { id });
        built_in
            .chain(own.filter(|id| catalog::providers().all(|known| known != *id)))
            .chain(self.local.iter().map(|server| server.provider))
            .chain(self.virtual_providers())
    }

    /// Returns the ids of the providers that have only virtual models.
    fn virtual_providers(&self) -> impl Iterator<Item = &str> {
        let models = &self.virtual_models;
        let is_first = |at: usize, provider: &str| {
            models.iter().take(at).all(|earlier| earlier.provider != provider)
        };
        let ids = models.iter().enumerate().map(|(at, model)| (at, model.provider.as_str()));
        let new = ids.filter(move |(at, id)| is_first(*at, id) && self.is_virtual(id));
        new.map(|(_, id)| id)
    }

    /// Returns the display name that the user's file or an extension gives a provider.
    pub fn display_name(&self, provider: &str) -> Option<&str> {
        self.record(provider)?.name.as_deref()
    }

    /// Returns the ids of the providers in the user's file.
    pub fn configured(&self) -> Vec<String> {
        self.file.providers.iter().map(|(id, _)| id.clone()).collect()
    }

    /// Returns the names of all models, grouped by provider.
    pub fn names(&self) -> Vec<ModelName<'_>> {
        self.providers().flat_map(|provider| self.names_of(provider)).collect()
    }

    /// Returns the names of a provider's models: those of the catalog, changed by the user's file,
    /// then those that updates and the file add.
    pub fn names_of<'a>(&'a self, provider: &'a str) -> Vec<ModelName<'a>> {
        let record = self.record(provider);
        let named = |id: &'a str, name: &'a str| {
            let changed = record.and_then(|record| record.model_overrides.get(id)?.name.as_deref());
            ModelName { provider, id, name: changed.unwrap_or(name) }
        };
        let updated = self.updates.records(provider);
        let mut is_listed = vec![false; updated.len()];
        let mut names: Vec<ModelName<'a>> = catalog::names(provider)
            .map(|catalog::CatalogName { id, name, .. }| (id, name))
            .map(|(id, name)| match updated.binary_search_by(|one| one.id.as_str().cmp(id)) {
                Ok(at) => {
                    is_listed[at] = true;
                    (id, updated[at].name.as_str())
                }
                Err(_) => (id, name),
            })
            .map(|(id, name)| {
                let own = record.and_then(|record| last(record, id));
                named(id, own.map_or(name, display_name))
            })
            .collect();
        let new = updated.iter().zip(&is_listed).filter(|(_, is_listed)| !**is_listed);
        names.extend(new.map(|(one, _)| {
            let own = record.and_then(|record| last(record, &one.id));
            named(&one.id, own.map_or(one.name.as_str(), display_name))
        }));
        let known = names.len();
        for model in record.into_iter().flat_map(|record| &record.models) {
            if names[..known].iter().any(|name| name.id == model.id) {
                continue;
            }
            let name = named(&model.id, display_name(model));
            match names[known..].iter_mut().find(|name| name.id == model.id) {
                Some(earlier) => *earlier = name,
                None => names.push(name),
            }
        }
        let local = self.local.iter().filter(|server| server.provider == provider);
        names.extend(
            local.flat_map(|server| &server.models).map(|model| named(&model.id, &model.name)),
        );
        for model in self.virtual_models_of(provider) {
            let name = ModelName { provider, id: &model.id, name: &model.name };
            match names.iter_mut().find(|known| known.id == model.id) {
                Some(hidden) => *hidden = name,
                None => names.push(name),
            }
        }
        names
    }

    /// Returns the model with exactly these ids.
    pub fn find(&self, provider: &str, id: &str) -> Option<Model> {
        if let Some(model) = self.virtual_models_of(provider).find(|model| model.id == id) {
            return Some(model.clone());
        }
        self.patched(provider, id, || {
            self.updates.find(provider, id).or_else(|| catalog::find(provider, id)).or_else(|| {
                let server = self.local.iter().find(|server| server.provider == provider)?;
                server.models.iter().find(|model| model.id == id).cloned()
            })
        })
    }

    /// Returns all models of a provider, in the order of [`Self::names_of`].
    pub(crate) fn models_of(&self, provider: &str) -> Vec<Model> {
        // The names begin with those of the catalog, so its lines are read only once.
        let mut built_in = catalog::models(provider);
        let record = |name: ModelName<'_>| match built_in.next() {
            Some(_) if self.virtual_models_of(provider).any(|model| model.id == name.id) => {
                self.find(provider, name.id)
            }
            Some(model) => self.patched(provider, name.id, || {
                self.updates.find(provider, name.id).or(Some(model))
            }),
            None => self.find(provider, name.id),
        };
        self.names_of(provider).into_iter().filter_map(record).collect()
    }

    /// Applies the user's file to a model that `known` returns, or returns a model of the file.
    fn patched(
        &self,
        provider: &str,
        id: &str,
        known: impl FnOnce() -> Option<Model>,
    ) -> Option<Model> {
        let Some(record) = self.record(provider) else { return known() };
        let mut model = match last(record, id) {
            Some(own) => patch::defined(provider, record, own),
            None => {
                let mut model = known()?;
                patch::provider_wide(&mut model, record);
                model
            }
        };
        if let Some(facts) = record.model_overrides.get(id) {
            patch::apply(&mut model, facts);
        }
        Some(model)
    }

    /// Returns true if the provider is a local server.
    pub(crate) fn is_local(&self, provider: &str) -> bool {
        self.local.iter().any(|server| server.provider == provider)
    }

    /// Returns the record of a provider in the user's file.
    pub(crate) fn record(&self, provider: &str) -> Option<&ProviderRecord> {
        self.file.providers.iter().find(|(id, _)| id == provider).map(|(_, record)| record)
    }

    /// Returns true if the user's file has an address for the provider's models.
    pub(crate) fn has_base_url(&self, provider: &str) -> bool {
        self.record(provider).is_some_and(|record| {
            record.base_url.is_some() || record.models.iter().any(|model| model.base_url.is_some())
        })
    }

    /// Returns true if the wire format of the provider's models is supported. Some built-in
    /// providers are not; the user's file can define models with another format for them.
    pub fn is_supported(&self, provider: &str) -> bool {
        let Some(built_in) = providers::provider(provider) else { return true };
        let own = self.record(provider);
        wire::format(built_in.api).is_some() || own.is_some_and(|record| !record.models.is_empty())
    }

    /// Returns true if the provider accepts requests without a key: a local server, or a provider of
    /// the user's file on this machine or with its own authorization header.
    pub(crate) fn needs_no_key(&self, provider: &str) -> bool {
        if providers::provider(provider).is_some() {
            return false;
        }
        let Some(record) = self.record(provider) else {
            return self.local.iter().any(|server| server.provider == provider);
        };
        let local = |url: &Option<String>| url.as_deref().is_some_and(on_this_machine);
        let carries = |name: &String| {
            ["authorization", "x-api-key"].iter().any(|key| name.eq_ignore_ascii_case(key))
        };
        local(&record.base_url)
            || (record.base_url.is_none()
                && record.models.iter().all(|model| local(&model.base_url)))
            || record.headers.keys().any(carries)
    }
}

/// Returns the record of a model; the last one if several have the same id.
fn last<'a>(record: &'a ProviderRecord, id: &str) -> Option<&'a ModelRecord> {
    record.models.iter().rev().find(|model| model.id == id)
}

fn display_name(model: &ModelRecord) -> &str {
    model.facts.name.as_deref().unwrap_or(&model.id)
}

/// Returns true if the URL points to this machine.
fn on_this_machine(url: &str) -> bool {
    let Some((_, rest)) = url.split_once("://") else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return false;
    }
    let host = match authority.strip_prefix('[') {
        Some(bracketed) => bracketed.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}
