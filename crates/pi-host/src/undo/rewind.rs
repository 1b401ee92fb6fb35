//! Moving a session back: its files, its conversation, or both.
//!
//! Runs and prompts are matched by time and text. The prompts of a branch decide which runs a move
//! takes back; files that changed since a run are left alone, as by undo.

use std::collections::BTreeSet;
use std::path::Path;

use pi_coding_agent::session::{AgentSession, Navigation, NavigationError, NavigationResult};
use pi_protocol::{AgentMessage, Entry, EntryBody, Message};
use pi_session::{SessionError, text_of};
use pi_tools::checkpoint::{Checkpoint, CheckpointError, Checkpoints, Limits};

use super::{Direction, Preview, Restored, apply, note, preview};

/// The parts of a session that move back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RewindScope {
    /// The files. A note tells the model.
    Files,
    /// The conversation. A note tells the model which files keep later changes.
    Conversation,
    /// Both.
    Both,
}

/// A move that is possible.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RewindPlan {
    /// The entry that the conversation moves to. Before a prompt, its text returns to the user.
    pub entry: Option<String>,
    /// The file changes that are taken back; `None` if there are none.
    pub files: Option<Preview>,
}

impl RewindPlan {
    /// Plans to move the conversation to an entry, and no files.
    pub fn conversation(entry: impl Into<String>) -> Self {
        Self { entry: Some(entry.into()), files: None }
    }
}

/// The result of a move.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Rewound {
    /// The files that were restored.
    pub restored: Restored,
    /// The result of the move of the conversation.
    pub navigation: NavigationResult,
}

/// Reasons why a session does not move back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RewindError {
    /// The checkpoints cannot be read or restored.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The conversation cannot move.
    #[error(transparent)]
    Navigation(#[from] NavigationError),
    /// The log cannot be read or written.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The work was interrupted.
    #[error("the files were not restored: {0}")]
    Interrupted(String),
}

/// A prompt of the log.
struct Prompt {
    entry: String,
    time: f64,
    text: String,
}

/// Plans to take back the last run. `store` has the checkpoints of the session.
pub fn plan_undo(session: &AgentSession, store: &Path) -> Result<RewindPlan, RewindError> {
    let root = session.workspace().cwd().to_owned();
    let files = preview(store, &root, Direction::Undo)?;
    let prompts = prompts(session)?;
    let prompt = files.time.and_then(|time| prompt_of(&prompts, time, &files.label));
    // Only prompts of the current branch are a place to move to.
    let entry = prompt.map(|prompt| prompt.entry.clone());
    let branch = branch_prompts(session)?;
    Ok(RewindPlan { entry: entry.filter(|id| branch.contains(id)), files: Some(files) })
}

/// Plans to repeat the changes of the run that was taken back last. The conversation stays.
pub fn plan_redo(session: &AgentSession, store: &Path) -> Result<RewindPlan, RewindError> {
    let root = session.workspace().cwd().to_owned();
    let files = preview(store, &root, Direction::Redo)?;
    Ok(RewindPlan { entry: None, files: Some(files) })
}

/// Plans to move to an entry, with the file changes of the prompts that are left.
pub fn plan_rewind(
    session: &AgentSession,
    store: &Path,
    entry: &str,
) -> Result<RewindPlan, RewindError> {
    let mut plan = RewindPlan::conversation(entry);
    if !store.is_dir() {
        return Ok(plan);
    }
    let left = prompts_left(session, entry)?;
    let prompts = prompts(session)?;
    let root = session.workspace().cwd().to_owned();
    let checkpoints = Checkpoints::open(store, &root, Limits::default())?;
    let is_left = |run: &Checkpoint| {
        let prompt = run.time.and_then(|time| prompt_of(&prompts, time, &run.label));
        prompt.is_some_and(|prompt| left.contains(&prompt.entry))
    };
    plan.files = Preview::of_runs(&checkpoints, store, &root, is_left)?;
    Ok(plan)
}

/// Moves a session back. An extension can refuse the move of the conversation; then no file changes.
pub async fn rewind(
    session: &AgentSession,
    plan: RewindPlan,
    scope: RewindScope,
    navigation: Navigation,
) -> Result<Rewound, RewindError> {
    let mut rewound = Rewound::default();
    let entry = plan.entry.filter(|_| scope != RewindScope::Files);
    if let Some(entry) = &entry {
        rewound.navigation = session.navigate(entry, navigation).await?;
        if rewound.navigation.cancelled {
            return Ok(rewound);
        }
    }
    let Some(preview) = plan.files else { return Ok(rewound) };
    if scope == RewindScope::Conversation {
        if let Some(text) = note::kept(&preview.paths) {
            note::tell(session, text).await?;
        }
        return Ok(rewound);
    }
    let (direction, label) = (preview.direction, preview.label.clone());
    let done = tokio::task::spawn_blocking(move || apply(&preview)).await;
    rewound.restored = done.map_err(|error| RewindError::Interrupted(error.to_string()))??;
    let restored = &rewound.restored;
    let text = match entry {
        // The branch does not know of changes that were taken back.
        Some(_) => {
            note::kept(&restored.conflicts.iter().map(|one| one.path.clone()).collect::<Vec<_>>())
        }
        None => restored.note(direction, &label),
    };
    if let Some(text) = text {
        note::tell(session, text).await?;
    }
    Ok(rewound)
}

/// Returns the prompts of all branches, in the order of the log.
fn prompts(session: &AgentSession) -> Result<Vec<Prompt>, SessionError> {
    session.with_log(|log| {
        let mut prompts = Vec::new();
        for entry in log.entries() {
            match entry {
                Err(SessionError::Damaged { .. }) => {}
                entry => prompts.extend(prompt(&entry?)),
            }
        }
        Ok(prompts)
    })
}

fn prompt(entry: &Entry) -> Option<Prompt> {
    let EntryBody::Message(AgentMessage::Llm(Message::User(user))) = &entry.body else {
        return None;
    };
    Some(Prompt { entry: entry.id.clone(), time: user.timestamp, text: text_of(&user.content) })
}

/// Returns the entries of the prompts of the current branch.
fn branch_prompts(session: &AgentSession) -> Result<BTreeSet<String>, SessionError> {
    session.with_log(|log| {
        let mut found = BTreeSet::new();
        for entry in log.branch_entries(None)? {
            found.extend(prompt(&entry?).map(|prompt| prompt.entry));
        }
        Ok(found)
    })
}

/// Returns the entries of the prompts that a move to `entry` leaves.
fn prompts_left(session: &AgentSession, entry: &str) -> Result<BTreeSet<String>, SessionError> {
    session.with_log(|log| {
        let is_prompt = prompt(&log.entry(entry)?).is_some();
        let destination = if is_prompt { log.parent_id(entry) } else { Some(entry) };
        let destination = destination.map(str::to_owned);
        let left = log.abandoned_entries(destination.as_deref())?;
        Ok(left.iter().filter_map(prompt).map(|prompt| prompt.entry).collect())
    })
}

/// Returns the prompt of a run: the last one before its end with the text of its label, since
/// messages of the user may have followed it during the run.
#[expect(clippy::cast_precision_loss, reason = "times in milliseconds fit")]
fn prompt_of<'p>(prompts: &'p [Prompt], time: i64, label: &str) -> Option<&'p Prompt> {
    let before = || prompts.iter().rev().filter(|prompt| prompt.time <= time as f64);
    let is_subject = |prompt: &&Prompt| !label.is_empty() && prompt.text.starts_with(label);
    before().find(is_subject).or_else(|| before().next())
}
