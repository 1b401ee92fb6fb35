//! The methods of the protocol.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use pi_base::lock;
use pi_coding_agent::{MergeQueue, Project, SessionSelector, WrapExecutor};
use pi_host::credentials::Credentials;
use pi_host::{Host, OpenError, OpenPlan};
use pi_jsonrpc::connection::BoxFuture;
use pi_jsonrpc::{Connection, Ended, Error, Id, Incoming, Limits, Service};
use pi_protocol::{CancelToken, StopCause};
use pi_tools::Executor;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::client::Client;
use crate::errors::{self, no_session};
use crate::events::Reporter;
use crate::executor::{ClientExecutor, Through};
use crate::options::Options;
use crate::params::{self, OpenSession};
use crate::session::{Answered, ClientParts, Session};
use crate::update::{Severity, State as Activity, Stop, Update};
use crate::wire::Version;
use crate::{config, content, handshake, mcp_servers, outbox, replay, store, wire};

/// Time for which requests are answered after the client has closed its end.
const DRAIN: Duration = Duration::from_secs(5);
/// Time that all sessions have to end.
const GRACE: Duration = Duration::from_secs(5);

/// Serves a client with the sessions of a host until it closes its end, or until `stop` resolves.
/// Then the sessions that no other client uses are closed, and their logs are complete.
pub async fn serve<R, W>(
    host: Host,
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
    let server = Arc::new(Server { host, options, connection, state });
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
    host: Host,
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
        for (session, update) in later.into_iter().flatten() {
            session.report(update);
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
        // A session that could neither be opened anew nor as it was, or that another client deleted.
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
            let host = self.host.clone();
            ending.spawn(async move { session.close(&host).await });
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
        let client = {
            let mut state = self.state();
            state.requests.remove(&id);
            state.client.clone()
        };
        if let Some(client) = client {
            // The response follows what was reported before.
            client.flush().await;
        }
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
                let mut params: OpenSession = params::read(params)?;
                params.session_id = None;
                let session = self.open(client, params, id).await?;
                let mut result = self.settings(&session)?;
                result["sessionId"] = session.id().into();
                Ok(result)
            }
            (Version::V1, "session/load") => {
                let session = self.open(client, params::read_earlier(params)?, id).await?;
                self.replay(&session)?;
                self.settings(&session)
            }
            (_, "session/resume") => self.resume(client, params::read_earlier(params)?, id).await,
            (_, "session/prompt") => self.prompt(params::read(params)?, cancel).await,
            (_, "session/list") => store::list(&self.host, params::read(params)?).await,
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
                match self.credentials().registry.available().is_empty() {
                    true => {
                        let hint = &self.options.sign_in_hint;
                        let problem = format!("no provider has credentials; {hint}");
                        Err(errors::auth_required(problem))
                    }
                    false => Ok(json!({})),
                }
            }
            (Version::V1, "logout") | (Version::V2, "auth/logout") => {
                let done = self.credentials().log_out().await;
                done.map(|()| json!({})).map_err(Error::internal)
            }
            (_, method) => Err(Error::method_not_found(method)),
        }
    }

    /// Reads the credentials as they are now.
    fn credentials(&self) -> Credentials {
        Credentials::open(&Project::open(self.host.environment().clone()))
    }

    fn initialize(&self, params: params::Initialize) -> Result<Value, Error> {
        let version = Version::negotiate(params.protocol_version);
        let name = params.client_name().map(store::one_line).filter(|name| !name.is_empty());
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
        let outbox = MergeQueue::default();
        tokio::spawn(outbox::drain(outbox.clone(), connection.clone(), version));
        state.client = Some(Client { connection, version, capabilities, name, outbox });
        Ok(response)
    }

    /// Opens a new session, or returns an earlier one, which is opened if it is not open. What the
    /// client is told about it follows the response to the request.
    async fn open(
        &self,
        client: Client,
        params: OpenSession,
        request: &Id,
    ) -> Result<Arc<Session>, Error> {
        let id = params.session_id.clone();
        if let Some(session) = id.as_deref().and_then(|id| self.session(id).ok()) {
            session.adopt(self.plan(&session.reporter, params)?).await?;
            self.follow(request, &session, Vec::new())?;
            return Ok(session);
        }
        let profiles = config::at_least(self.options.least_profile.as_deref());
        let parts = ClientParts::new(client, profiles);
        let plan = self.plan(&parts.reporter, params)?;
        let client = Some(parts.attaching());
        let entered = match &id {
            None => self.host.open(SessionSelector::New, plan.clone(), client).await,
            Some(id) => self.host.enter(id, plan.clone(), client).await,
        };
        let mut entered = entered.map_err(errors::open_error)?;
        let (notices, was_open) = (std::mem::take(&mut entered.notices), entered.was_open);
        let session = Arc::new(Session::new(parts, entered));
        self.state().sessions.insert(session.id().to_owned(), Arc::clone(&session));
        if was_open {
            // By another client.
            session.adopt(plan).await?;
        }
        self.follow(request, &session, notices)?;
        Ok(session)
    }

    /// Returns how a session of a request is to be opened.
    fn plan(&self, reporter: &Arc<Reporter>, params: OpenSession) -> Result<OpenPlan, Error> {
        let OpenSession { cwd, additional_directories, mcp_servers, .. } = params;
        let mut plan = OpenPlan::new(directory(&cwd)?);
        let additional_directories = additional_directories.iter().map(|one| directory(one));
        plan.additional_directories = additional_directories.collect::<Result<_, _>>()?;
        plan.mcp_servers = mcp_servers::read_all(mcp_servers)?;
        plan.wrap_executor = self.wrap_executor(reporter);
        Ok(plan)
    }

    /// Returns the wrapper of the executor; `None` if nothing goes through the client.
    fn wrap_executor(&self, reporter: &Arc<Reporter>) -> Option<WrapExecutor> {
        let client = reporter.client();
        let offered = &client.capabilities;
        let through = Through {
            reads: self.options.client_files && offered.fs.read_text_file,
            writes: self.options.client_files && offered.fs.write_text_file,
            commands: self.options.client_terminal && offered.terminal,
        };
        if !through.reads && !through.writes && !through.commands {
            return None;
        }
        let (client, reporter) = (client.clone(), Arc::clone(reporter));
        Some(Arc::new(move |inner: Arc<dyn Executor>| {
            let (client, reporter) = (client.clone(), Arc::clone(&reporter));
            Arc::new(ClientExecutor { inner, client, reporter, through }) as Arc<dyn Executor>
        }))
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
        if session.client().version == Version::V1 {
            later.push(Update::Commands(config::commands(&agent)));
        }
        // A new session has used nothing.
        if agent.message_count() > 0 {
            later.extend(session.reporter.usage());
        }
        let later = later.into_iter().map(|update| (Arc::clone(session), update)).collect();
        self.state().later.insert(request.clone(), later);
        Ok(())
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
        let session = self.open(client, params, id).await?;
        if replays {
            self.replay(&session)?;
        }
        let is_running = session.agent()?.is_streaming();
        let activity = if is_running { Activity::Running } else { Activity::Idle(None) };
        session.report(Update::State(activity));
        self.settings(&session)
    }

    fn replay(&self, session: &Session) -> Result<(), Error> {
        replay::replay(&session.reporter, &session.agent()?).map_err(Error::internal)
    }

    /// Returns what a client learns about a session that is open now.
    fn settings(&self, session: &Session) -> Result<Value, Error> {
        let (modes, options) = session.settings()?;
        Ok(match session.client().version {
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
        match (session.client().version, answered) {
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
            session.close(&self.host).await;
        }
    }

    async fn delete(&self, id: &str) -> Result<Value, Error> {
        self.close(id).await;
        match self.host.delete(id).await {
            // A session without a message has no file.
            Ok(()) | Err(OpenError::NotFound(_)) => Ok(json!({})),
            Err(error) => Err(errors::open_error(error)),
        }
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
