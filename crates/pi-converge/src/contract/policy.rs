//! The restrictions of a run.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Safety profile, rules, approvals, sandbox and network of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct PolicyPlan {
    /// Safety profile; `unattended` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Rule files, relative to the task file.
    pub rules: Vec<PathBuf>,
    /// Treatment of actions that need approval.
    pub approval: ApprovalMode,
    /// Sandbox mode, as `--sandbox` accepts it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    /// Hosts that commands may connect to; `["*"]` for all, `["off"]` for none.
    pub network: Vec<String>,
    /// Further directories that commands may write.
    pub writable: Vec<PathBuf>,
}

/// Treatment of actions that need approval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalMode {
    /// They are forbidden, and the model reads why.
    #[default]
    Never,
    /// The run ends with `needs-approval` and can be resumed.
    Defer,
    /// A reviewer model decides.
    Review,
}
