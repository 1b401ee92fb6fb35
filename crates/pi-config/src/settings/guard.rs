//! The settings group `guard`, which only the user's file may have.
//!
//! An unknown value or key is an error and not ignored: a misspelled profile must not mean no
//! profile.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::words::words;

/// Settings of the guard. A setting that is absent follows from the profile.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct GuardSettings {
    /// Safety profile.
    pub profile: Option<Profile>,
    /// Policy for actions that need approval.
    pub approval: Option<ApprovalPolicy>,
    /// Files that commands can write.
    pub sandbox: Option<SandboxMode>,
    /// Hosts that commands can reach: `off`, `on`, or a list of hosts.
    pub network: Option<NetworkSetting>,
    /// Minimum isolation of commands; no session starts if the machine does not support it.
    pub require: Option<RequiredLevel>,
    /// Directories that commands can write in addition to the working directory.
    pub writable_roots: Option<Vec<String>>,
    /// Files that neither commands nor tools can read.
    pub hidden: Option<Vec<String>>,
    /// Files in writable directories that stay read-only, in addition to the default ones.
    pub protected: Option<Vec<String>>,
    /// Protects the files in the working directory that make other agents, editors and shells run
    /// programs, such as `.claude` and `.vscode`, in the profile `unattended`. Defaults to true.
    pub protect_agent_files: Option<bool>,
    /// Additional rule files.
    pub rules: Option<Vec<String>>,
    /// Redacts credentials in everything that models and other readers see. Defaults to true.
    #[serde(rename = "maskSecrets")]
    pub redact_secrets: Option<bool>,
    /// The model that decides if the approval policy is `review`.
    pub reviewer: Option<ReviewerSettings>,
    /// Limits on the resources of sandboxed commands.
    pub limits: Option<LimitSettings>,
}

/// Limits on the resources of sandboxed commands; 0 for no limit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct LimitSettings {
    /// Processes and threads of a command at a time. Defaults to 4,096.
    #[serde(deserialize_with = "super::number::optional")]
    pub processes: Option<u64>,
    /// Memory of a command in megabytes. Defaults to 80 % of the memory of the machine.
    #[serde(deserialize_with = "super::number::optional")]
    pub memory_mb: Option<u64>,
    /// Size of each file that a command writes, in megabytes. Defaults to 16,384.
    #[serde(deserialize_with = "super::number::optional")]
    pub file_size_mb: Option<u64>,
    /// Longest time of a command in seconds. Defaults to 1,800 in the profile `unattended`, and to
    /// no limit otherwise.
    #[serde(deserialize_with = "super::number::optional")]
    pub seconds: Option<u64>,
}

/// Settings of the model that decides about approvals.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ReviewerSettings {
    /// Pattern of the model, as for `--model`. Defaults to the model of the session.
    pub model: Option<String>,
    /// Time limit of one review in milliseconds. Defaults to 30,000.
    #[serde(deserialize_with = "super::number::optional")]
    pub timeout_ms: Option<u64>,
}

words! {
    /// A safety profile.
    #[derive(Default)]
    Profile {
        /// Asks only where a rule requires it.
        #[default]
        Explore = "explore",
        /// Asks about every action that is not known to be safe. Commands that were not approved
        /// run in the sandbox, without network.
        Careful = "careful",
        /// Runs commands in the sandbox, without network, and never asks.
        Unattended = "unattended",
    }

    /// The policy for actions that need approval.
    ApprovalPolicy {
        /// The user decides; without a UI the action is denied.
        Ask = "ask",
        /// The action is denied.
        Never = "never",
        /// A model decides.
        Review = "review",
    }

    /// The files that commands can write.
    SandboxMode {
        /// Everything that the user can write: no sandbox.
        Off = "off",
        /// No files at all.
        ReadOnly = "read-only",
        /// The working directory, private temporary files, and `writableRoots`.
        WorkspaceWrite = "workspace-write",
    }

    /// No host or every host.
    NetworkSwitch {
        /// No host can be reached.
        Off = "off",
        /// Every host can be reached.
        On = "on",
    }

    /// Minimum isolation of commands.
    RequiredLevel {
        /// No isolation is required.
        None = "none",
        /// Landlock and a filter of system calls, or the equivalent of the platform.
        Landlock = "landlock",
        /// Landlock and separate namespaces (bubblewrap).
        Bubblewrap = "bubblewrap",
    }
}

/// The hosts that commands can reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum NetworkSetting {
    /// No host or every host.
    Switch(NetworkSwitch),
    /// Names of hosts; `*.` in front of a name covers its subdomains.
    Hosts(Vec<String>),
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use super::*;

    #[test]
    fn parsed_values_are_those_of_the_settings_file() {
        fn check<T: FromStr + Serialize>(values: &[&str])
        where
            T::Err: std::fmt::Debug,
        {
            for text in values {
                let value: T = text.parse().unwrap();
                assert_eq!(serde_json::to_value(value).unwrap(), *text);
            }
        }
        check::<Profile>(Profile::VALUES);
        check::<ApprovalPolicy>(ApprovalPolicy::VALUES);
        check::<SandboxMode>(SandboxMode::VALUES);
        check::<RequiredLevel>(RequiredLevel::VALUES);
        let error = "unatended".parse::<Profile>().unwrap_err();
        let expected = "invalid value \"unatended\": expected explore, careful or unattended";
        assert_eq!(error.to_string(), expected);
    }
}
