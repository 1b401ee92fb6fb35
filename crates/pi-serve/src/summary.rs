//! A session in a list: the facts of its log, and its state in this server.

use std::path::Path;

use pi_coding_agent::AgentSession;
use pi_host::{Hosted, sessions};
use pi_session::SessionInfo;
use schemars::JsonSchema;
use serde::Serialize;

/// The state of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Status {
    /// A question waits for an answer.
    Waiting,
    /// The agent works on a prompt.
    Running,
    /// Another process has the session open.
    Elsewhere,
    /// Nothing happens in the session.
    Idle,
}

/// A session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Summary {
    /// Id of the session.
    pub id: String,
    /// Name of the session, or the beginning of its first prompt, as one line.
    pub title: String,
    /// The name that the user gave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Working directory.
    pub cwd: String,
    /// Id of the session from which it was forked, as far as its file name has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Time of creation, in milliseconds since the epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<i64>,
    /// Time of the last message, in milliseconds since the epoch.
    pub modified: i64,
    /// Number of messages, without system prompts.
    pub messages: u64,
    /// State of the session.
    pub status: Status,
    /// Number of questions that wait for an answer.
    pub questions: usize,
    /// Where the searched words were found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snippet: Option<String>,
}

/// Length of a title, in columns.
const TITLE: usize = 120;

impl Summary {
    /// Describes a stored session.
    pub(crate) fn stored(info: &SessionInfo) -> Self {
        let parent = info.parent_session.as_deref().and_then(|path| {
            let stem = Path::new(path).file_stem()?.to_str()?;
            Some(stem.rsplit_once('_').map_or(stem, |(_, id)| id).to_owned())
        });
        Self {
            id: info.id.clone(),
            title: sessions::title(info, TITLE),
            name: info.name.clone(),
            cwd: info.cwd.clone(),
            parent,
            created: info.created,
            modified: info.modified,
            messages: sessions::message_count(info),
            status: Status::Idle,
            questions: 0,
            snippet: None,
        }
    }

    /// Describes a session that is open and has no file yet.
    fn unsaved(session: &AgentSession) -> Self {
        let created = session.with_log(|log| {
            log.header().timestamp.parse::<jiff::Timestamp>().map(|time| time.as_millisecond())
        });
        let created = created.ok();
        let name = session.name();
        Self {
            id: session.id(),
            title: name.clone().unwrap_or_else(|| "(no messages)".to_owned()),
            name,
            cwd: session.workspace().cwd().to_string_lossy().into_owned(),
            parent: None,
            created,
            modified: created.unwrap_or_default(),
            messages: session.message_count() as u64,
            status: Status::Idle,
            questions: 0,
            snippet: None,
        }
    }

    /// Describes a session that is open in this server.
    pub(crate) fn open(
        hosted: &Hosted,
        session: &AgentSession,
        info: Option<&SessionInfo>,
    ) -> Self {
        let mut summary = info.map_or_else(|| Self::unsaved(session), Self::stored);
        summary.questions = hosted.ui().open_questions().len();
        summary.status = match (summary.questions, hosted.is_busy()) {
            (1.., _) => Status::Waiting,
            (0, true) => Status::Running,
            (0, false) => Status::Idle,
        };
        summary
    }
}
