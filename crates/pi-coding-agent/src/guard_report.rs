//! What the guard reports: the decision about a call, and its own status.

use pi_config::settings::{ApprovalPolicy, Profile, SandboxMode};
use pi_guard::confine::{ConfinementLevel, Network};
use serde::{Deserialize, Serialize};

/// The decision about a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolDecision {
    /// Id of the call.
    pub tool_call_id: String,
    /// Name of the tool.
    pub tool_name: String,
    /// The command, the file or the arguments.
    pub what: String,
    /// The decision.
    pub decision: CallDecision,
    /// The reasons for a decision other than `run`, one for each part of the call.
    pub reasons: Vec<String>,
}

/// The way in which a call proceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CallDecision {
    /// The call ran without the sandbox.
    Run,
    /// The call ran in the sandbox.
    RunConfined,
    /// The call ran because an approver allowed it.
    Approved,
    /// The call did not run.
    Refused,
    /// The call waits for an approval that can be given later.
    Deferred,
}

impl CallDecision {
    /// Returns the name, as events and reports contain it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::RunConfined => "run-confined",
            Self::Approved => "approved",
            Self::Refused => "refused",
            Self::Deferred => "deferred",
        }
    }
}

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
