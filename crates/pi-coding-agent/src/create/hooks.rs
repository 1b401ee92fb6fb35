//! The hooks of a configuration, for events outside of sessions.

use super::{AgentOptions, load_settings};
use crate::hooks::Hooks;
use crate::interventions::{Checks, CommandRunner};

impl Hooks {
    /// Loads the hooks that a session with these options would have; `None` if there are none.
    pub fn load(options: &AgentOptions) -> Option<Self> {
        let (settings, _) = load_settings(options, None, &mut Vec::new());
        Checks::hooks(settings.settings(), &options.command_runner()).map(Self::new)
    }
}

impl AgentOptions {
    /// Returns what runs the commands of hooks and guardrails.
    pub(super) fn command_runner(&self) -> CommandRunner {
        let runner = CommandRunner::new(&self.environment, self.supervisor.as_ref());
        runner.with_tap(self.tap.as_ref())
    }
}
