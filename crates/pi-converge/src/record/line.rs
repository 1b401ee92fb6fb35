//! The lines of a recording.

use std::path::PathBuf;

use pi_agent::ToolOutput;
use pi_coding_agent::guard::ToolDecision;
use pi_coding_agent::hooks::{CommandFailure, FinishedCommand};
use pi_coding_agent::{Environment, ResourceFlags};
use pi_protocol::{AssistantEvent, AssistantMessage};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::VERSION;
use super::canonical::Shape;
use crate::contract::Contract;

/// A line of a recording.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub(crate) enum Line {
    /// The first line.
    Header(Box<Header>),
    /// A message of requests. Requests refer to it by its hash.
    Message { hash: String, value: Value },
    /// A request to a model.
    Request { number: u32, shape: Shape, messages: Vec<String> },
    /// The answer to a request. Without a message, the run gave the answer up.
    Answer {
        request: u32,
        events: Vec<AssistantEvent>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<Box<AssistantMessage>>,
    },
    /// A decision about a tool call.
    Decision { arguments: Map<String, Value>, decision: ToolDecision },
    /// The result of a tool call that was admitted.
    Result {
        tool_call_id: String,
        tool_name: String,
        arguments: Map<String, Value>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Box<ToolOutput>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// The result of a command of a hook or guardrail.
    Hook { key: String, result: Result<FinishedCommand, CommandFailure> },
    /// A fact from outside, such as the results of the checks.
    Observation { name: String, value: Value },
    /// The last line.
    End {
        outcome: String,
        /// True if a clock or a signal ended the run, which a replay does not repeat.
        timed: bool,
        /// SHA-256 of all bytes before this line.
        digest: String,
    },
}

/// The first line of a recording.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Header {
    /// Version of the format.
    pub version: u32,
    /// Version of the program.
    pub program: String,
    /// Time of the start, in ISO 8601.
    pub started: String,
    /// The contract of the run.
    pub contract: Box<Contract>,
    /// Prompts, skills and extensions of the command line.
    #[serde(default)]
    pub resources: ResourceFlags,
    /// The agent had background processes by default.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub background: bool,
    /// Working directory of the agent.
    pub cwd: PathBuf,
    /// Home directory of the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub home: Option<PathBuf>,
    /// Directory of the user's settings.
    pub agent_directory: PathBuf,
}

impl Header {
    /// Creates the header of a recording that begins now.
    pub fn new(program: &str, contract: &Contract, environment: &Environment) -> Self {
        Self {
            version: VERSION,
            program: program.to_owned(),
            started: jiff::Timestamp::now().to_string(),
            contract: Box::new(contract.clone()),
            resources: ResourceFlags::default(),
            background: false,
            cwd: environment.cwd.clone(),
            home: environment.home.clone(),
            agent_directory: environment.agent_directory.clone(),
        }
    }
}

/// Returns the key that identifies a call. Ids alone are not unique: each session has its own.
pub(crate) fn call_key(id: &str, tool: &str, arguments: &Map<String, Value>) -> String {
    let arguments = serde_json::to_string(arguments).unwrap_or_default();
    format!("{id}\n{tool}\n{arguments}")
}

/// Returns the key that identifies a command of a hook: the command and the call that it is about.
/// The rest of its input contains ids and paths of the session.
pub(crate) fn hook_key(command: &str, input: &str) -> String {
    let input: Value = serde_json::from_str(input).unwrap_or_default();
    let call = input["tool_use_id"].as_str().unwrap_or_default();
    format!("{}\n{call}\n{command}", input["hook_event_name"].as_str().unwrap_or_default())
}
