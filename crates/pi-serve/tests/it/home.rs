//! A user with a project, servers of their sessions, and clients of the sockets.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use pi_ai::faux::Faux;
use pi_coding_agent::extension::Extension;
use pi_coding_agent::{AgentOptions, CustomModel, Environment, create_agent_session};
use pi_host::ui_hub::Absence;
use pi_host::{Directories, Host, HostOptions, OpenError, Opened};
use pi_mcp::server::HttpHandler;
use pi_protocol::CancelToken;
use pi_serve::entrance::Right;
use pi_serve::entrance::tokens::NewToken;
use pi_serve::{ServeOptions, Server};
use pi_web::client::WebClient;
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::client::{self, Receiver, Sender};

/// A wait that no test should reach.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

/// The files of a user, and the model.
pub(crate) struct Home {
    pub(crate) directory: tempfile::TempDir,
    pub(crate) model: Faux,
    /// The profile of the sessions.
    pub(crate) profile: Option<&'static str>,
    pub(crate) extensions: Vec<Arc<dyn Extension>>,
    pub(crate) acp: Option<pi_acp::Options>,
    pub(crate) mcp: Option<HttpHandler>,
    /// Runs are bracketed by checkpoints.
    pub(crate) checkpoints: bool,
}

impl Home {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        for name in ["project", "agent"] {
            std::fs::create_dir_all(directory.path().join(name)).unwrap();
        }
        Self {
            directory,
            model: Faux::new(),
            profile: None,
            extensions: Vec::new(),
            acp: None,
            mcp: None,
            checkpoints: false,
        }
    }

    fn root(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap()
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.root().join("project")
    }

    pub(crate) fn agent(&self) -> PathBuf {
        self.root().join("agent")
    }

    pub(crate) fn host(&self) -> Host {
        let path = std::env::var_os("PATH").unwrap().into_string().unwrap();
        let environment = Environment {
            system_directory: None,
            cwd: self.project(),
            home: Some(self.root()),
            agent_directory: self.agent(),
            variables: Arc::new([("PATH".to_owned(), path)].into()),
        };
        let mut base = AgentOptions::new(environment.clone());
        base.guard.checkpoints = self.checkpoints;
        base.extensions.own.clone_from(&self.extensions);
        base.model.custom =
            Some(CustomModel::new(Arc::new(self.model.clone()), Arc::new(Faux::model())));
        if let Some(profile) = self.profile {
            let settings = json!({ "guard": { "profile": profile } });
            base.project.set_overrides(settings.as_object().unwrap().clone());
        }
        let opener = move |request: pi_host::OpenRequest| {
            let mut options = base.clone();
            request.apply(&mut options);
            let opening = async move {
                let created = create_agent_session(options).await;
                let created = created.map_err(|error| OpenError::Failed(error.to_string()))?;
                Ok(Opened { runtime: created.runtime, notices: Vec::new() })
            };
            Box::pin(opening) as _
        };
        let mut options = HostOptions::new(Arc::new(opener), environment);
        options.absence = Absence::Wait;
        Host::new(options)
    }

    /// Starts a server of the sessions of this user.
    pub(crate) async fn serve(&self) -> TestServer {
        let directories = Directories::new(&[self.project()]).unwrap();
        let mut options = ServeOptions::new("1.2.3", self.agent().join("serve"), directories);
        (options.acp, options.mcp) = (self.acp.clone(), self.mcp.clone());
        let host = self.host();
        let server = Server::new(host.clone(), options).unwrap();
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancelToken::new();
        let (serving, stopping) = (server.clone(), stop.clone());
        let serving = tokio::spawn(async move {
            serving.serve(listener, None, stopping).await.unwrap();
        });
        TestServer { address, server, host, stop, serving }
    }
}

/// A running server.
pub(crate) struct TestServer {
    pub(crate) address: SocketAddr,
    pub(crate) server: Server,
    pub(crate) host: Host,
    stop: CancelToken,
    serving: JoinHandle<()>,
}

impl TestServer {
    /// Adds a token.
    pub(crate) fn token(&self, name: &str, right: Right, session: Option<&str>) -> String {
        let mut new = NewToken::new(name, right);
        new.session = session.map(str::to_owned);
        self.server.state().tokens.add(new).unwrap().expose_secret().to_owned()
    }

    /// Connects with a token.
    pub(crate) async fn client(&self, token: &str) -> Client {
        Client::connect(self.address, token).await.unwrap()
    }

    /// Connects with a new token.
    pub(crate) async fn client_with(&self, name: &str, right: Right) -> Client {
        self.client(&self.token(name, right, None)).await
    }

    /// Ends the server and its sessions.
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        self.serving.await.unwrap();
        for session in self.host.open_sessions() {
            self.host.close_session(&session).await;
        }
    }

    pub(crate) fn audit(&self) -> Vec<Value> {
        let path = self.server.state().options.directory.join("audit.jsonl");
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// A client of a socket.
pub(crate) struct Client {
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    /// Frames that came while a response was awaited.
    pub(crate) frames: VecDeque<Value>,
    next: u64,
}

impl Client {
    pub(crate) async fn connect(
        address: SocketAddr,
        token: &str,
    ) -> Result<Self, client::ClientError> {
        let web = WebClient::new(Arc::new(|_: &str| None));
        let (sender, receiver) = client::connect(&web, &format!("http://{address}"), token).await?;
        Ok(Self { sender, receiver, frames: VecDeque::new(), next: 0 })
    }

    /// Sends a command and returns its response.
    pub(crate) async fn request(&mut self, mut command: Value) -> Value {
        self.next += 1;
        let id = command["id"].as_str().map_or_else(|| format!("r{}", self.next), str::to_owned);
        command["id"] = id.clone().into();
        self.sender.send(&command).await.unwrap();
        loop {
            let frame = self.receive().await;
            if frame["type"] == "response" && frame["id"] == id.as_str() {
                return frame;
            }
            self.frames.push_back(frame);
        }
    }

    /// Sends a command that succeeds, and returns its data.
    pub(crate) async fn ask(&mut self, command: Value) -> Value {
        let mut response = self.request(command).await;
        assert_eq!(response["success"], true, "{response}");
        response["data"].take()
    }

    /// Returns the next frame that fits; those before it are dropped.
    pub(crate) async fn until(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        loop {
            let frame = match self.frames.pop_front() {
                Some(frame) => frame,
                None => self.receive().await,
            };
            if fits(&frame) {
                return frame;
            }
        }
    }

    pub(crate) async fn receive(&mut self) -> Value {
        let frame = tokio::time::timeout(LIMIT, self.receiver.next()).await.unwrap();
        frame.unwrap().unwrap()
    }

    /// Opens a session and attaches to it.
    pub(crate) async fn open(&mut self) -> String {
        let data = self.ask(json!({ "type": "open_session" })).await;
        let id = data["sessionId"].as_str().unwrap().to_owned();
        self.ask(json!({ "type": "attach", "sessionId": id })).await;
        id
    }

    /// Sends a prompt and waits until the session is settled.
    pub(crate) async fn prompt(&mut self, session: &str, text: &str) {
        let prompt = json!({ "type": "prompt", "message": text, "sessionId": session });
        self.ask(prompt).await;
        self.settled().await;
    }

    /// Waits until the session is settled. A client that was too slow for the event gets the state
    /// after it was told so.
    pub(crate) async fn settled(&mut self) {
        let mut is_late = false;
        loop {
            let fits = |frame: &Value| {
                let kind = |frame: &Value| frame["type"].as_str().map(str::to_owned);
                [kind(frame), kind(&frame["event"])].iter().flatten().any(|kind| {
                    ["agent_settled", "lagged", "session_state"].contains(&kind.as_str())
                })
            };
            let frame = self.until(fits).await;
            match frame["type"].as_str() {
                Some("lagged") => is_late = true,
                Some("session_state") if !is_late || frame["isStreaming"] == true => {}
                _ => return,
            }
        }
    }
}

/// Returns the lines of the entries of a session file.
pub(crate) fn entries(file: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(file).unwrap();
    text.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What a client knows of a session.
#[derive(Debug, Default)]
pub(crate) struct View {
    pub(crate) session: String,
    pub(crate) entries: Vec<Value>,
    /// The text of the message in flight, if the view has seen its start.
    pub(crate) flight: Option<String>,
    /// Number of messages that were seen from their start to their end.
    pub(crate) whole: usize,
    pub(crate) lags: usize,
}

impl View {
    pub(crate) fn of(session: &str) -> Self {
        Self { session: session.to_owned(), ..Self::default() }
    }

    /// Takes a frame. Every entry comes once and in order, every text as a whole.
    pub(crate) fn take(&mut self, frame: &Value) {
        if frame["type"] != "heartbeat" {
            assert_eq!(frame["sessionId"], self.session.as_str(), "{frame}");
        }
        match frame["type"].as_str().unwrap() {
            "entry" => {
                assert_eq!(frame["seq"], self.entries.len() as u64, "no gap and no duplicate");
                self.entries.push(frame["entry"].clone());
            }
            "lagged" => {
                self.flight = None;
                self.lags += 1;
            }
            "event" => self.event(&frame["event"]),
            "replaced" => *self = Self::of(frame["newId"].as_str().unwrap()),
            _ => {}
        }
    }

    fn event(&mut self, event: &Value) {
        match event["type"].as_str().unwrap() {
            "message_start" => self.flight = Some(String::new()),
            "message_update" => {
                let update = &event["assistantMessageEvent"];
                if let Some(text) = self.flight.as_mut().filter(|_| update["type"] == "text_delta")
                {
                    text.push_str(update["delta"].as_str().unwrap());
                }
            }
            "message_end" if event["message"]["role"] == "assistant" => {
                if let Some(text) = self.flight.take() {
                    let blocks = event["message"]["content"].as_array().unwrap();
                    let whole: String =
                        blocks.iter().filter_map(|one| one["text"].as_str()).collect();
                    assert_eq!(text, whole, "no character is lost or doubled");
                    self.whole += 1;
                }
            }
            _ => {}
        }
    }

    /// Returns the command with which the client continues.
    pub(crate) fn attach(&self) -> Value {
        let mut attach = json!({ "type": "attach", "sessionId": self.session });
        if let Some(last) = self.entries.len().checked_sub(1) {
            attach["since"] = last.into();
        }
        attach
    }
}
