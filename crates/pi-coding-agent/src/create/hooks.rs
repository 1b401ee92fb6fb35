//! The hooks of a configuration, for events outside of sessions.

use std::sync::Arc;

use super::AgentOptions;
use super::guarding::guard_of;
use crate::guard::GuardError;
use crate::hooks::Hooks;
use crate::interventions::{Checks, CommandRunner};

impl Hooks {
    /// Returns the hooks that a session with these options would have; `None` if there are none.
    /// They run in a sandbox if the session would have one.
    pub fn of(options: &AgentOptions) -> Result<Option<Self>, GuardError> {
        let settings = options.project.settings();
        if settings.hooks.is_none() {
            return Ok(None);
        }
        let guard = Arc::new(guard_of(options, |_| {})?);
        let runner = options.command_runner().with_guard(guard);
        Ok(Checks::hooks(settings, &runner).map(Self::new))
    }
}

impl AgentOptions {
    /// Returns what runs the commands of hooks and guardrails.
    pub(super) fn command_runner(&self) -> CommandRunner {
        let runner = CommandRunner::new(self.environment(), self.tools.supervisor.as_ref());
        runner.with_tap(self.tap.as_ref())
    }
}
