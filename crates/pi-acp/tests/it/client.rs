//! A client for tests: it sends requests, answers those of the agent, and keeps all it has seen.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pi_acp::{Options, serve};
use pi_ai::faux::Faux;
use pi_coding_agent::extension::Extension;
use pi_coding_agent::{AgentOptions, CustomModel, Environment, create_agent_session};
use pi_host::{Host, HostOptions, OpenError, OpenRequest, Opened};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};
use tokio::task::JoinHandle;

use crate::schema;

/// A wait that no test should reach.
const LIMIT: Duration = Duration::from_secs(120);

/// A home directory, a project and a scripted model.
pub(crate) struct Stage {
    pub(crate) directory: tempfile::TempDir,
    pub(crate) model: Faux,
    pub(crate) least_profile: Option<String>,
    pub(crate) client_terminal: bool,
    pub(crate) extensions: Vec<Arc<dyn Extension>>,
    /// Settings of the user.
    pub(crate) settings: Map<String, Value>,
    /// The models are those of the files of the user, not the scripted one.
    pub(crate) real_models: bool,
    /// Errors with which the next sessions are refused; `None` opens one.
    pub(crate) refusals: Arc<Mutex<VecDeque<Option<OpenError>>>>,
    /// No session is opened while this is locked.
    pub(crate) gate: Arc<tokio::sync::Mutex<()>>,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(directory.path().join("project")).unwrap();
        std::fs::create_dir_all(directory.path().join("agent")).unwrap();
        Self {
            directory,
            model: Faux::new(),
            least_profile: None,
            client_terminal: false,
            extensions: Vec::new(),
            settings: Map::new(),
            real_models: false,
            refusals: Arc::default(),
            gate: Arc::default(),
        }
    }

    /// A stage on which the program asks for the profile `careful`.
    pub(crate) fn careful() -> Self {
        Self { least_profile: Some("careful".to_owned()), ..Self::new() }
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join("project")
    }

    pub(crate) fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.project().join(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn agent_directory(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join("agent")
    }

    /// Makes a host, for one or more connections.
    pub(crate) fn host(&self) -> Host {
        let path = std::env::var_os("PATH").unwrap().into_string().unwrap();
        let environment = Environment {
            system_directory: None,
            cwd: self.project(),
            home: Some(self.directory.path().to_owned()),
            agent_directory: self.agent_directory(),
            variables: Arc::new([("PATH".to_owned(), path)].into()),
        };
        let mut base = AgentOptions::new(environment.clone());
        base.extensions.builtins.push(pi_mcp_host::builtin());
        base.guard.checkpoints = false;
        base.extensions.own.clone_from(&self.extensions);
        let mut settings = self.settings.clone();
        if !self.real_models {
            let model = Arc::new(self.model.clone());
            base.model.custom = Some(CustomModel::new(model, Arc::new(Faux::model())));
        }
        if let Some(profile) = &self.least_profile {
            settings.insert("guard".to_owned(), json!({ "profile": profile }));
        }
        base.project.set_overrides(settings);
        let (refusals, gate) = (Arc::clone(&self.refusals), Arc::clone(&self.gate));
        let opener = move |request| {
            let (options, gate, refusals) = (base.clone(), Arc::clone(&gate), refusals.clone());
            let opening = async move {
                let _open = gate.lock().await;
                let refused = refusals.lock().unwrap().pop_front().flatten();
                match refused {
                    Some(error) => Err(error),
                    None => open(options, request).await,
                }
            };
            Box::pin(opening) as _
        };
        Host::new(HostOptions::new(Arc::new(opener), environment))
    }

    fn options(&self) -> Options {
        Options {
            version: "1.2.3".to_owned(),
            least_profile: self.least_profile.clone(),
            client_files: true,
            client_terminal: self.client_terminal,
            sign_in_arguments: vec!["--login".to_owned()],
            sign_in_hint: "set a key".to_owned(),
        }
    }

    /// Starts the agent and connects a client, without `initialize`.
    pub(crate) fn connect(&self, version: u64) -> Client {
        self.connect_to(self.host(), version)
    }

    fn connect_to(&self, host: Host, version: u64) -> Client {
        let (near, far) = tokio::io::duplex(1 << 16);
        let (input, output) = tokio::io::split(far);
        let stop = std::future::pending();
        let serving = tokio::spawn(serve(host, self.options(), input, output, stop));
        let (reader, writer) = tokio::io::split(near);
        Client {
            version,
            reader: BufReader::new(reader),
            writer: Some(writer),
            serving,
            next: 1,
            methods: HashMap::new(),
            frames: Vec::new(),
            choice: "once".to_owned(),
            buffers: HashMap::new(),
            written: Vec::new(),
            responses: HashMap::new(),
            silent: Vec::new(),
        }
    }

    /// Starts the agent and connects a client that has initialized it.
    pub(crate) async fn client(&self, version: u64, capabilities: Value) -> Client {
        let mut client = self.connect(version);
        let params = match version {
            1 => json!({ "protocolVersion": 1, "clientCapabilities": capabilities }),
            _ => json!({
                "protocolVersion": version,
                "info": { "name": "test", "version": "1" },
                "capabilities": capabilities,
            }),
        };
        let answer = client.call("initialize", params).await.unwrap();
        assert_eq!(answer["protocolVersion"], version);
        client
    }

    /// Connects a client of version 1 with a name to a host.
    pub(crate) async fn client_of(&self, host: &Host, name: &str, capabilities: Value) -> Client {
        let mut client = self.connect_to(host.clone(), 1);
        let params = json!({
            "protocolVersion": 1,
            "clientInfo": { "name": name, "version": "1" },
            "clientCapabilities": capabilities,
        });
        client.call("initialize", params).await.unwrap();
        client
    }
}

async fn open(mut options: AgentOptions, request: OpenRequest) -> Result<Opened, OpenError> {
    request.apply(&mut options);
    let created = create_agent_session(options).await;
    let created = created.map_err(|error| OpenError::Failed(error.to_string()))?;
    Ok(Opened { runtime: created.runtime, notices: Vec::new() })
}

/// A client.
pub(crate) struct Client {
    version: u64,
    reader: BufReader<tokio::io::ReadHalf<DuplexStream>>,
    writer: Option<tokio::io::WriteHalf<DuplexStream>>,
    serving: JoinHandle<pi_acp::Ended>,
    next: i64,
    methods: HashMap<i64, String>,
    /// All messages of the agent.
    pub(crate) frames: Vec<Value>,
    /// Id of the option with which requests for permission are answered.
    pub(crate) choice: String,
    /// Unsaved texts, by path.
    pub(crate) buffers: HashMap<String, String>,
    /// Files that the agent wrote: path and content.
    pub(crate) written: Vec<(String, String)>,
    responses: HashMap<i64, Result<Value, Value>>,
    /// Methods of the agent that are not answered.
    pub(crate) silent: Vec<&'static str>,
}

impl Client {
    pub(crate) async fn send_line(&mut self, line: &str) {
        let writer = self.writer.as_mut().unwrap();
        writer.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    /// Sends a request and returns its id.
    pub(crate) async fn start(&mut self, method: &str, params: Value) -> i64 {
        let id = self.next;
        self.next += 1;
        self.methods.insert(id, method.to_owned());
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.send_line(&message.to_string()).await;
        id
    }

    pub(crate) async fn notify(&mut self, method: &str, params: Value) {
        let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        self.send_line(&message.to_string()).await;
    }

    /// Sends a request and waits for its response.
    pub(crate) async fn call(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        let id = self.start(method, params).await;
        self.response(id).await
    }

    /// Waits for a response.
    pub(crate) async fn response(&mut self, id: i64) -> Result<Value, Value> {
        loop {
            if let Some(response) = self.responses.remove(&id) {
                return response;
            }
            assert!(self.step().await, "the agent closed the connection");
        }
    }

    /// Waits until a message of the agent fits.
    pub(crate) async fn until(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        let mut from = 0;
        loop {
            if let Some(found) = self.frames[from..].iter().find(|frame| fits(frame)) {
                return found.clone();
            }
            from = self.frames.len();
            assert!(self.step().await, "the agent closed the connection");
        }
    }

    /// Closes this end and reads the rest. Returns why the server ended.
    pub(crate) async fn close(mut self) -> (pi_acp::Ended, Vec<Value>) {
        let mut writer = self.writer.take().unwrap();
        writer.shutdown().await.unwrap();
        while self.step().await {}
        let ended = tokio::time::timeout(LIMIT, &mut self.serving).await.unwrap().unwrap();
        (ended, self.frames)
    }

    /// Reads one message and answers it; false at the end.
    pub(crate) async fn step(&mut self) -> bool {
        let mut line = String::new();
        let read = tokio::time::timeout(LIMIT, self.reader.read_line(&mut line)).await;
        if read.expect("no message in time").unwrap() == 0 {
            return false;
        }
        let frame: Value = serde_json::from_str(&line).unwrap();
        self.receive(&frame).await;
        self.frames.push(frame);
        true
    }

    async fn receive(&mut self, frame: &Value) {
        assert_eq!(frame["jsonrpc"], "2.0");
        let Some(method) = frame["method"].as_str() else {
            let response = match frame.get("error") {
                Some(error) => {
                    schema::check_error(self.version, error);
                    Err(error.clone())
                }
                None => Ok(frame["result"].clone()),
            };
            if let Some(id) = frame["id"].as_i64() {
                let method = self.methods.remove(&id).expect("a response to no request");
                if let Ok(result) = &response {
                    schema::check_result(self.version, &method, result);
                }
                self.responses.insert(id, response);
            }
            return;
        };
        let params = &frame["params"];
        schema::check_params(self.version, method, params);
        if frame.get("id").is_some() && !self.silent.contains(&method) {
            let answer = match self.answer(method, params) {
                Ok(result) => json!({ "jsonrpc": "2.0", "id": frame["id"], "result": result }),
                Err(text) => {
                    let error = json!({ "code": -32603, "message": text });
                    json!({ "jsonrpc": "2.0", "id": frame["id"], "error": error })
                }
            };
            if self.writer.is_some() {
                self.send_line(&answer.to_string()).await;
            }
        }
    }

    fn answer(&mut self, method: &str, params: &Value) -> Result<Value, String> {
        let path = || params["path"].as_str().unwrap().to_owned();
        match method {
            "session/request_permission" => {
                let options = params["options"].as_array().unwrap();
                let chosen = options.iter().any(|option| option["optionId"] == *self.choice);
                Ok(match chosen {
                    true => {
                        json!({ "outcome": { "outcome": "selected", "optionId": self.choice } })
                    }
                    false => json!({ "outcome": { "outcome": "cancelled" } }),
                })
            }
            "fs/read_text_file" => match self.buffers.get(&path()) {
                Some(text) => Ok(json!({ "content": text })),
                None => Err("not open".to_owned()),
            },
            "fs/write_text_file" => {
                let content = params["content"].as_str().unwrap().to_owned();
                self.written.push((path(), content));
                Ok(json!({}))
            }
            "terminal/create" => Ok(json!({ "terminalId": "t1" })),
            "terminal/wait_for_exit" => Ok(json!({ "exitCode": 3 })),
            "terminal/output" => Ok(json!({ "output": "from the terminal\n", "truncated": false })),
            "terminal/kill" | "terminal/release" => Ok(json!({})),
            "elicitation/create" => {
                Ok(json!({ "action": "accept", "content": { "answer": true } }))
            }
            _ => Err(format!("unknown method {method}")),
        }
    }

    /// Starts a session and returns its id.
    pub(crate) async fn new_session(&mut self, cwd: &Path) -> String {
        let params = json!({ "cwd": cwd, "mcpServers": [] });
        let answer = self.call("session/new", params).await.unwrap();
        answer["sessionId"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn prompt(&mut self, session: &str, text: &str) -> Result<Value, Value> {
        let prompt = json!([{ "type": "text", "text": text }]);
        self.call("session/prompt", json!({ "sessionId": session, "prompt": prompt })).await
    }

    /// Returns the updates of a kind.
    pub(crate) fn updates(&self, kind: &str) -> Vec<Value> {
        let updates = self.frames.iter().filter(|frame| frame["method"] == "session/update");
        let updates = updates.map(|frame| &frame["params"]["update"]);
        updates.filter(|update| update["sessionUpdate"] == kind).cloned().collect()
    }

    /// Returns the requests of the agent with a method: their parameters.
    pub(crate) fn requests(&self, method: &str) -> Vec<Value> {
        let requests = self.frames.iter().filter(|frame| frame["method"] == method);
        requests.map(|frame| frame["params"].clone()).collect()
    }

    /// Returns the text of chunks of a kind.
    pub(crate) fn text(&self, kind: &str) -> String {
        let chunks = self.updates(kind);
        chunks.iter().filter_map(|chunk| chunk["content"]["text"].as_str()).collect()
    }
}
