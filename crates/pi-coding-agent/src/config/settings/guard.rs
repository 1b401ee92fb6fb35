//! What may be done, and what holds it: the group `guard`. Only in the user's file.
//!
//! A word that is not known here is an error, not something to pass over: a profile that is
//! misspelt must not mean no profile.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What may be done, and what holds it. What is not said follows from the profile.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct GuardSettings {
    /// How much is asked and held.
    pub profile: Option<Profile>,
    /// Who says yes to what needs it.
    pub approval: Option<ApprovalPolicy>,
    /// What commands can write.
    pub sandbox: Option<SandboxMode>,
    /// Who commands can reach: `off`, `on`, or a list of hosts.
    pub network: Option<NetworkChoice>,
    /// What the machine must be able to hold; less is refused.
    pub require: Option<RequiredRung>,
    /// What commands can write besides the working directory.
    pub writable_roots: Option<Vec<String>>,
    /// What neither commands nor tools can read.
    pub hidden: Option<Vec<String>>,
    /// What stays read-only inside of what can be written, besides the usual.
    pub protected: Option<Vec<String>>,
    /// More rule files, for every run.
    pub rules: Option<Vec<String>>,
    /// Whether credentials are masked in what the model and others see; they are unless `false`.
    pub mask_secrets: Option<bool>,
    /// The model that decides where approval is `review`.
    pub reviewer: Option<ReviewerSettings>,
}

/// The model that decides.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ReviewerSettings {
    /// Which, as for `--model`; the one of the session if not given.
    pub model: Option<String>,
    /// How long it may take, in milliseconds; 30,000 if not given.
    #[serde(deserialize_with = "super::number::whole")]
    pub timeout_ms: Option<u64>,
}

/// How much is asked and held.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// No questions but those of rules.
    #[default]
    Explore,
    /// Asks for what is not known to be safe.
    Careful,
    /// Nobody is there: confined, without a network, never asks.
    Unattended,
}

/// Who says yes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalPolicy {
    /// The user; if nobody is there, nobody.
    Ask,
    /// Nobody: what would need a yes does not happen.
    Never,
    /// A model.
    Review,
}

/// What commands can write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxMode {
    /// Everything the user can.
    Off,
    /// Nothing.
    ReadOnly,
    /// The working directory, temporary files of their own, and what is named.
    WorkspaceWrite,
}

/// Who commands can reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum NetworkChoice {
    /// Nobody or everybody.
    Whole(NetworkSwitch),
    /// Hosts by name, perhaps with `*.` before it.
    Hosts(Vec<String>),
}

/// Nobody or everybody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NetworkSwitch {
    /// Nobody.
    Off,
    /// Everybody.
    On,
}

/// What the machine must be able to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RequiredRung {
    /// Nothing.
    None,
    /// Landlock and a filter of system calls, or what the system has instead.
    Landlock,
    /// Namespaces of their own besides.
    Bubblewrap,
}

/// Not one of the words there are; the text names those.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{given}\" is not one of {known}")]
pub struct InvalidValue {
    given: String,
    known: String,
}

macro_rules! words {
    ($($type:ident: $($word:literal => $value:ident),*;)*) => {$(
        impl $type {
            /// The words for it.
            pub const VALUES: &[&str] = &[$($word),*];

            /// The word for it.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$value => $word),* }
            }
        }

        impl FromStr for $type {
            type Err = InvalidValue;

            fn from_str(text: &str) -> Result<Self, InvalidValue> {
                match text {
                    $($word => Ok(Self::$value),)*
                    _ => Err(InvalidValue { given: text.to_owned(), known: Self::VALUES.join(", ") }),
                }
            }
        }
    )*};
}

words! {
    Profile: "explore" => Explore, "careful" => Careful, "unattended" => Unattended;
    ApprovalPolicy: "ask" => Ask, "never" => Never, "review" => Review;
    SandboxMode: "off" => Off, "read-only" => ReadOnly, "workspace-write" => WorkspaceWrite;
    RequiredRung: "none" => None, "landlock" => Landlock, "bubblewrap" => Bubblewrap;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_those_of_the_file() {
        fn check<T: FromStr + Serialize>(words: &[&str])
        where
            T::Err: std::fmt::Debug,
        {
            for word in words {
                let value: T = word.parse().unwrap();
                assert_eq!(serde_json::to_value(value).unwrap(), *word);
            }
        }
        check::<Profile>(Profile::VALUES);
        check::<ApprovalPolicy>(ApprovalPolicy::VALUES);
        check::<SandboxMode>(SandboxMode::VALUES);
        check::<RequiredRung>(RequiredRung::VALUES);
        assert!("unatended".parse::<Profile>().is_err());
    }
}
