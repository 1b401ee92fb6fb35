//! Which models there are.

use std::sync::Arc;

use pi_protocol::Model;

/// The models of a session.
#[derive(Debug, Default)]
pub struct ModelRegistry {
    models: Vec<Arc<Model>>,
}

impl ModelRegistry {
    /// The model of a provider with exactly this id.
    pub fn find(&self, provider: &str, id: &str) -> Option<Arc<Model>> {
        self.models.iter().find(|model| model.provider == provider && model.id == id).cloned()
    }

    /// The models that can be asked.
    pub fn available(&self) -> Vec<Arc<Model>> {
        self.models.clone()
    }

    /// Whether models of a provider can be asked.
    pub fn is_available(&self, _provider: &str) -> bool {
        true
    }
}
