//! The settings group `guard`, which only the user's file may have.
//!
//! An unknown value or key is an error and not ignored: a misspelled profile must not mean no
//! profile.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    #[serde(deserialize_with = "super::number::whole")]
    pub processes: Option<u64>,
    /// Memory of a command in megabytes. Defaults to 80 % of the memory of the machine.
    #[serde(deserialize_with = "super::number::whole")]
    pub memory_mb: Option<u64>,
    /// Size of each file that a command writes, in megabytes. Defaults to 16,384.
    #[serde(deserialize_with = "super::number::whole")]
    pub file_size_mb: Option<u64>,
    /// Longest time of a command in seconds. Defaults to 1,800 in the profile `unattended`, and to
    /// no limit otherwise.
    #[serde(deserialize_with = "super::number::whole")]
    pub seconds: Option<u64>,
}

/// Settings of the model that decides about approvals.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ReviewerSettings {
    /// Pattern of the model, as for `--model`. Defaults to the model of the session.
    pub model: Option<String>,
    /// Time limit of one review in milliseconds. Defaults to 30,000.
    #[serde(deserialize_with = "super::number::whole")]
    pub timeout_ms: Option<u64>,
}

/// A safety profile.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// Asks only where a rule requires it.
    #[default]
    Explore,
    /// Asks about every action that is not known to be safe. Commands that were not approved run
    /// in the sandbox, without network.
    Careful,
    /// Runs commands in the sandbox, without network, and never asks.
    Unattended,
}

/// The policy for actions that need approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalPolicy {
    /// The user decides; without a UI the action is denied.
    Ask,
    /// The action is denied.
    Never,
    /// A model decides.
    Review,
}

/// The files that commands can write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxMode {
    /// Everything that the user can write: no sandbox.
    Off,
    /// No files at all.
    ReadOnly,
    /// The working directory, private temporary files, and `writableRoots`.
    WorkspaceWrite,
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

/// No host or every host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NetworkSwitch {
    /// No host can be reached.
    Off,
    /// Every host can be reached.
    On,
}

/// Minimum isolation of commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RequiredLevel {
    /// No isolation is required.
    None,
    /// Landlock and a filter of system calls, or the equivalent of the platform.
    Landlock,
    /// Landlock and separate namespaces (bubblewrap).
    Bubblewrap,
}

/// A text that is not a value of the setting.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid value \"{given}\": expected {expected}")]
pub struct InvalidValue {
    given: String,
    expected: String,
}

macro_rules! named_values {
    ($($type:ident: $($text:literal => $value:ident),*;)*) => {$(
        impl $type {
            /// The values as they are written in the settings.
            pub const VALUES: &[&str] = &[$($text),*];

            /// Returns the value as it is written in the settings.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$value => $text),* }
            }
        }

        impl FromStr for $type {
            type Err = InvalidValue;

            fn from_str(text: &str) -> Result<Self, InvalidValue> {
                match text {
                    $($text => Ok(Self::$value),)*
                    _ => Err(InvalidValue { given: text.to_owned(), expected: one_of(Self::VALUES) }),
                }
            }
        }
    )*};
}

/// Lists values: `a, b or c`.
fn one_of(values: &[&str]) -> String {
    match values.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => values.concat(),
    }
}

named_values! {
    Profile: "explore" => Explore, "careful" => Careful, "unattended" => Unattended;
    ApprovalPolicy: "ask" => Ask, "never" => Never, "review" => Review;
    SandboxMode: "off" => Off, "read-only" => ReadOnly, "workspace-write" => WorkspaceWrite;
    RequiredLevel: "none" => None, "landlock" => Landlock, "bubblewrap" => Bubblewrap;
}

#[cfg(test)]
mod tests {
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
