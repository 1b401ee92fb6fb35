//! The status of the guard, as sessions announce and record it.

use pi_config::settings::{ApprovalPolicy, Profile, SandboxMode};
use pi_guard::confine::{ConfinementLevel, Network};
use serde::Serialize;

use super::Guard;

/// The status of the guard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct GuardStatus {
    /// Safety profile.
    pub profile: Profile,
    /// Policy for actions that need approval.
    pub approval: ApprovalPolicy,
    /// Files that commands can write.
    pub sandbox: SandboxMode,
    /// Hosts that commands can reach.
    pub network: Network,
    /// Confinement that the machine provides.
    #[serde(rename = "rung")]
    pub level: ConfinementLevel,
    /// Restrictions that this confinement cannot enforce.
    pub limits: Vec<String>,
}

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
        if let Some(problem) = self.sandbox.watcher().problem() {
            limits.push(format!("Rules are not checked when a program starts: {problem}."));
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

impl GuardStatus {
    /// Describes the sandbox without its limits.
    pub fn describe_sandbox(&self) -> String {
        if self.sandbox == SandboxMode::Off {
            return "no sandbox".to_owned();
        }
        if self.level == ConfinementLevel::None {
            return format!("no sandbox ({})", self.level);
        }
        let network = match &self.network {
            Network::Off => "no network".to_owned(),
            Network::On => "with the network".to_owned(),
            Network::Hosts(hosts) => format!("network limited to {}", hosts.join(", ")),
        };
        format!("sandbox {} ({}), {network}", self.sandbox.as_str(), self.level)
    }
}

impl std::fmt::Display for GuardStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "profile {}, {}", self.profile.as_str(), self.describe_sandbox())?;
        self.limits.iter().try_for_each(|limit| write!(f, "; {limit}"))
    }
}
