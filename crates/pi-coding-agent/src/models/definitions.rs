//! What is known of models: the catalog, the user's file over it, and local servers.
//!
//! The catalog stays text until a record is asked for. Names are enough to find a model; only the
//! one that is meant is decoded.

use std::sync::Arc;

use pi_ai::{catalog, providers, wire};
use pi_protocol::Model;

use super::file::{ModelRecord, ModelsFile, ProviderRecord};
use super::local::LocalServer;
use super::patch;
use super::resolve::ModelName;

/// All models there are, usable or not.
#[derive(Debug, Clone, Default)]
pub struct Models {
    file: Arc<ModelsFile>,
    local: Arc<Vec<LocalServer>>,
}

impl Models {
    /// The catalog with the user's file over it.
    pub fn new(file: ModelsFile) -> Self {
        Self { file: Arc::new(file), local: Arc::default() }
    }

    /// The same with these local servers. A provider of the user's of the same id stays.
    #[must_use]
    pub fn with_local(&self, mut servers: Vec<LocalServer>) -> Self {
        servers.retain(|server| self.record(server.provider).is_none());
        Self { file: Arc::clone(&self.file), local: Arc::new(servers) }
    }

    /// The same local servers with another file.
    #[must_use]
    pub fn with_file(&self, file: ModelsFile) -> Self {
        Self::new(file).with_local((*self.local).clone())
    }

    /// The ids of all providers: the built-in ones, the user's in the order of the file, and the
    /// local servers.
    pub fn providers(&self) -> impl Iterator<Item = &str> {
        let own = self.file.providers.iter().map(|(id, _)| id.as_str());
        let built_in = catalog::providers().map(|id| -> &str { id });
        built_in
            .chain(own.filter(|id| catalog::providers().all(|known| known != *id)))
            .chain(self.local.iter().map(|server| server.provider))
    }

    /// The names of all models, provider by provider.
    pub fn names(&self) -> Vec<ModelName<'_>> {
        self.providers().flat_map(|provider| self.names_of(provider)).collect()
    }

    /// The names of a provider's models: those of the catalog, changed where the user's file says
    /// so, and then those that it adds.
    pub fn names_of<'a>(&'a self, provider: &'a str) -> Vec<ModelName<'a>> {
        let record = self.record(provider);
        let named = |id: &'a str, name: &'a str| {
            let changed = record.and_then(|record| record.model_overrides.get(id)?.name.as_deref());
            ModelName { provider, id, name: changed.unwrap_or(name) }
        };
        let mut names: Vec<ModelName<'a>> = catalog::names(provider)
            .map(|catalog::CatalogName { id, name, .. }| {
                let own = record.and_then(|record| last(record, id));
                named(id, own.map_or(name, display_name))
            })
            .collect();
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
        names
    }

    /// The model with exactly these ids.
    pub fn find(&self, provider: &str, id: &str) -> Option<Model> {
        self.patched(provider, id, || {
            catalog::find(provider, id).or_else(|| {
                let server = self.local.iter().find(|server| server.provider == provider)?;
                server.models.iter().find(|model| model.id == id).cloned()
            })
        })
    }

    /// All models of a provider, in the order of [`Self::names_of`].
    pub fn models_of(&self, provider: &str) -> Vec<Model> {
        // The names begin with the catalog's, so its lines are read once and not once per model.
        let mut built_in = catalog::models(provider);
        let record = |name: ModelName<'_>| match built_in.next() {
            Some(model) => self.patched(provider, name.id, || Some(model)),
            None => self.find(provider, name.id),
        };
        self.names_of(provider).into_iter().filter_map(record).collect()
    }

    /// What the user's file makes of a model that is known from elsewhere, or not at all.
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

    /// What the user's file says about a provider.
    pub fn record(&self, provider: &str) -> Option<&ProviderRecord> {
        self.file.providers.iter().find(|(id, _)| id == provider).map(|(_, record)| record)
    }

    /// There is a wire format for the provider's models. Those of some built-in providers are still
    /// to come; unless the user's file says how else to talk to them, they are as good as absent.
    pub fn is_spoken(&self, provider: &str) -> bool {
        let Some(built_in) = providers::provider(provider) else { return true };
        let own = self.record(provider);
        wire::format(built_in.api).is_some() || own.is_some_and(|record| !record.models.is_empty())
    }

    /// The provider takes requests without a key: a local server, or one of the user's on this
    /// machine or with an authorization header of its own.
    pub(super) fn needs_no_key(&self, provider: &str) -> bool {
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

/// The record that counts: of two with the same id the last.
fn last<'a>(record: &'a ProviderRecord, id: &str) -> Option<&'a ModelRecord> {
    record.models.iter().rev().find(|model| model.id == id)
}

fn display_name(model: &ModelRecord) -> &str {
    model.facts.name.as_deref().unwrap_or(&model.id)
}

/// The address is that of this machine.
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
