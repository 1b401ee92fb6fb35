//! What extensions are told and asked, and what they may answer.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_agent::{AgentEvent, ToolOutput};
use pi_protocol::{
    AssistantMessage, CancelToken, Entry, EntryBody, ImageContent, Model, ThinkingLevel,
};
use pi_session::ExtensionMessage;
use pi_session::compaction::CompactionPreparation;
use serde_json::{Map, Value};

use crate::session::{CompactionReason, StreamingBehavior};

/// Something that happened, for those who only listen.
#[derive(Debug)]
pub enum Notice<'a> {
    /// A session begins: `startup`, `reload`, `new`, `resume` or `fork`.
    SessionStart {
        /// Why.
        reason: &'a str,
        /// The file of the session before it.
        previous: Option<&'a Path>,
    },
    /// A session ends: `quit`, `reload`, `new`, `resume` or `fork`.
    SessionShutdown {
        /// Why.
        reason: &'a str,
        /// The file of the session after it.
        target: Option<&'a Path>,
    },
    /// The session has another name.
    SessionInfoChanged {
        /// The name.
        name: Option<&'a str>,
    },
    /// The session was compacted.
    SessionCompact {
        /// The entry that was appended.
        entry: &'a Entry,
        /// An extension wrote the summary.
        from_extension: bool,
        /// Why.
        reason: CompactionReason,
        /// The failed request is made again.
        will_retry: bool,
    },
    /// The session was not compacted.
    SessionCompactFailed {
        /// Why it should have been.
        reason: CompactionReason,
        /// What went wrong.
        error: Option<&'a str>,
        /// It was stopped.
        aborted: bool,
    },
    /// The user went elsewhere in the tree.
    SessionTree {
        /// The current entry now.
        new_leaf: Option<&'a str>,
        /// The current entry before.
        old_leaf: Option<&'a str>,
        /// What was written about the branch that was left.
        summary: Option<&'a Entry>,
    },
    /// The run begins, ends, goes on: the events of the loop, all but those that are asked about
    /// in methods of their own.
    Agent {
        /// What happened.
        event: &'a AgentEvent,
        /// The answer while it grows.
        streaming: Option<&'a AssistantMessage>,
    },
    /// Nothing is left to do.
    AgentSettled {
        /// It was aborted.
        aborted: bool,
    },
    /// Another model: `set`, `cycle` or `restore`.
    ModelSelect {
        /// The model.
        model: &'a Model,
        /// The one before.
        previous: Option<&'a Model>,
        /// How it was chosen.
        source: &'a str,
    },
    /// Another thinking level.
    ThinkingLevelSelect {
        /// The level.
        level: ThinkingLevel,
        /// The one before.
        previous: ThinkingLevel,
    },
}

impl Notice<'_> {
    /// The event's name, for reports.
    pub fn name(&self) -> &'static str {
        match self {
            Self::SessionStart { .. } => "session_start",
            Self::SessionShutdown { .. } => "session_shutdown",
            Self::SessionInfoChanged { .. } => "session_info_changed",
            Self::SessionCompact { .. } => "session_compact",
            Self::SessionCompactFailed { .. } => "session_compact_failed",
            Self::SessionTree { .. } => "session_tree",
            Self::AgentSettled { .. } => "agent_settled",
            Self::ModelSelect { .. } => "model_select",
            Self::ThinkingLevelSelect { .. } => "thinking_level_select",
            Self::Agent { event, .. } => event.name(),
        }
    }

    /// Happens so often that only those hear of it who want to.
    pub(super) fn is_progress(&self) -> bool {
        matches!(
            self,
            Self::Agent {
                event: AgentEvent::MessageUpdate { .. } | AgentEvent::ToolExecutionUpdate { .. },
                ..
            }
        )
    }
}

/// Whether files of a project may be used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TrustAnswer {
    /// Ask the next.
    #[default]
    Undecided,
    /// They may.
    Yes {
        /// From now on.
        remember: bool,
    },
    /// They may not.
    No {
        /// From now on.
        remember: bool,
    },
}

/// More places with resources.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiscoveredPaths {
    /// Skills.
    pub skills: Vec<PathBuf>,
    /// Prompt templates.
    pub prompts: Vec<PathBuf>,
    /// Themes.
    pub themes: Vec<PathBuf>,
}

/// Another session is about to take the place of this one.
#[derive(Debug, Clone)]
pub struct BeforeSwitch {
    /// `new` or `resume`.
    pub reason: &'static str,
    /// Its file.
    pub target: Option<PathBuf>,
}

/// The session is about to be forked.
#[derive(Debug, Clone)]
pub struct BeforeFork {
    /// Where.
    pub entry_id: String,
    /// `before` or `at`.
    pub position: &'static str,
}

/// Whether a session may be left.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SwitchAnswer {
    /// It may not.
    pub cancel: bool,
}

/// The session is about to be compacted.
#[derive(Debug)]
pub struct BeforeCompact<'a> {
    /// What would be summarised, and what kept.
    pub preparation: &'a CompactionPreparation,
    /// The branch.
    pub branch: &'a [Entry],
    /// What the user wants of the summary.
    pub instructions: Option<&'a str>,
    /// Why.
    pub reason: CompactionReason,
    /// The failed request is made again afterwards.
    pub will_retry: bool,
    /// Cancelled when it is stopped.
    pub cancel: &'a CancelToken,
}

/// What becomes of a compaction.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum CompactAnswer {
    /// Go on.
    #[default]
    Proceed,
    /// Do not compact.
    Cancel,
    /// This is the summary.
    Summary {
        /// Its text.
        summary: String,
        /// The first entry that is kept.
        first_kept: String,
        /// The size of the context before.
        tokens_before: u64,
        /// Facts for later.
        details: Option<Value>,
    },
}

/// The user is about to go elsewhere in the tree.
#[derive(Debug)]
pub struct BeforeTree<'a> {
    /// Where to.
    pub target: &'a str,
    /// From where.
    pub old_leaf: Option<&'a str>,
    /// What is left behind.
    pub left: &'a [Entry],
    /// The user wants it summarised.
    pub wants_summary: bool,
    /// What the user wants of the summary.
    pub instructions: Option<&'a str>,
    /// Cancelled when it is stopped.
    pub cancel: &'a CancelToken,
}

/// What becomes of a move.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TreeAnswer {
    /// Stay.
    pub cancel: bool,
    /// This is the summary, with facts for later.
    pub summary: Option<(String, Option<Value>)>,
    /// Instructions in the place of the user's.
    pub instructions: Option<String>,
    /// A label for where the user goes.
    pub label: Option<String>,
}

/// A run is about to begin.
#[derive(Debug)]
pub struct BeforeAgentStart<'a> {
    /// What the user said; `None` if a message of an extension begins the run.
    pub prompt: Option<&'a str>,
    /// With these images.
    pub images: &'a [ImageContent],
    /// The system prompt as it would be.
    pub system_prompt: &'a str,
}

/// What an extension adds to the beginning of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StartAnswer {
    /// A message after the user's.
    pub message: Option<ExtensionMessage>,
    /// The whole prompt of the run.
    pub system_prompt: Option<String>,
    /// Sections to add, replace or (null) remove.
    pub sections: Map<String, Value>,
}

/// A turn, or everything, is over.
#[derive(Debug)]
pub struct BoundaryEvent<'a> {
    /// The answer of the turn.
    pub message: Option<&'a Arc<AssistantMessage>>,
    /// `completed`, `aborted` or `error`.
    pub outcome: &'a str,
    /// It goes on already.
    pub goes_on: bool,
}

/// What an extension adds at the end of a turn.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BoundaryAnswer {
    /// Entries: custom, custom message, context edit.
    pub entries: Vec<EntryBody>,
    /// Go on.
    pub goes_on: bool,
}

/// A tool is about to run.
#[derive(Debug)]
pub struct ToolCallEvent<'a> {
    /// The tool.
    pub tool_name: &'a str,
    /// The call.
    pub tool_call_id: &'a str,
    /// Its checked arguments, as changed by those asked before.
    pub input: &'a Map<String, Value>,
}

/// A tool has run.
#[derive(Debug)]
pub struct ToolResultEvent<'a> {
    /// The tool.
    pub tool_name: &'a str,
    /// The call.
    pub tool_call_id: &'a str,
    /// What it ran with.
    pub input: &'a Map<String, Value>,
    /// What came of it, as changed by those asked before.
    pub result: &'a ToolOutput,
    /// It failed.
    pub is_error: bool,
}

/// The user runs a command.
#[derive(Debug)]
pub struct UserBash<'a> {
    /// The command.
    pub command: &'a str,
    /// The model is not told.
    pub exclude_from_context: bool,
    /// Where it runs.
    pub cwd: &'a Path,
}

/// The user said something.
#[derive(Debug)]
pub struct Input<'a> {
    /// The text.
    pub text: &'a str,
    /// With these images.
    pub images: &'a [ImageContent],
    /// `interactive`, `rpc` or `extension`.
    pub source: &'a str,
    /// How it is queued during a run.
    pub streaming_behavior: Option<StreamingBehavior>,
}

/// What becomes of what the user said.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum InputAnswer {
    /// It goes on as it is.
    #[default]
    Continue,
    /// This instead.
    Transform {
        /// The text.
        text: String,
        /// Other images, if given.
        images: Option<Vec<ImageContent>>,
    },
    /// It was taken care of.
    Handled,
}
