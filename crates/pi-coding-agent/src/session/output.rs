//! The schema that constrains the answers of a session. Summaries and other requests beside the
//! runs are not constrained.

use std::sync::Arc;

use pi_protocol::OutputSchema;

use super::{AgentSession, lock};

impl AgentSession {
    /// Constrains the answers of the next runs to a JSON Schema, where the model supports it; `None`
    /// lifts the constraint.
    pub fn set_output_schema(&self, schema: Option<Arc<OutputSchema>>) {
        *lock(&self.0.output_schema) = schema;
    }

    /// Returns true if the model enforces a schema in runs with the active tools.
    pub fn enforces_output(&self, schema: &OutputSchema) -> bool {
        let has_tools = !self.active_tools().is_empty();
        let model = self.model();
        model.is_some_and(|model| pi_ai::wire::enforces_output(&model, schema, has_tools))
    }

    pub(super) fn output_schema(&self) -> Option<Arc<OutputSchema>> {
        lock(&self.0.output_schema).clone()
    }
}
