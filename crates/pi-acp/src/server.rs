//! The methods of the protocol.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use pi_base::lock;
use pi_coding_agent::SessionSelector;
use pi_jsonrpc::connection::BoxFuture;
use pi_jsonrpc::{Connection, Ended, Error, Id, Incoming, Limits, Service};
use pi_protocol::{CancelToken, StopCause};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::client::Client;
use crate::errors::{self, no_session};
use crate::executor::Through;
use crate::options::Options;
use crate::params::{self, OpenSession};
use crate::session::{Answered, OpenPlan, Session};
use crate::update::{Severity, State as Activity, Stop, Update};
use crate::wire::Version;
use crate::{config, content, handshake, mcp_servers, replay, store, wire};

/// Most sessions that are open at a time.
const SESSIONS: usize = 32;
/// Time for which requests are answered after the client has closed its end.
const DRAIN: Duration = Duration::from_secs(5);
/// Time that all sessions have to end.
const GRACE: Duration = Duration::from_secs(5);

/// Serves a client until it closes its end, or until `stop` resolves. Then all sessions are ended,
/// and their logs are complete.
pub async fn serve<R, W>(
    options: Options,
    reader: R,
    writer: W,
    stop: impl Future<Output = ()>,
) -> Ended
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let (connection, state) = (OnceLock::new(), Mutex::default());
    let server = Arc::new(Server { options, connection, state });
    let limits = Limits { drain: DRAIN, ..Limits::default() };
    let service = Arc::clone(&server) as Arc<dyn Service>;
    let (connection, running) = Connection::new(reader, writer, service, limits);
    // Set once, before the first message is read.
    let _ = server.connection.set(connection.clone());
    tokio::pin!(running);
    let ended = tokio::select! {
        ended = &mut running => ended,
        () = stop => {
            connection.close();
            // A client that does not read does not keep the program.
            let _ = tokio::time::timeout(GRACE, running).await;
            Ended::Closed
        }
    };
    server.end_sessions().await;
    ended
}

struct Server {
    options: Options,
    connection: OnceLock<Connection>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    client: Option<Client>,
    sessions: HashMap<String, Arc<Session>>,
    requests: HashMap<Id, OpenRequest>,
    /// Reports that follow the response to a request.
    later: HashMap<Id, Vec<(Arc<Session>, Update)>>,
}

/// A request without a response.
struct OpenRequest {
    cancel: CancelToken,
    /// The session, if the request is a prompt.
    prompts: Option<String>,
}

impl Service for Server {
    fn request(&self, request: Incoming) -> BoxFuture<'_, Result<Value, Error>> {
        Box::pin(self.answer(request))
    }

    fn received(&self, request: &Incoming) {
        let prompts = (request.method == "session/prompt").then(|| {
            let id = request.params.as_ref().and_then(|params| params["sessionId"].as_str());
            id.unwrap_or_default().to_owned()
        });
        let open = OpenRequest { cancel: CancelToken::new(), prompts };
        self.state().requests.insert(request.id.clone(), open);
    }

    fn answered(&self, id: &Id) {
        let later = self.state().later.remove(id);
        if let Some(later) = later {
            tokio::spawn(async move {
                for (session, update) in later {
                    session.report(update).await;
                }
            });
        }
    }

    fn notification(&self, method: &str, params: Option<Value>) {
        match method {
            "session/cancel" => {
                if let Ok(params) = params::read::<params::OfSession>(params) {
                    self.cancel_session(&params.session_id);
                }
            }
            "$/cancel_request" => {
                if let Ok(params) = params::read::<params::CancelRequest>(params) {
                    let state = self.state();
                    let open = state.requests.get(&params.request_id);
                    let cancel = open.map(|open| open.cancel.clone());
                    drop(state);
                    if let Some(cancel) = cancel {
                        cancel.cancel();
                    }
                }
            }
            // Notifications have no answer, so that an unknown one is ignored.
            _ => {}
        }
    }
}

impl Server {
    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    fn client(&self) -> Result<Client, Error> {
        self.state().client.clone().ok_or_else(|| {
            Error::new(Error::INVALID_REQUEST, "the first request must be `initialize`")
        })
    }

    fn session(&self, id: &str) -> Result<Arc<Session>, Error> {
        let mut state = self.state();
        // A session that could not be opened with another profile, nor with its own.
        if state.sessions.get(id).is_some_and(|session| session.is_closed()) {
            state.sessions.remove(id);
        }
        state.sessions.get(id).cloned().ok_or_else(|| no_session(id))
    }

    fn cancel_session(&self, id: &str) {
        let (session, prompts) = {
            let state = self.state();
            let prompts = state.requests.values();
            let prompts = prompts.filter(|open| open.prompts.as_deref() == Some(id));
            let prompts: Vec<CancelToken> = prompts.map(|open| open.cancel.clone()).collect();
            (state.sessions.get(id).cloned(), prompts)
        };
        for prompt in prompts {
            prompt.cancel();
        }
        if let Some(session) = session {
            session.cancel();
        }
    }

    async fn end_sessions(&self) {
        let sessions = std::mem::take(&mut self.state().sessions);
        let mut ending = tokio::task::JoinSet::new();
        for session in sessions.into_values() {
            ending.spawn(async move { session.close().await });
        }
        let all = async { while ending.join_next().await.is_some() {} };
        // What is left ends with the program.
        let _ = tokio::time::timeout(GRACE, all).await;
    }

    async fn answer(&self, request: Incoming) -> Result<Value, Error> {
        let Incoming { id, method, params } = request;
        let cancel = self.state().requests.get(&id).map(|open| open.cancel.clone());
        let cancel = cancel.unwrap_or_default();
        let answering = self.dispatch(&id, &method, params, &cancel);
        let result = if method == "session/prompt" {
            answering.await
        } else {
            tokio::select! {
                biased;
                () = cancel.cancelled() => {
                    Err(Error::new(errors::CANCELLED, "the request was cancelled"))
                }
                result = answering => result,
            }
        };
        self.state().requests.remove(&id);
        result
    }

    async fn dispatch(
        &self,
        id: &Id,
        method: &str,
        params: Option<Value>,
        cancel: &CancelToken,
    ) -> Result<Value, Error> {
        if method == "initialize" {
            return self.initialize(params::read(params)?);
        }
        let client = self.client()?;
        match (client.version, method) {
            (_, "session/new") => {
                let params: OpenSession = params::read(params)?;
                let session = self.open(client, params, SessionSelector::New, id).await?;
                let mut result = self.settings(&session)?;
                result["sessionId"] = session.id.clone().into();
                Ok(result)
            }
            (Version::V1, "session/load") => {
                let session = self.reopen(client, params::read(params)?, id).await?;
                self.replay(&session).await?;
                self.settings(&session)
            }
            (_, "session/resume") => self.resume(client, params::read(params)?, id).await,
            (_, "session/prompt") => self.prompt(params::read(params)?, cancel).await,
            (_, "session/list") => store::list(&self.options, params::read(params)?).await,
            (_, "session/delete") => {
                let params: params::OfSession = params::read(params)?;
                self.delete(&params.session_id).await
            }
            (_, "session/close") => {
                let params: params::OfSession = params::read(params)?;
                self.close(&params.session_id).await;
                Ok(json!({}))
            }
            (Version::V1, "session/set_mode") => {
                let params: params::SetMode = params::read(params)?;
                self.session(&params.session_id)?.set_profile(&params.mode_id).await?;
                Ok(json!({}))
            }
            (_, "session/set_config_option") => {
                let params: params::SetOption = params::read(params)?;
                let session = self.session(&params.session_id)?;
                let value = params.value.as_str();
                let value = value.ok_or_else(|| {
                    Error::invalid_params(format!("the value of {:?} is no text", params.config_id))
                })?;
                session.set(&params.config_id, value).await?;
                Ok(json!({ "configOptions": session.settings()?.1 }))
            }
            (Version::V1, "authenticate") | (Version::V2, "auth/login") => {
                let params: params::Authenticate = params::read(params)?;
                if params.method_id != handshake::STORED {
                    let problem = format!("{:?} cannot be asked for", params.method_id);
                    return Err(Error::invalid_params(problem));
                }
                let checked = (self.options.authenticate)().await;
                checked.map(|()| json!({})).map_err(errors::auth_required)
            }
            (Version::V1, "logout") | (Version::V2, "auth/logout") => {
                let done = (self.options.log_out)().await;
                done.map(|()| json!({})).map_err(Error::internal)
            }
            (_, method) => Err(Error::method_not_found(method)),
        }
    }

    fn initialize(&self, params: params::Initialize) -> Result<Value, Error> {
        let version = Version::negotiate(params.protocol_version);
        let capabilities = match version {
            Version::V1 => params.client_capabilities,
            Version::V2 => params.capabilities,
        };
        let response = handshake::response(version, &self.options, &capabilities);
        let connection = self.connection.get().cloned();
        let connection = connection.ok_or_else(|| Error::internal("not connected"))?;
        let mut state = self.state();
        if state.client.is_some() {
            return Err(Error::new(Error::INVALID_REQUEST, "initialized already"));
        }
        state.client = Some(Client { connection, version, capabilities });
        Ok(response)
    }

    /// Opens a session and makes it known. What the client is told about it follows the response
    /// to the request.
    async fn open(
        &self,
        client: Client,
        params: OpenSession,
        selector: SessionSelector,
        request: &Id,
    ) -> Result<Arc<Session>, Error> {
        if self.state().sessions.len() >= SESSIONS {
            let problem = format!("{SESSIONS} sessions are open; close one with session/close");
            return Err(Error::new(Error::INVALID_REQUEST, problem));
        }
        let plan = self.plan(&client, params)?;
        let (session, notices) = Session::open(client, plan, selector).await?;
        let session = Arc::new(session);
        self.state().sessions.insert(session.id.clone(), Arc::clone(&session));
        self.follow(request, &session, notices)?;
        Ok(session)
    }

    /// Returns how a session of a request is to be opened.
    fn plan(&self, client: &Client, params: OpenSession) -> Result<OpenPlan, Error> {
        let OpenSession { cwd, additional_directories, mcp_servers, .. } = params;
        let additional_directories = additional_directories.iter().map(|one| directory(one));
        let additional_directories = additional_directories.collect::<Result<_, _>>()?;
        let offered = &client.capabilities;
        Ok(OpenPlan {
            cwd: directory(&cwd)?,
            additional_directories,
            mcp_servers: mcp_servers::read_all(mcp_servers)?,
            profiles: config::at_least(self.options.least_profile.as_deref()),
            through: Through {
                reads: self.options.client_files && offered.fs.read_text_file,
                writes: self.options.client_files && offered.fs.write_text_file,
                commands: self.options.client_terminal && offered.terminal,
            },
            open: Arc::clone(&self.options.open),
        })
    }

    /// Keeps what the client is told about a session after the response to its request.
    fn follow(
        &self,
        request: &Id,
        session: &Arc<Session>,
        notices: Vec<String>,
    ) -> Result<(), Error> {
        let warning = |text| Update::Notice { severity: Severity::Warning, text };
        let mut later: Vec<Update> = notices.into_iter().map(warning).collect();
        let agent = session.agent()?;
        if session.client.version == Version::V1 {
            later.push(Update::Commands(config::commands(&agent)));
        }
        // A new session has used nothing.
        if agent.message_count() > 0 {
            later.extend(session.usage());
        }
        let later = later.into_iter().map(|update| (Arc::clone(session), update)).collect();
        self.state().later.insert(request.clone(), later);
        Ok(())
    }

    /// Returns an earlier session, which is opened if it is not open.
    async fn reopen(
        &self,
        client: Client,
        params: OpenSession,
        request: &Id,
    ) -> Result<Arc<Session>, Error> {
        let id = params.session_id.clone();
        let id = id.ok_or_else(|| Error::invalid_params("missing field `sessionId`"))?;
        if let Ok(session) = self.session(&id) {
            session.adopt(self.plan(&client, params)?).await?;
            self.follow(request, &session, Vec::new())?;
            return Ok(session);
        }
        let found = store::find(&self.options, &id).await?;
        let file = found.ok_or_else(|| {
            let problem = format!("there is no session {id:?}");
            errors::open_error(crate::options::OpenError::NotFound(problem))
        })?;
        let selector = SessionSelector::Existing(file.to_string_lossy().into_owned());
        self.open(client, params, selector, request).await
    }

    async fn resume(&self, client: Client, params: OpenSession, id: &Id) -> Result<Value, Error> {
        let version = client.version;
        let replays = match params.replay_from.as_ref().filter(|_| version == Version::V2) {
            None => false,
            Some(from) if from["type"] == "start" => true,
            Some(from) => {
                return Err(Error::invalid_params(format!("replayFrom: {from} is unknown")));
            }
        };
        let session = self.reopen(client, params, id).await?;
        if replays {
            self.replay(&session).await?;
        }
        let is_running = session.agent()?.is_streaming();
        let activity = if is_running { Activity::Running } else { Activity::Idle(None) };
        session.report(Update::State(activity)).await;
        self.settings(&session)
    }

    async fn replay(&self, session: &Session) -> Result<(), Error> {
        let replayed = replay::replay(&session.client, &session.id, &session.agent()?).await;
        replayed.map_err(Error::internal)
    }

    /// Returns what a client learns about a session that is open now.
    fn settings(&self, session: &Session) -> Result<Value, Error> {
        let (modes, options) = session.settings()?;
        Ok(match session.client.version {
            Version::V1 => json!({ "modes": modes, "configOptions": options }),
            Version::V2 => {
                let commands = config::commands(&session.agent()?);
                let commands = wire::v2::commands(commands);
                json!({ "configOptions": options, "availableCommands": commands })
            }
        })
    }

    async fn prompt(&self, params: params::Prompt, cancel: &CancelToken) -> Result<Value, Error> {
        let session = self.session(&params.session_id)?;
        let content = content::convert(params.prompt)?;
        let answered = session.prompt(content, cancel.clone()).await?;
        match (session.client.version, answered) {
            (_, Answered::Inserted(id)) => Ok(json!({ "messageId": id })),
            (Version::V1, Answered::Stopped(stop)) => Ok(json!({ "stopReason": stop.as_str() })),
            (Version::V2, Answered::Stopped(Stop::Cause(StopCause::Cancelled))) => {
                Err(Error::new(errors::CANCELLED, "the prompt was cancelled"))
            }
            (Version::V2, Answered::Stopped(stop)) => {
                let problem = format!("the prompt was not sent to the model: {}", stop.as_str());
                Err(Error::new(Error::INVALID_REQUEST, problem))
            }
        }
    }

    /// Ends a session. One that is not open is closed already.
    async fn close(&self, id: &str) {
        let open = self.state().sessions.remove(id);
        if let Some(session) = open {
            self.cancel_session(id);
            session.close().await;
        }
    }

    async fn delete(&self, id: &str) -> Result<Value, Error> {
        self.close(id).await;
        // A session without a message has no file.
        let Some(file) = store::find(&self.options, id).await? else {
            return Ok(json!({}));
        };
        let removed = (self.options.delete)(file).await;
        removed.map(|()| json!({})).map_err(Error::internal)
    }
}

/// Returns a directory of the client without links in its path: sessions are found by their
/// directories.
fn directory(path: &Path) -> Result<PathBuf, Error> {
    let found = path.is_absolute().then(|| path.canonicalize().ok()).flatten();
    found.filter(|found| found.is_dir()).ok_or_else(|| {
        let problem = format!("{} is not the absolute path of a directory", path.display());
        Error::invalid_params(problem)
    })
}
