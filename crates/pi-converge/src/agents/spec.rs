//! Resolved agent specs: inheritance applied, names translated, references found.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_protocol::ThinkingLevel;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::file::{AgentPolicy, HandoffContext};
use crate::contract::ContractLimits;
use crate::task::Problem;

/// Name of the tool that starts sub-agents.
pub const TASK_TOOL: &str = "task";
/// Name of the tool that hands a session to another agent.
pub const HANDOFF_TOOL: &str = "handoff";

/// A resolved agent spec.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct AgentSpec {
    /// Name of the agent.
    pub name: String,
    /// Description for users and models.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// File of the spec.
    pub file: PathBuf,
    /// The system prompt with its variables; `None` for that of the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<PromptTemplate>,
    /// Model, as `--model` accepts it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Thinking level.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<ThinkingLevel>,
    /// Names and patterns of the tools, without excluded ones; `None` for the default tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Tools that the agent does not have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exclude_tools: Vec<String>,
    /// Sub-agents by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub subagents: BTreeMap<String, Subagent>,
    /// Handoffs by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub handoffs: BTreeMap<String, Handoff>,
    /// Limits of one run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<ContractLimits>,
    /// Restrictions, those of extended specs included.
    pub policy: AgentPolicy,
    /// JSON Schema of the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// Least number of characters of the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_length: Option<u32>,
    /// Number of times that an invalid result is asked for again.
    pub repairs: u32,
    /// Levels of sub-agents below this agent.
    pub max_depth: u32,
    /// Sub-agents that run at the same time.
    pub max_parallel: u32,
    /// Handoffs in one session.
    pub max_handoffs: u32,
}

/// A sub-agent of a spec.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Subagent {
    /// File of the spec of the sub-agent.
    pub file: PathBuf,
    /// Description for the model.
    pub description: String,
}

/// A handoff of a spec.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Handoff {
    /// File of the spec that takes over.
    pub file: PathBuf,
    /// Description for the model.
    pub description: String,
    /// The part of the conversation that the other agent reads.
    pub context: HandoffContext,
    /// Number of messages for the context `last`.
    pub last: u32,
    /// JSON Schema of the input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
}

/// A system prompt with variables.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct PromptTemplate {
    /// The text; `${NAME}` stands for a variable.
    pub text: String,
    /// Variables of the spec.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, String>,
}

/// A spec with all specs that it can reach.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentSet {
    pub(super) root: PathBuf,
    #[serde(with = "specs")]
    pub(super) specs: BTreeMap<PathBuf, Arc<AgentSpec>>,
    #[serde(skip)]
    pub(super) warnings: Vec<Problem>,
}

impl AgentSpec {
    /// Returns true if the agent can start sub-agents.
    pub fn can_delegate(&self) -> bool {
        !self.subagents.is_empty() && self.max_depth > 0 && !self.excludes(TASK_TOOL)
    }

    /// Returns true if the agent can hand its session over.
    pub fn can_hand_off(&self) -> bool {
        !self.handoffs.is_empty() && self.max_handoffs > 0 && !self.excludes(HANDOFF_TOOL)
    }

    fn excludes(&self, tool: &str) -> bool {
        self.exclude_tools.iter().any(|name| name == tool)
    }
}

impl AgentSet {
    /// Returns the spec that was asked for.
    pub fn root(&self) -> Option<&Arc<AgentSpec>> {
        self.spec(&self.root)
    }

    /// Returns the spec of a file.
    pub fn spec(&self, file: &Path) -> Option<&Arc<AgentSpec>> {
        self.specs.get(file)
    }

    /// Returns all specs.
    pub fn specs(&self) -> impl Iterator<Item = &Arc<AgentSpec>> {
        self.specs.values()
    }

    /// Returns the same specs with another one as the root.
    pub(super) fn with_root(&self, file: &Path) -> Self {
        Self { root: file.to_owned(), ..self.clone() }
    }

    /// Returns problems that do not prevent the use of the specs.
    pub fn warnings(&self) -> &[Problem] {
        &self.warnings
    }
}

/// Specs as a list; each knows its file.
mod specs {
    use super::{AgentSpec, Arc, BTreeMap, Deserialize as _, PathBuf};

    pub(super) fn serialize<S: serde::Serializer>(
        specs: &BTreeMap<PathBuf, Arc<AgentSpec>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(specs.values().map(|spec| &**spec))
    }

    pub(super) fn deserialize<'de, D: serde::Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<PathBuf, Arc<AgentSpec>>, D::Error> {
        let specs = Vec::<AgentSpec>::deserialize(deserializer)?;
        Ok(specs.into_iter().map(|spec| (spec.file.clone(), Arc::new(spec))).collect())
    }
}
