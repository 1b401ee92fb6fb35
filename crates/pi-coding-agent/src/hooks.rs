//! Hooks: commands in the settings that run at events of a session or a run and may decide.
//!
//! For people who extend pi without TypeScript. A hook reads a JSON object on stdin and answers
//! with a JSON object on stdout, or with its exit code. `pi_config::hooks` is the format,
//! `interventions` the engine.

use std::sync::Arc;

pub use pi_config::hooks::{DEFAULT_TIMEOUT, Hook, HookEvent, OnHookFailure};
use pi_config::{SettingsScope, SettingsStore};
use pi_protocol::CancelToken;
use serde_json::{Map, Value};

pub use crate::interventions::{
    CheckFailure as HookFailure, CheckReport as HookReport, CheckResult as HookResult,
    CommandFailure, FinishedCommand,
};
use crate::interventions::{Checks, Subject};

/// The hooks of a project, ready to run outside of a session.
#[derive(Debug, Clone)]
pub struct Hooks(Arc<Checks>);

impl Hooks {
    pub(crate) fn new(checks: Checks) -> Self {
        Self(Arc::new(checks))
    }

    /// Returns true if a hook runs at an event.
    pub fn has(&self, event: HookEvent) -> bool {
        self.0.has(event)
    }

    /// Runs the hooks of an event. `subject` is the text for their matchers. A hook that blocks or
    /// stops is the last one.
    pub async fn run(
        &self,
        event: HookEvent,
        subject: &str,
        fields: Map<String, Value>,
        cancel: &CancelToken,
    ) -> HookResult {
        let value = Value::Null;
        self.0.run(event, subject, Subject { session: None, value, fields, cancel }).await
    }
}

/// Returns the hooks of all settings files, with the owner of the file: `user` or `project`.
pub fn configured_hooks(settings: &SettingsStore) -> Vec<(&'static str, Hook)> {
    let owners = [("user", SettingsScope::User), ("project", SettingsScope::Project)];
    let hooks = owners.into_iter().flat_map(|(owner, scope)| {
        let group = settings.scope(scope).hooks.unwrap_or_default();
        group.0.into_iter().map(move |hook| (owner, hook))
    });
    hooks.collect()
}
