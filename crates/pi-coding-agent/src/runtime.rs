//! The session in use, and others in its place: new, opened, forked, cloned.
//!
//! Every session is built by the same function, which knows all that does not change with it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use pi_agent::BoxFuture;
use pi_session::{ForkPosition, NewSession, Session, SessionError};

use crate::conversation::{ConversationError, open_existing};
use crate::extension::{BeforeFork, BeforeSwitch, Notice};
use crate::session::AgentSession;

/// Builds a session around a conversation.
pub type Build =
    Arc<dyn Fn(Session) -> BoxFuture<'static, Result<AgentSession, BuildError>> + Send + Sync>;

/// A session could not be built; the text says what to do.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct BuildError(pub String);

/// Why the session in use is still the same.
#[derive(Debug, thiserror::Error)]
pub enum ReplaceError {
    /// The other one cannot be read or written.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The other one cannot be gone on with.
    #[error(transparent)]
    Conversation(#[from] ConversationError),
    /// The other one cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// There is nothing to clone.
    #[error("Cannot clone session: no current entry selected")]
    NothingToClone,
    /// Only messages of the user can be written anew.
    #[error("Invalid entry ID for forking")]
    NotForkable,
}

/// Whether the session was replaced.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Replaced {
    /// An extension objected.
    pub cancelled: bool,
    /// The text of the message that a fork left out.
    pub text: Option<String>,
}

/// The session in use.
pub struct AgentRuntime {
    current: Mutex<AgentSession>,
    build: Build,
}

impl AgentRuntime {
    /// Begins with a session that was built already.
    pub async fn new(session: AgentSession, build: Build, reason: &str) -> Self {
        announce(&session, reason, None).await;
        Self { current: Mutex::new(session), build }
    }

    /// The session in use.
    pub fn session(&self) -> AgentSession {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Begins a new conversation.
    pub async fn new_session(&self, parent: Option<PathBuf>) -> Result<Replaced, ReplaceError> {
        let event = BeforeSwitch { reason: "new", target: None };
        if !self.may_switch(&event).await {
            return Ok(Replaced { cancelled: true, text: None });
        }
        let (cwd, directory) = self.session().with_entries(|entries| {
            (entries.cwd().to_owned(), entries.directory().map(Path::to_owned))
        });
        let conversation =
            Session::create(NewSession { cwd, directory, parent, ..NewSession::default() })?;
        self.replace(conversation, "new").await?;
        Ok(Replaced::default())
    }

    /// Continues another conversation.
    pub async fn switch_session(&self, path: &Path) -> Result<Replaced, ReplaceError> {
        let event = BeforeSwitch { reason: "resume", target: Some(path.to_owned()) };
        if !self.may_switch(&event).await {
            return Ok(Replaced { cancelled: true, text: None });
        }
        let current = self.session();
        if current.file().as_deref() == Some(path) {
            // The file is open already, and locked by us.
            return Ok(Replaced::default());
        }
        let cwd = current.with_entries(|entries| entries.cwd().to_owned());
        let conversation = open_existing(path, &cwd)?;
        self.replace(conversation, "resume").await?;
        Ok(Replaced::default())
    }

    /// Continues a copy of the conversation up to an entry.
    pub async fn fork(
        &self,
        entry: &str,
        position: ForkPosition,
    ) -> Result<Replaced, ReplaceError> {
        let name = match position {
            ForkPosition::Before => "before",
            ForkPosition::At => "at",
        };
        let event = BeforeFork { entry_id: entry.to_owned(), position: name };
        let session = self.session();
        if !session.extensions().may_fork(&event, &session.extension_context()).await {
            return Ok(Replaced { cancelled: true, text: None });
        }
        let fork = session.with_entries(|entries| entries.fork(entry, position));
        let fork = fork.map_err(|error| match error {
            SessionError::UnknownEntry(_) | SessionError::WrongKind { .. } => {
                ReplaceError::NotForkable
            }
            error => error.into(),
        })?;
        self.replace(fork.session, "fork").await?;
        Ok(Replaced { cancelled: false, text: fork.text })
    }

    /// Continues a copy of the current branch.
    pub async fn clone_session(&self) -> Result<Replaced, ReplaceError> {
        let leaf = self.session().with_entries(|entries| entries.leaf_id().map(str::to_owned));
        let leaf = leaf.ok_or(ReplaceError::NothingToClone)?;
        self.fork(&leaf, ForkPosition::At).await.map(|replaced| Replaced { text: None, ..replaced })
    }

    /// Ends: what is going on is aborted, extensions are told.
    pub async fn shut_down(&self) {
        let session = self.session();
        session.abort_bash();
        session.abort().await;
        let notice = Notice::SessionShutdown { reason: "quit", target: None };
        session.extensions().notice(&notice, &session.extension_context()).await;
    }

    async fn may_switch(&self, event: &BeforeSwitch) -> bool {
        let session = self.session();
        session.extensions().may_switch(event, &session.extension_context()).await
    }

    async fn replace(&self, conversation: Session, reason: &str) -> Result<(), ReplaceError> {
        let old = self.session();
        old.abort_bash();
        old.abort().await;
        let target = conversation.path().map(Path::to_owned);
        let previous = old.file();
        // Built before anything is given up: if that fails, the old session goes on.
        let new = (self.build)(conversation).await?;
        let notice = Notice::SessionShutdown { reason, target: target.as_deref() };
        old.extensions().notice(&notice, &old.extension_context()).await;
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = new.clone();
        announce(&new, reason, previous.as_deref()).await;
        Ok(())
    }
}

async fn announce(session: &AgentSession, reason: &str, previous: Option<&Path>) {
    let notice = Notice::SessionStart { reason, previous };
    session.extensions().notice(&notice, &session.extension_context()).await;
}

impl std::fmt::Debug for AgentRuntime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentRuntime").field("session", &self.session()).finish_non_exhaustive()
    }
}
