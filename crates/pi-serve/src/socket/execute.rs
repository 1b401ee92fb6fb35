//! The execution of the frames of a client: rights first, then the command, then its response.
//!
//! A command runs in a task of its own and ends its work when the client has gone. What changes
//! something or was refused is in the audit log.

use std::path::Path;
use std::sync::Arc;

use pi_coding_agent::session::Run;
use pi_host::{Hosted, OpenPlan};
use pi_rpc::{Command, Executed, PROTOCOL_VERSION, Request, Response, execute};
use pi_session::directory_from_text;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use super::command::{self, Head, Needs, ServerCommand};
use super::connection::Connection;
use crate::api::ApiError;
use crate::audit::{AuditOutcome, AuditRecord};
use crate::entrance::Right;

/// The data of a response.
pub(super) type Data = Option<Box<RawValue>>;

/// Returns data for a response.
pub(super) fn data(value: &impl Serialize) -> Result<Data, ApiError> {
    to_raw_value(value).map(Some).map_err(|error| ApiError::internal(error.to_string()))
}

impl Connection {
    /// Begins to execute a frame.
    pub(super) fn receive(this: &Arc<Self>, text: &str) {
        let head = Head::read(text);
        let (id, name) = (head.id.clone(), head.kind.clone());
        let Ok(permit) = Arc::clone(&this.running).try_acquire_owned() else {
            let error = "too many commands are running; wait for their responses";
            return this.outbox.send(&Response::new(id, name, Err(error.to_owned())));
        };
        let this = Arc::clone(this);
        if command::is_of_server(head.name()) {
            let command = serde_json::from_str::<ServerCommand>(text);
            tokio::spawn(async move {
                let result = match command {
                    Ok(command) => this.serve(&head, command).await,
                    Err(error) => {
                        let problem = format!("Invalid {} command: {error}", head.name());
                        Err(ApiError::bad_request("invalid_command", problem))
                    }
                };
                match result {
                    // Answered by what it led to.
                    Ok(None) => {}
                    Ok(Some(response)) => this.outbox.send(&response),
                    Err(error) => this.outbox.send(&Response::new(id, name, Err(error.message))),
                }
                drop(permit);
            });
            return;
        }
        match Request::parse(text) {
            Request::Unreadable(error) => {
                this.outbox.send(&Response::new(None, Some("parse".into()), Err(error)));
            }
            Request::UiResponse { id, fields } => {
                let allowed = this.require("extension_ui_response", Right::Approve, None);
                let answered = allowed.map_err(|error| error.message);
                let answered = answered.and_then(|()| this.questions.answer(&id, fields));
                this.audit("extension_ui_response", None, answered.is_ok());
                let name = Some(Value::from("extension_ui_response"));
                let answered = answered.map(|()| None);
                this.outbox.send(&Response::new(Some(id.into()), name, answered));
            }
            Request::Command { id, name, command } => {
                tokio::spawn(async move {
                    let run = this.perform(&head, id, name, command).await;
                    // The response is sent: the client may use its place for another command.
                    drop(permit);
                    if let Some((run, turn)) = run {
                        Box::pin(run.finish()).await;
                        drop(turn);
                    }
                });
            }
        }
    }

    /// Executes a command of RPC mode and sends its response. Returns the run that it started.
    async fn perform(
        &self,
        head: &Head,
        id: Option<Value>,
        name: Option<Value>,
        command: Result<Box<Command>, String>,
    ) -> Option<(Run, Option<tokio::sync::OwnedMutexGuard<()>>)> {
        let kind = head.name();
        let refuse = |error: ApiError| {
            self.outbox.send(&Response::new(id.clone(), name.clone(), Err(error.message)));
        };
        let command = match command {
            Ok(command) => command,
            Err(error) => {
                refuse(ApiError::bad_request("invalid_command", error));
                return None;
            }
        };
        if let Command::Hello { .. } = *command {
            self.outbox.send(&Response::new(id.clone(), name.clone(), Ok(self.hello())));
            return None;
        }
        let Needs { right, .. } = command::needs(&command);
        let hosted = match self.prepare(head, &command).await {
            Ok(hosted) => hosted,
            Err(error) => {
                refuse(error);
                return None;
            }
        };
        let session = hosted.log_id();
        let runtime = match hosted.runtime() {
            Ok(runtime) => runtime,
            Err(error) => {
                refuse(error.into());
                return None;
            }
        };
        // Held while the session works, so that it is not closed meanwhile.
        let turn = if right >= Right::Drive { hosted.try_turn() } else { None };
        let Executed { response, run } = execute(&runtime, id, name, Ok(command)).await;
        if right >= Right::Drive {
            self.audit(kind, Some(&session), response.is_success());
        }
        self.outbox.send(&response.of_session(hosted.log_id()));
        run.map(|run| (run, turn))
    }

    /// Checks a command and returns the session to which it applies.
    async fn prepare(&self, head: &Head, command: &Command) -> Result<Arc<Hosted>, ApiError> {
        let Needs { right, reaches_others } = command::needs(command);
        let kind = head.name();
        let named = head.session_id.as_ref().and_then(Value::as_str);
        let session = self.session_of(named).ok_or_else(|| {
            let problem = "no session is attached; attach to one, or name it with \"sessionId\"";
            ApiError::bad_request("no_session", problem)
        })?;
        self.require(kind, right, Some(&session))?;
        if reaches_others && self.identity.session.is_some() {
            self.audit(kind, Some(&session), false);
            let problem = format!("the token {:?} is for one session only", self.identity.name);
            return Err(ApiError::forbidden("one_session", problem));
        }
        let hosted = self.hosted(&session).await?;
        let path = match command {
            Command::SwitchSession { session_path } => Some(session_path.as_str()),
            Command::NewSession { parent_session } => parent_session.as_deref(),
            _ => None,
        };
        if let Some(path) = path {
            self.require_stored(&hosted, path).await?;
        }
        Ok(hosted)
    }

    /// Refuses a path that is none of a stored session: no path of a client is opened.
    async fn require_stored(&self, hosted: &Hosted, path: &str) -> Result<(), ApiError> {
        let wanted = hosted.session()?.workspace().resolve(path);
        let same = |known: &Path| {
            known == wanted || known.canonicalize().ok() == wanted.canonicalize().ok()
        };
        let stored = self.state.host.stored(None).await?;
        match stored.iter().any(|info| same(&info.path)) {
            true => Ok(()),
            false => Err(ApiError::no_session(path)),
        }
    }

    /// Returns a session that is open here, and opens it for a client that may drive it.
    pub(super) async fn hosted(&self, id: &str) -> Result<Arc<Hosted>, ApiError> {
        let host = &self.state.host;
        if let Some(hosted) = host.with_log(id) {
            return Ok(hosted);
        }
        let stored = host.find(id).await?;
        if host.is_elsewhere(&stored).await {
            let problem = format!("another program has the session {id:?} open");
            return Err(ApiError::conflict("elsewhere", format!("{problem}; take it over first")));
        }
        if self.identity.right < Right::Drive {
            let problem = format!("the session {id:?} is not open, and a view opens none");
            return Err(ApiError::conflict("not_open", problem));
        }
        let plan = OpenPlan::new(directory_from_text(&stored.cwd));
        Ok(host.enter_log(&stored, plan, None).await?.session)
    }

    /// Refuses what the token does not permit, and records it.
    pub(super) fn require(
        &self,
        command: &str,
        right: Right,
        session: Option<&str>,
    ) -> Result<(), ApiError> {
        let checked = self.identity.require(right);
        let checked = checked.and_then(|()| match session {
            Some(session) => self.identity.require_session(session),
            None => Ok(()),
        });
        if let Err(error) = &checked {
            let action = format!("rpc {command}");
            let record = AuditRecord::new(Some(&self.identity.name), self.peer, &action);
            let record = record.session(session).outcome(AuditOutcome::Refused, error.code);
            self.state.audit.record(&record);
        }
        checked
    }

    /// Records a command that changes something.
    pub(super) fn audit(&self, command: &str, session: Option<&str>, is_done: bool) {
        let action = format!("rpc {command}");
        let record = AuditRecord::new(Some(&self.identity.name), self.peer, &action);
        let mut record = record.session(session);
        if !is_done {
            record = record.outcome(AuditOutcome::Failed, "failed");
        }
        self.state.audit.record(&record);
    }

    fn hello(&self) -> Data {
        let mut commands = Command::names().to_vec();
        commands.extend(command::NAMES);
        let hello = json!({
            "name": "pi",
            "version": self.state.options.version,
            "protocolVersion": PROTOCOL_VERSION,
            "serverId": self.state.server_id,
            "commands": commands,
            "capabilities": ["list_sessions", "navigate_tree", "set_label", "validated_input", "attach"],
        });
        data(&hello).ok().flatten()
    }
}
