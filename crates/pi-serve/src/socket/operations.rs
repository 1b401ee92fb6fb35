//! The commands of the server: following sessions, opening and taking them over, approvals, undo.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::{BoxStream, unfold};
use pi_coding_agent::SessionSelector;
use pi_coding_agent::session::Navigation;
use pi_config::checkpoints::checkpoint_directory;
use pi_host::undo::{RewindScope, plan_rewind, plan_undo, rewind};
use pi_host::{Entered, OpenPlan};
use pi_rpc::{Command, Executed, Response, execute};
use pi_session::directory_from_text;
use serde_json::{Value, json};

use super::command::{Head, Moved, ServerCommand, View};
use super::connection::{Connection, FOLLOWED};
use super::execute::{Data, data};
use crate::api::ApiError;
use crate::api::sessions::open_questions;
use crate::attached::{Ask, Attached, Form, From, Place};
use crate::items;

/// The time that another program has to give a session up.
const PATIENCE: Duration = Duration::from_secs(10);

impl Connection {
    /// Executes a command of the server. Returns its response, unless it needs none.
    pub(super) async fn serve(
        self: &Arc<Self>,
        head: &Head,
        command: ServerCommand,
    ) -> Result<Option<Response>, ApiError> {
        let kind = head.name();
        let session = match &command {
            ServerCommand::Attach { session_id, .. } | ServerCommand::TakeOver { session_id } => {
                Some(session_id.clone())
            }
            ServerCommand::Undo { session_id, .. } => self.session_of(session_id.as_deref()),
            _ => None,
        };
        self.require(kind, command.right(), session.as_deref())?;
        let respond = |data: Data| Response::new(head.id.clone(), head.kind.clone(), Ok(data));
        Ok(Some(match command {
            ServerCommand::Attach { .. } => {
                self.attach(head, command).await?;
                return Ok(None);
            }
            ServerCommand::Detach { session_id } => match self.leave(&session_id) {
                true => respond(None).of_session(session_id),
                false => {
                    let problem = format!("the session {session_id:?} is not attached");
                    return Err(ApiError::bad_request("not_attached", problem));
                }
            },
            ServerCommand::OpenSession { cwd, name } => {
                let opened = self.open_session(cwd.as_deref(), name.as_deref()).await;
                let id = opened.as_ref().ok().map(|entered| entered.session.log_id());
                self.audit(kind, id.as_deref(), opened.is_ok());
                respond(self.opened(&opened?)?)
            }
            ServerCommand::TakeOver { session_id } => {
                let taken = self.take_over(&session_id).await;
                self.audit(kind, Some(&session_id), taken.is_ok());
                respond(self.opened(&taken?)?)
            }
            ServerCommand::ListNeedsYou => {
                let questions = open_questions(&self.state, &self.identity).await;
                respond(data(&json!({ "questions": questions }))?)
            }
            ServerCommand::ApprovalResponse { decision, reason } => {
                let id = head.id.as_ref().and_then(Value::as_str).unwrap_or_default();
                let decided = self.questions.decide(id, decision, reason);
                self.audit(kind, None, decided.is_ok());
                decided.map_err(|problem| ApiError::conflict("answered", problem))?;
                respond(None)
            }
            ServerCommand::Undo { what, entry_id, .. } => {
                let session = session
                    .ok_or_else(|| ApiError::bad_request("no_session", "no session is attached"))?;
                let undone = self.undo(&session, what, entry_id.as_deref()).await;
                self.audit(kind, Some(&session), undone.is_ok());
                respond(undone?).of_session(session)
            }
            ServerCommand::WatchLists => {
                self.outbox.push(super::outbox::Out::Follow(self.list_changes()));
                respond(None)
            }
            ServerCommand::Heartbeat => {
                let heartbeat = items::heartbeat(&self.state.server_id);
                self.outbox.push(super::outbox::Out::Frame(heartbeat));
                return Ok(None);
            }
        }))
    }

    async fn attach(self: &Arc<Self>, head: &Head, command: ServerCommand) -> Result<(), ApiError> {
        let ServerCommand::Attach { session_id, since, view, approvals, plain, feed } = command
        else {
            return Ok(());
        };
        if self.followed() >= FOLLOWED {
            let problem = format!("{FOLLOWED} sessions are attached; detach from one first");
            return Err(ApiError::conflict("too_many_sessions", problem));
        }
        let form = match (feed, plain) {
            (false, _) => Form::Quiet,
            (true, true) => Form::Plain,
            (true, false) => Form::Full { html: view == Some(View::Html) },
        };
        let from = since.map_or(From::Beginning, From::After);
        let ask = approvals.then(|| {
            let (questions, name) = (Arc::clone(&self.questions), self.identity.name.clone());
            Box::new(move |session: &_| questions.attach(session, &name)) as Ask
        });
        // The questions of an earlier wish close before those of this one are shown.
        self.leave(&session_id);
        let attached =
            Attached::open(&self.state, &self.identity, &session_id, from, form, ask).await?;
        let place = attached.place();
        let answer = json!({
            "sessionId": session_id,
            "length": attached.length(),
            "place": place.as_str(),
            "elsewhere": place == Place::Elsewhere,
            "leafId": self.leaf_of(&session_id),
            "state": self.state_of(&session_id).await,
        });
        let response = Response::new(head.id.clone(), head.kind.clone(), Ok(data(&answer)?));
        // The items follow the response.
        self.outbox.send(&response.of_session(session_id.as_str()));
        self.follow(&session_id, attached);
        Ok(())
    }

    /// Returns the frames that say that a list has changed, as far as the client may see it.
    fn list_changes(&self) -> BoxStream<'static, String> {
        let watching = (self.state.lists.subscribe(), self.identity.clone());
        let changes = unfold(watching, |(mut lists, identity)| async move {
            loop {
                let changes = lists.next().await;
                let mut ids = changes.changed.iter().map(|one| &one.id).chain(&changes.removed);
                if ids.any(|id| identity.reaches(id)) {
                    return Some((items::lists_changed(), (lists, identity)));
                }
            }
        });
        changes.boxed()
    }

    /// Returns the end of the current branch of a session that is open here.
    fn leaf_of(&self, id: &str) -> Option<String> {
        let (_, session) = self.state.live(id)?;
        session.with_log(|log| log.leaf_id().map(str::to_owned))
    }

    /// Returns the data of `get_state` of a session that is open here.
    async fn state_of(&self, id: &str) -> Value {
        let Some(runtime) = self.state.host.with_log(id).and_then(|one| one.runtime().ok()) else {
            return Value::Null;
        };
        let command = Ok(Box::new(Command::GetState));
        let Executed { response, .. } = execute(&runtime, None, None, command).await;
        let mut response = serde_json::to_value(response).unwrap_or_default();
        response["data"].take()
    }

    async fn open_session(
        &self,
        cwd: Option<&str>,
        name: Option<&str>,
    ) -> Result<Entered, ApiError> {
        let state = &self.state;
        if self.identity.session.is_some() {
            let problem = format!("the token {:?} is for one session only", self.identity.name);
            return Err(ApiError::forbidden("one_session", problem));
        }
        let directory = state.options.directories.choose(cwd, state.host.environment());
        let directory =
            directory.map_err(|error| ApiError::forbidden("directory", error.to_string()))?;
        let entered = state.host.open(SessionSelector::New, OpenPlan::new(directory), None).await?;
        if let Some(name) = name.map(str::trim).filter(|name| !name.is_empty()) {
            let named = entered.session.session()?.set_name(name).await;
            named.map_err(|error| ApiError::internal(error.to_string()))?;
        }
        Ok(entered)
    }

    async fn take_over(&self, id: &str) -> Result<Entered, ApiError> {
        let host = &self.state.host;
        let stored = host.find(id).await?;
        let plan = OpenPlan::new(directory_from_text(&stored.cwd));
        Ok(host.take_over(id, plan, None, PATIENCE).await?)
    }

    fn opened(&self, entered: &Entered) -> Result<Data, ApiError> {
        let session = entered.session.session()?;
        data(&json!({
            "sessionId": session.id(),
            "sessionFile": session.file(),
            "cwd": session.workspace().cwd(),
            "notices": entered.notices,
        }))
    }

    async fn undo(&self, id: &str, what: Moved, entry: Option<&str>) -> Result<Data, ApiError> {
        let failed = |error: &dyn std::fmt::Display| ApiError::conflict("undo", error.to_string());
        let hosted = self.hosted(id).await?;
        let (session, turn) = (hosted.session()?, hosted.try_turn());
        let Some(_turn) = turn.filter(|_| !session.is_streaming()) else {
            return Err(ApiError::conflict("busy", "the session is running; abort the run first"));
        };
        let agent = &self.state.host.environment().agent_directory;
        let store = checkpoint_directory(agent, &session.id());
        let planning = (session.clone(), entry.map(str::to_owned));
        let planned = tokio::task::spawn_blocking(move || match planning {
            (session, Some(entry)) => plan_rewind(&session, &store, &entry),
            (session, None) => plan_undo(&session, &store),
        });
        let plan = planned.await.map_err(|error| failed(&error))?;
        let plan = plan.map_err(|error| failed(&error))?;
        let scope = match what {
            Moved::Files => RewindScope::Files,
            Moved::Conversation => RewindScope::Conversation,
            Moved::Both => RewindScope::Both,
        };
        let moved = rewind(&session, plan, scope, Navigation::default()).await;
        let moved = moved.map_err(|error| failed(&error))?;
        let restored = moved.restored.files.iter();
        let restored: Vec<Value> =
            restored.map(|one| json!({ "path": one.path, "verb": one.verb })).collect();
        let conflicts = moved.restored.conflicts.iter();
        let conflicts: Vec<Value> = conflicts
            .map(|one| json!({ "path": one.path, "reason": one.reason.to_string() }))
            .collect();
        data(&json!({
            "cancelled": moved.navigation.cancelled,
            "text": moved.navigation.text,
            "restored": restored,
            "conflicts": conflicts,
        }))
    }
}
