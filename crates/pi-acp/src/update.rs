//! What an agent reports and asks, independent of the version of the protocol. [`crate::wire`]
//! writes it in the form of one version.

use pi_protocol::StopCause;
use serde_json::Value;

/// A piece of content.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Block {
    Text(String),
    Image {
        /// The bytes in base64.
        data: String,
        mime_type: String,
    },
}

/// A report about a session.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Update {
    /// A message of the user, whole.
    UserMessage {
        id: String,
        content: Vec<Block>,
    },
    /// A piece of a message of the agent, whole.
    Content {
        id: String,
        block: Block,
    },
    /// New text of an answer.
    Text {
        id: String,
        text: String,
    },
    /// New text of the model's thinking.
    Thought {
        id: String,
        text: String,
    },
    /// A tool call that was not reported before.
    ToolCall(ToolCall),
    /// New facts about a tool call.
    ToolCallChange(ToolCall),
    Plan(Vec<PlanEntry>),
    Commands(Vec<Command>),
    /// Another profile is in force.
    Mode(String),
    Options(Vec<ConfigOption>),
    Info {
        title: Title,
        updated_at: Option<String>,
    },
    Usage {
        used: u64,
        size: u64,
        cost: f64,
    },
    Notice {
        severity: Severity,
        text: String,
    },
    State(State),
}

impl Update {
    /// Reports another title of the session.
    pub(crate) fn title(title: Title) -> Self {
        Self::Info { title, updated_at: None }
    }
}

/// Change of the title of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Title {
    Unchanged,
    Set(String),
    Removed,
}

/// A tool call. Fields that are absent stay as they were reported before.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ToolCall {
    pub(crate) id: String,
    pub(crate) name: Option<String>,
    pub(crate) title: Option<String>,
    pub(crate) kind: Option<&'static str>,
    pub(crate) status: Option<Status>,
    pub(crate) content: Option<Vec<ToolContent>>,
    pub(crate) locations: Option<Vec<Location>>,
    pub(crate) raw_input: Option<Value>,
    pub(crate) raw_output: Option<Value>,
}

/// The state of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Pending,
    Running,
    Completed,
    Failed,
    /// The call was not executed, or not to its end, because the run was cancelled.
    Cancelled,
}

/// Content that a tool call shows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ToolContent {
    Block(Block),
    Diff {
        /// Absolute path.
        path: String,
        /// The text before the change; `None` for a new file.
        old: Option<String>,
        new: String,
        /// The hunks of the change, if they are known.
        hunks: Option<String>,
    },
    /// A terminal of the client.
    Terminal(String),
}

/// A place that a tool call is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Location {
    /// Absolute path.
    pub(crate) path: String,
    /// Line, from 1.
    pub(crate) line: Option<u32>,
}

/// A step of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PlanEntry {
    pub(crate) content: String,
    pub(crate) priority: &'static str,
    pub(crate) status: &'static str,
}

/// A slash command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Command {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) hint: Option<String>,
}

/// A setting of a session with a list of values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConfigOption {
    pub(crate) id: &'static str,
    pub(crate) name: &'static str,
    pub(crate) category: &'static str,
    pub(crate) description: &'static str,
    pub(crate) current: String,
    pub(crate) choices: Vec<Choice>,
}

/// A value of a [`ConfigOption`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) value: String,
    pub(crate) name: String,
    pub(crate) description: Option<String>,
}

/// Severity of a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Severity {
    Info,
    Warning,
    Error,
}

impl Severity {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// Activity of a session.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum State {
    Running,
    /// The run waits for an answer of the user.
    RequiresAction,
    Idle(Option<Stop>),
}

/// Reason why a run ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Stop {
    Cause(StopCause),
    Error(pi_jsonrpc::Error),
}

impl Stop {
    pub(crate) const CANCELLED: Self = Self::Cause(StopCause::Cancelled);

    pub(crate) fn as_str(&self) -> &'static str {
        match self {
            Self::Cause(cause) => cause.as_str(),
            Self::Error(_) => "error",
        }
    }
}

/// A question about a tool call, answered with one of the options.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Permission {
    pub(crate) title: String,
    pub(crate) description: String,
    pub(crate) tool_call: ToolCall,
    /// The command that would run, and its directory.
    pub(crate) command: Option<(String, String)>,
    pub(crate) options: Vec<PermissionOption>,
}

/// A possible answer to a [`Permission`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PermissionOption {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) kind: &'static str,
}
