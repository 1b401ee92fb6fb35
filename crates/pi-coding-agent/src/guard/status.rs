//! The status of the guard, as sessions announce and record it.

use pi_config::settings::Profile;
use pi_guard::confine::ConfinementLevel;

use super::{Guard, GuardStatus};

impl Guard {
    /// Returns the status; `None` if the guard restricts nothing but what rules say.
    pub fn status(&self) -> Option<GuardStatus> {
        if !self.plan.is_restrictive() {
            return None;
        }
        let confined = self.confined();
        let level = confined.as_ref().map_or(ConfinementLevel::None, |confined| confined.level());
        let limits = confined.as_ref().map(|confined| confined.limits()).unwrap_or_default();
        let mut limits: Vec<String> = limits.into_iter().map(str::to_owned).collect();
        if self.plan.profile == Profile::Careful {
            match self.missing_sandbox() {
                Some(problem) => limits.push(format!(
                    "Every command needs approval, also those that only read: {problem}."
                )),
                None if self.plan.approval_lifts_sandbox => {
                    limits.push("Approved commands run without the sandbox.".to_owned());
                }
                None => {}
            }
        }
        if super::read(&self.policy).restricts_programs()
            && let Some(problem) = self.sandbox.watcher().problem()
        {
            limits.push(format!(
                "Programs are not judged when they start, only the text of commands: {problem}."
            ));
        }
        Some(GuardStatus {
            profile: self.plan.profile,
            approval: self.plan.approval,
            sandbox: self.plan.sandbox,
            network: self.plan.network.clone(),
            level,
            limits,
        })
    }
}
