//! The virtual models of a registry.

use std::sync::Arc;

use pi_models::{Registrations, Router, VirtualModel};
use pi_protocol::Model;

use super::{Owned, Registry};

impl Registry {
    /// Registers a virtual model, or replaces one of the same provider and id.
    pub fn register_virtual_model(&self, owner: &str, model: VirtualModel) {
        let mut contents = self.contents();
        let (provider, id) = (&model.model.provider, &model.model.id);
        contents.virtual_models.retain(|one| !is_named(&one.item.model, provider, id));
        contents.virtual_models.push(Owned::new(owner, model));
        contents.changed();
    }

    /// Removes a virtual model; returns true if it was registered.
    pub fn unregister_virtual_model(&self, provider: &str, id: &str) -> bool {
        let mut contents = self.contents();
        let before = contents.virtual_models.len();
        contents.virtual_models.retain(|one| !is_named(&one.item.model, provider, id));
        let removed = contents.virtual_models.len() != before;
        if removed {
            contents.changed();
        }
        removed
    }

    /// Returns the virtual models in the order of registration.
    pub fn virtual_models(&self) -> Vec<VirtualModel> {
        self.contents().virtual_models.iter().map(|one| one.item.clone()).collect()
    }

    /// Returns the providers and virtual models, for the registry of models.
    pub fn registrations(&self) -> Registrations {
        Registrations { providers: self.providers(), virtual_models: self.virtual_models() }
    }

    /// Returns the router of a virtual model.
    pub(crate) fn router(&self, provider: &str, id: &str) -> Option<Router> {
        let contents = self.contents();
        let mut models = contents.virtual_models.iter();
        let found = models.find(|one| is_named(&one.item.model, provider, id))?;
        Some(Arc::clone(&found.item.router))
    }
}

fn is_named(model: &Model, provider: &str, id: &str) -> bool {
    model.provider == provider && model.id == id
}
