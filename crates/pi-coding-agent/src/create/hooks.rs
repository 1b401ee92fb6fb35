//! The hooks of a configuration, for events outside of sessions.

use super::AgentOptions;
use crate::hooks::Hooks;
use crate::interventions::{Checks, CommandRunner};

impl Hooks {
    /// Returns the hooks that a session with these options would have; `None` if there are none.
    pub fn of(options: &AgentOptions) -> Option<Self> {
        Checks::hooks(options.project.settings(), &options.command_runner()).map(Self::new)
    }
}

impl AgentOptions {
    /// Returns what runs the commands of hooks and guardrails.
    pub(super) fn command_runner(&self) -> CommandRunner {
        let runner = CommandRunner::new(self.environment(), self.tools.supervisor.as_ref());
        runner.with_tap(self.tap.as_ref())
    }
}
