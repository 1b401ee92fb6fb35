//! What holds in a session, to be announced and recorded.

use pi_guard::confine::{ConfinementLevel, Network};
use serde::Serialize;

use super::Guard;
use crate::config::settings::{ApprovalPolicy, Profile, SandboxMode};

/// What holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GuardStatus {
    /// The profile.
    pub profile: Profile,
    /// Who says yes.
    pub approval: ApprovalPolicy,
    /// What commands can write.
    pub sandbox: SandboxMode,
    /// Who they can reach.
    pub network: Network,
    /// What holds it.
    pub rung: ConfinementLevel,
    /// What that does not hold.
    pub limits: Vec<String>,
}

impl Guard {
    /// What holds; nothing to tell where everything is as it always was.
    pub fn status(&self) -> Option<GuardStatus> {
        if !self.plan.is_unusual() {
            return None;
        }
        let confined = self.sandbox.in_use().filter(|_| self.plan.is_confined());
        Some(GuardStatus {
            profile: self.plan.profile,
            approval: self.plan.approval,
            sandbox: self.plan.sandbox,
            network: self.plan.network.clone(),
            rung: confined.as_ref().map_or(ConfinementLevel::None, |confined| confined.level()),
            limits: confined
                .iter()
                .flat_map(|confined| confined.limits())
                .map(str::to_owned)
                .collect(),
        })
    }
}

impl GuardStatus {
    /// The sandbox and what holds it, without what does not.
    pub fn sandbox_in_words(&self) -> String {
        if self.sandbox == SandboxMode::Off {
            return "no sandbox".to_owned();
        }
        let network = match &self.network {
            Network::Off => "no network".to_owned(),
            Network::On => "with the network".to_owned(),
            Network::Hosts(hosts) => format!("network limited to {}", hosts.join(", ")),
        };
        format!("sandbox {} ({}), {network}", self.sandbox.as_str(), self.rung)
    }
}

impl std::fmt::Display for GuardStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "profile {}, {}", self.profile.as_str(), self.sandbox_in_words())?;
        self.limits.iter().try_for_each(|limit| write!(f, "; {limit}"))
    }
}
