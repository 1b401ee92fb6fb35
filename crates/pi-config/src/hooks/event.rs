//! The positions at which hooks run, as one table.

use serde::Serialize;

/// A position at which hooks run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum HookEvent {
    /// A tool call is about to run.
    BeforeTool,
    /// A tool call has run.
    AfterTool,
    /// A prompt is about to be sent or queued.
    BeforePrompt,
    /// A session starts.
    SessionStart,
    /// A session ends.
    SessionEnd,
    /// A session is about to be compacted.
    BeforeCompact,
    /// The agent would stop.
    Stop,
    /// The agent waits for the user.
    Notification,
    /// A sub-agent starts.
    SubagentStart,
    /// A sub-agent would stop.
    SubagentStop,
    /// An unattended run starts.
    RunStart,
    /// An unattended run has ended.
    RunEnd,
}

impl HookEvent {
    /// All events, in the order of the documentation.
    pub const ALL: &[Self] = &[
        Self::BeforeTool,
        Self::AfterTool,
        Self::BeforePrompt,
        Self::SessionStart,
        Self::SessionEnd,
        Self::BeforeCompact,
        Self::Stop,
        Self::Notification,
        Self::SubagentStart,
        Self::SubagentStop,
        Self::RunStart,
        Self::RunEnd,
    ];

    /// Returns the name in the settings and in the input of hooks.
    pub fn name(self) -> &'static str {
        match self {
            Self::BeforeTool => "beforeTool",
            Self::AfterTool => "afterTool",
            Self::BeforePrompt => "beforePrompt",
            Self::SessionStart => "sessionStart",
            Self::SessionEnd => "sessionEnd",
            Self::BeforeCompact => "beforeCompact",
            Self::Stop => "stop",
            Self::Notification => "notification",
            Self::SubagentStart => "subagentStart",
            Self::SubagentStop => "subagentStop",
            Self::RunStart => "runStart",
            Self::RunEnd => "runEnd",
        }
    }

    /// Returns the name in the widespread format for hooks, which is accepted, too.
    pub fn alias(self) -> Option<&'static str> {
        match self {
            Self::BeforeTool => Some("PreToolUse"),
            Self::AfterTool => Some("PostToolUse"),
            Self::BeforePrompt => Some("UserPromptSubmit"),
            Self::SessionStart => Some("SessionStart"),
            Self::SessionEnd => Some("SessionEnd"),
            Self::BeforeCompact => Some("PreCompact"),
            Self::Stop => Some("Stop"),
            Self::Notification => Some("Notification"),
            Self::SubagentStart => Some("SubagentStart"),
            Self::SubagentStop => Some("SubagentStop"),
            Self::RunStart | Self::RunEnd => None,
        }
    }

    /// Returns the description for the settings.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::BeforeTool => "Before a tool call. Can block it, require approval or change it.",
            Self::AfterTool => "After a tool call. Can change its result or add to it.",
            Self::BeforePrompt => "Before a prompt is sent. Can block it, change it or add to it.",
            Self::SessionStart => "At the start of a session. Can add to the first prompt.",
            Self::SessionEnd => "At the end of a session.",
            Self::BeforeCompact => "Before a compaction. Can block it.",
            Self::Stop => "When the agent would stop. Can make it continue.",
            Self::Notification => "When the agent waits for the user.",
            Self::SubagentStart => "At the start of a sub-agent. Can block it or add to its task.",
            Self::SubagentStop => "When a sub-agent would stop. Can make it continue.",
            Self::RunStart => "At the start of an unattended run. Can block it or add to its goal.",
            Self::RunEnd => "At the end of an unattended run.",
        }
    }

    /// Returns the event with this name or alias.
    pub fn find(name: &str) -> Option<Self> {
        let is_named = |event: &&Self| event.name() == name || event.alias() == Some(name);
        Self::ALL.iter().find(is_named).copied()
    }

    /// Returns the text that a matcher is compared with; `None` if the event has no such text.
    pub fn subject(self) -> Option<&'static str> {
        match self {
            Self::BeforeTool | Self::AfterTool => Some("the name of the tool"),
            Self::SessionStart | Self::SessionEnd => Some("the reason"),
            Self::BeforeCompact => Some("the reason"),
            Self::Notification => Some("the type of the notification"),
            Self::SubagentStart | Self::SubagentStop => Some("the name of the agent"),
            Self::BeforePrompt | Self::Stop | Self::RunStart | Self::RunEnd => None,
        }
    }

    /// Returns true if something happens unless a hook refuses it. If such a hook fails in a
    /// profile that restricts, the failure is a refusal.
    pub fn is_gate(self) -> bool {
        matches!(self, Self::BeforeTool | Self::BeforePrompt | Self::SubagentStart | Self::RunStart)
    }

    /// Returns true if plain text on stdout is context for the model.
    pub fn takes_text(self) -> bool {
        matches!(
            self,
            Self::BeforePrompt | Self::SessionStart | Self::SubagentStart | Self::RunStart
        )
    }

    /// Returns true if stdout must be empty, a JSON object or context: the hook decides something.
    pub fn decides(self) -> bool {
        self.is_gate() || matches!(self, Self::Stop | Self::SubagentStop | Self::BeforeCompact)
    }
}
