//! Agent specs as files contain them.
//!
//! One type accepts three formats: ours, the `agent:` mapping of kimi-cli, and the front matter of
//! Claude-style Markdown agents. Nothing is resolved here.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::contract::ContractLimits;

/// An agent spec.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct AgentFile {
    /// Version of the format: 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// Name of the agent; that of the file by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Description in one line, for users and for models that choose an agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Situations in which a model should choose this agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when_to_use: Option<String>,
    /// The spec that this one changes: `default`, a file relative to this one, or the name of an
    /// installed spec. Absent fields are inherited, given lists replace those of the other spec.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extends: Option<String>,
    /// The same as `extends`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extend: Option<String>,
    /// The system prompt. `${NAME}` stands for a variable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// File with the system prompt, relative to this file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt_path: Option<PathBuf>,
    /// Variables of the system prompt, merged over those of the other spec.
    pub variables: BTreeMap<String, String>,
    /// The same as `variables`.
    pub system_prompt_args: BTreeMap<String, String>,
    /// Model, as `--model` accepts it; `inherit` for that of the parent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Thinking level.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<String>,
    /// Tools of the agent, instead of the default ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<ToolNames>,
    /// The only tools that the agent may have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_tools: Option<ToolNames>,
    /// Tools that the agent does not have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exclude_tools: Option<ToolNames>,
    /// Agents that this one can start with the tool `task`, by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subagents: Option<BTreeMap<String, SubagentEntry>>,
    /// Agents that can take over with the tool `handoff`, by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handoffs: Option<BTreeMap<String, HandoffEntry>>,
    /// Limits of one run of the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<ContractLimits>,
    /// Restrictions in addition to those of the user and of the parent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<AgentPolicy>,
    /// Contract of the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<AgentOutput>,
    /// Levels of sub-agents below this agent; 2 by default, 0 for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_depth: Option<u32>,
    /// Sub-agents that run at the same time; 4 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_parallel: Option<u32>,
    /// Handoffs in one session; 8 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_handoffs: Option<u32>,
}

/// A spec in the format of kimi-cli.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WrappedFile {
    /// Version of the format: 1.
    #[serde(default)]
    pub(super) version: Option<u32>,
    /// The spec.
    pub(super) agent: AgentFile,
}

/// A list of tools, or a text with names between commas.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[allow(missing_docs)] // The type says it.
pub enum ToolNames {
    List(Vec<String>),
    Text(String),
}

impl ToolNames {
    /// Returns the names, with the index of each in a list.
    pub fn names(&self) -> Vec<(Option<usize>, String)> {
        match self {
            Self::List(names) => {
                let numbered = names.iter().enumerate();
                numbered.map(|(at, name)| (Some(at), name.trim().to_owned())).collect()
            }
            Self::Text(text) => {
                let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
                names.map(|name| (None, name.to_owned())).collect()
            }
        }
    }
}

/// A sub-agent: a file relative to the spec, or the name of an installed spec.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[allow(missing_docs)] // The type says it.
pub enum SubagentEntry {
    Path(String),
    Described(DescribedSubagent),
}

/// A sub-agent with a description.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct DescribedSubagent {
    /// File relative to the spec, or the name of an installed spec.
    pub path: String,
    /// Description for the model, instead of that of the spec.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// A handoff: a file relative to the spec, or the name of an installed spec.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[allow(missing_docs)] // The type says it.
pub enum HandoffEntry {
    Path(String),
    Described(DescribedHandoff),
}

/// A handoff with options.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct DescribedHandoff {
    /// File relative to the spec, or the name of an installed spec.
    pub path: String,
    /// Description for the model, instead of that of the spec.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The part of the conversation that the other agent reads.
    #[serde(default)]
    pub context: HandoffContext,
    /// Number of messages for the context `last`; 10 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<u32>,
    /// JSON Schema of the input that the model has to give: the schema, or a file with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
}

/// The part of the conversation that an agent reads after a handoff.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HandoffContext {
    /// Everything.
    #[default]
    All,
    /// Everything but the results of tools.
    WithoutToolResults,
    /// A summary that the model writes.
    Summary,
    /// The last messages, as many as `last` says.
    Last,
}

/// Restrictions in addition to those that apply anyway. No value widens what is permitted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct AgentPolicy {
    /// Files that commands can write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxRestriction>,
    /// `off` forbids the network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkRestriction>,
    /// `never` refuses everything that needs approval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalRestriction>,
    /// Files that neither commands nor tools can read.
    pub hidden: Vec<String>,
    /// Files that stay read-only.
    pub protected: Vec<String>,
}

/// Files that commands of the agent can write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxRestriction {
    /// No files.
    ReadOnly,
    /// The working directory, unless less is permitted anyway.
    WorkspaceWrite,
}

/// The network of the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NetworkRestriction {
    /// No network.
    Off,
}

/// The approvals of the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalRestriction {
    /// Actions that need approval are refused.
    Never,
}

/// Contract of the result of an agent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct AgentOutput {
    /// JSON Schema of the result: the schema itself, or a file with it, relative to the spec.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// Least number of characters of the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_length: Option<u32>,
    /// Number of times that an invalid result is asked for again; 1 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repairs: Option<u32>,
}
