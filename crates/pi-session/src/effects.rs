//! The resolver through which callers say what a recorded tool call did.
//!
//! This crate knows no tool by name. Compaction and exports ask the resolver for the effects of a
//! call; without a resolver they are unknown.

use std::fmt;
use std::sync::Arc;

use pi_protocol::{Effects, EffectsOf, ToolCall};
use serde_json::{Map, Value};

/// Returns the effects of recorded tool calls. The default resolver knows no tool.
#[derive(Clone, Default)]
pub struct EffectsResolver(Option<Arc<EffectsOf>>);

impl EffectsResolver {
    /// Wraps a function that returns the effects of a call from the tool's name and the arguments.
    pub fn new(
        effects_of: impl Fn(&str, &Map<String, Value>) -> Effects + Send + Sync + 'static,
    ) -> Self {
        Self(Some(Arc::new(effects_of)))
    }

    /// Returns the effects of a call; unknown without a function.
    pub fn resolve(&self, tool: &str, arguments: &Map<String, Value>) -> Effects {
        match &self.0 {
            Some(effects_of) => effects_of(tool, arguments),
            None => Effects::unknown(),
        }
    }

    /// Returns the effects of a call in a message.
    pub(crate) fn of_call(&self, call: &ToolCall) -> Effects {
        self.resolve(&call.name, &call.arguments)
    }
}

impl From<Arc<EffectsOf>> for EffectsResolver {
    fn from(effects_of: Arc<EffectsOf>) -> Self {
        Self(Some(effects_of))
    }
}

impl fmt::Debug for EffectsResolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = if self.0.is_some() { "set" } else { "unset" };
        f.debug_tuple("EffectsResolver").field(&state).finish()
    }
}
