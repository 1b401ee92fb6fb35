//! A lookup of environment variables that can be passed on and stored.

use std::sync::Arc;

use pi_protocol::EnvOverrides;

/// Looks up variables of the environment. Cheap to clone; empty by default.
#[derive(Clone, Default)]
pub struct Variables(Option<Arc<dyn Fn(&str) -> Option<String> + Send + Sync>>);

impl Variables {
    /// Creates a lookup.
    pub fn new(look_up: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(look_up)))
    }

    /// Returns a variable if it is set and not empty.
    pub fn get(&self, name: &str) -> Option<String> {
        self.0.as_ref()?(name).filter(|value| !value.is_empty())
    }

    /// Returns a lookup in which these variables win.
    #[must_use]
    pub fn overridden_by(self, overrides: EnvOverrides) -> Self {
        if overrides.is_empty() {
            return self;
        }
        Self::new(move |name| match overrides.get(name) {
            Some(value) => Some(value.clone()),
            None => self.get(name),
        })
    }
}

// Shows nothing, since values may be secret.
pi_protocol::debug_fields!(Variables);
