//! The commands of the server beside those of RPC mode, and the right that each command needs.

use pi_rpc::Command;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ui::Choice;
use crate::entrance::Right;

/// The names of the server's commands.
pub(crate) const NAMES: [&str; 9] = [
    "attach",
    "detach",
    "open_session",
    "take_over",
    "list_needs_you",
    "approval_response",
    "undo",
    "watch_lists",
    "heartbeat",
];

/// A command of the server.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(crate) enum ServerCommand {
    /// Follows a session.
    Attach {
        session_id: String,
        /// The last entry that the client has.
        since: Option<u64>,
        view: Option<View>,
        /// The client answers questions.
        #[serde(default)]
        approvals: bool,
        /// Bare records of RPC mode.
        #[serde(default)]
        plain: bool,
        /// Entries and events are sent.
        #[serde(default = "yes")]
        feed: bool,
    },
    /// Follows a session no more.
    Detach { session_id: String },
    /// Starts a session.
    OpenSession { cwd: Option<String>, name: Option<String> },
    /// Takes a session over that another program has open.
    TakeOver { session_id: String },
    /// Lists the questions that wait for an answer.
    ListNeedsYou,
    /// Answers an approval.
    ApprovalResponse { decision: Choice, reason: Option<String> },
    /// Takes the last run back, or moves to an entry.
    Undo { session_id: Option<String>, what: Moved, entry_id: Option<String> },
    /// Asks for a word whenever the list of sessions or questions changes.
    WatchLists,
    /// Asks whether the server is alive.
    Heartbeat,
}

/// A form of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum View {
    Html,
}

/// The parts of a session that move back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Moved {
    Files,
    Conversation,
    Both,
}

fn yes() -> bool {
    true
}

/// The fields that all commands have.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Head {
    pub(crate) id: Option<Value>,
    #[serde(rename = "type")]
    pub(crate) kind: Option<Value>,
    pub(crate) session_id: Option<Value>,
}

impl Head {
    /// Reads the head of a frame; an empty one if the frame is no object.
    pub(crate) fn read(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_default()
    }

    pub(crate) fn name(&self) -> &str {
        self.kind.as_ref().and_then(Value::as_str).unwrap_or_default()
    }
}

impl ServerCommand {
    /// Returns the right that the command needs at least.
    pub(crate) fn right(&self) -> Right {
        match self {
            Self::Attach { approvals: true, .. } | Self::ApprovalResponse { .. } => Right::Approve,
            Self::Attach { .. }
            | Self::Detach { .. }
            | Self::ListNeedsYou
            | Self::WatchLists
            | Self::Heartbeat => Right::View,
            Self::OpenSession { .. } | Self::TakeOver { .. } | Self::Undo { .. } => Right::Drive,
        }
    }
}

/// The needs of a command of RPC mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Needs {
    /// The right that the command needs at least.
    pub(crate) right: Right,
    /// The command reaches sessions beside its own.
    pub(crate) reaches_others: bool,
}

/// Returns the needs of a command of RPC mode.
pub(crate) fn needs(command: &Command) -> Needs {
    let own = |right| Needs { right, reaches_others: false };
    let others = |right| Needs { right, reaches_others: true };
    match command {
        Command::GetState
        | Command::GetAvailableModels
        | Command::GetAvailableThinkingLevels
        | Command::GetSessionStats
        | Command::GetForkMessages
        | Command::GetEntries { .. }
        | Command::GetTree
        | Command::GetLastAssistantText
        | Command::GetMessages
        | Command::GetCommands
        | Command::Hello { .. } => own(Right::View),
        Command::ListSessions { .. } => others(Right::View),
        Command::Prompt { .. }
        | Command::Steer { .. }
        | Command::FollowUp { .. }
        | Command::Abort
        | Command::ClearQueue
        | Command::SetModel { .. }
        | Command::CycleModel
        | Command::SetThinkingLevel { .. }
        | Command::CycleThinkingLevel
        | Command::SetSteeringMode { .. }
        | Command::SetFollowUpMode { .. }
        | Command::Compact { .. }
        | Command::SetAutoCompaction { .. }
        | Command::SetAutoRetry { .. }
        | Command::AbortRetry
        | Command::AbortBash
        | Command::SetSessionName { .. }
        | Command::NavigateTree { .. }
        | Command::SetLabel { .. } => own(Right::Drive),
        // Runs without a question what the agent would need approval for.
        Command::Bash { .. } => own(Right::Approve),
        Command::NewSession { .. }
        | Command::SwitchSession { .. }
        | Command::Fork { .. }
        | Command::Clone => others(Right::Drive),
        // Writes a file outside of the guard: into the working directory, or anywhere.
        Command::ExportHtml { output_path: None } => others(Right::Drive),
        Command::ExportHtml { output_path: Some(_) } => others(Right::Admin),
    }
}

/// Returns true if a name is one of a command of the server. The list is compared with the type by a
/// test.
pub(crate) fn is_of_server(name: &str) -> bool {
    NAMES.contains(&name)
}

#[cfg(test)]
mod tests {
    use serde::de::value::MapDeserializer;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_names_are_those_of_the_type() {
        let unknown = MapDeserializer::new(std::iter::once(("type", "")));
        let error: serde::de::value::Error = ServerCommand::deserialize(unknown).unwrap_err();
        let text = error.to_string();
        let known: Vec<&str> = text.split('`').skip(3).step_by(2).collect();
        assert_eq!(known, NAMES);
        assert!(
            Command::names().iter().all(|name| !is_of_server(name)),
            "no command has two meanings"
        );
    }

    #[test]
    fn defaults_are_those_of_a_reader() {
        let attach: ServerCommand =
            serde_json::from_value(json!({ "type": "attach", "sessionId": "s", "id": 1 })).unwrap();
        assert_eq!(attach.right(), Right::View);
        let ServerCommand::Attach { since: None, view: None, plain: false, feed: true, .. } =
            attach
        else {
            panic!("{attach:?}");
        };
    }
}
