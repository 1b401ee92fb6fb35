//! A server that a test plays by hand, and a handler that keeps notes.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use pi_jsonrpc::Error;
use pi_mcp::BoxFuture;
use pi_mcp::client::{Changed, Client, ClientOptions, ConnectError, Handler};
use pi_mcp::protocol::{
    CreateMessageParams, CreateMessageResult, ElicitAction, ElicitParams, ElicitResult,
    Elicitation, Implementation, ListChanged, LogMessage, Role, Root, Sampling,
};
use pi_mcp::transport::{Stdio, Transport};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf, split,
};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// The longest wait of a test for something that must happen.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// Answers every question, and keeps notes of everything.
#[derive(Default)]
pub(crate) struct Notes {
    notes: Mutex<Vec<String>>,
    more: Notify,
}

impl Notes {
    fn note(&self, note: String) {
        self.notes.lock().expect("lock").push(note);
        self.more.notify_waiters();
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.notes.lock().expect("lock").clone()
    }

    /// Waits for a note.
    pub(crate) async fn wait_for(&self, wanted: &str) {
        let found = async {
            loop {
                let more = self.more.notified();
                tokio::pin!(more);
                more.as_mut().enable();
                if self.all().iter().any(|note| note == wanted) {
                    return;
                }
                more.await;
            }
        };
        if timeout(LIMIT, found).await.is_err() {
            panic!("no note {wanted:?} in {:?}", self.all());
        }
    }
}

impl Handler for Notes {
    fn roots(&self) -> BoxFuture<'_, Result<Vec<Root>, Error>> {
        let root = Root { uri: "file:///work".to_owned(), ..Root::default() };
        Box::pin(async { Ok(vec![root]) })
    }

    fn sample(
        &self,
        request: CreateMessageParams,
    ) -> BoxFuture<'_, Result<CreateMessageResult, Error>> {
        self.note(format!("sample {}", request.max_tokens));
        let content = json!({ "type": "text", "text": "four" });
        let model = "m".to_owned();
        let role = Role::Assistant;
        Box::pin(async move { Ok(CreateMessageResult { role, content, model, stop_reason: None }) })
    }

    fn elicit(&self, request: ElicitParams) -> BoxFuture<'_, Result<ElicitResult, Error>> {
        self.note(format!("elicit {}", request.message));
        Box::pin(async move {
            if request.message == "wait" {
                std::future::pending::<()>().await;
            }
            Ok(ElicitResult { action: ElicitAction::Accept, content: Some(request.defaults()) })
        })
    }

    fn elicited(&self, id: &str) {
        self.note(format!("elicited {id}"));
    }

    fn log(&self, message: LogMessage) {
        self.note(format!("log {} {}", message.level.name(), message.data));
    }

    fn changed(&self, changed: Changed) -> BoxFuture<'_, ()> {
        self.note(format!("changed {changed:?}"));
        Box::pin(async {})
    }

    fn problem(&self, problem: &str) {
        self.note(format!("problem {problem}"));
    }

    fn closed(&self, reason: &str) {
        self.note(format!("closed {reason}"));
    }
}

/// Options that offer everything.
pub(crate) fn options(notes: &Arc<Notes>) -> ClientOptions {
    let handler = Arc::clone(notes) as Arc<dyn Handler>;
    let mut options = ClientOptions::new(Implementation::new("test", "1"), handler);
    options.capabilities.roots = Some(ListChanged::default());
    options.capabilities.sampling = Some(Sampling::default());
    options.capabilities.elicitation =
        Some(Elicitation { form: Some(json!({})), url: Some(json!({})) });
    options
}

/// The server's side of a pair of pipes.
pub(crate) struct Fake {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
}

/// A client that connects, and the server that it talks to.
pub(crate) fn start(options: ClientOptions) -> (JoinHandle<Result<Client, ConnectError>>, Fake) {
    let (near, far) = tokio::io::duplex(1 << 20);
    let (reader, writer) = split(near);
    let transport = Transport::Stdio(Stdio::new(reader, writer));
    let connecting = tokio::spawn(Client::connect(transport, options));
    let (reader, writer) = split(far);
    (connecting, Fake { lines: BufReader::new(reader).lines(), writer })
}

/// A connected client of a legacy server.
pub(crate) async fn legacy(notes: &Arc<Notes>) -> (Client, Fake) {
    legacy_with(options(notes), json!({ "tools": {} })).await
}

/// A connected client of a legacy server with these capabilities.
pub(crate) async fn legacy_with(options: ClientOptions, capabilities: Value) -> (Client, Fake) {
    let (connecting, mut fake) = start(options);
    let probe = fake.next().await;
    assert_eq!(probe["method"], "server/discover");
    fake.fail(&probe, -32601, "Method not found").await;
    fake.initialize("2025-11-25", capabilities).await;
    let client = connecting.await.expect("no panic").expect("connected");
    (client, fake)
}

/// A connected client of a modern server.
pub(crate) async fn modern(notes: &Arc<Notes>, capabilities: Value) -> (Client, Fake) {
    let (connecting, mut fake) = start(options(notes));
    let probe = fake.next().await;
    fake.answer(&probe, discovered(&capabilities)).await;
    let client = connecting.await.expect("no panic").expect("connected");
    (client, fake)
}

/// An answer to `server/discover`.
pub(crate) fn discovered(capabilities: &Value) -> Value {
    json!({
        "resultType": "complete",
        "supportedVersions": ["2026-07-28", "2025-11-25"],
        "capabilities": capabilities,
        "instructions": "Use it.",
        "ttlMs": 1000,
        "cacheScope": "public",
        "_meta": { "io.modelcontextprotocol/serverInfo": { "name": "new", "version": "3" } },
    })
}

impl Fake {
    /// Waits for the next message of the client.
    pub(crate) async fn next(&mut self) -> Value {
        let line = timeout(LIMIT, self.lines.next_line()).await.expect("a message in time");
        serde_json::from_str(&line.expect("read").expect("a message")).expect("JSON")
    }

    pub(crate) async fn send(&mut self, message: Value) {
        self.send_text(&format!("{message}\n")).await;
    }

    pub(crate) async fn send_text(&mut self, text: &str) {
        self.writer.write_all(text.as_bytes()).await.expect("written");
    }

    pub(crate) async fn answer(&mut self, request: &Value, result: Value) {
        self.send(json!({ "jsonrpc": "2.0", "id": request["id"], "result": result })).await;
    }

    pub(crate) async fn fail(&mut self, request: &Value, code: i64, message: &str) {
        let error = json!({ "code": code, "message": message });
        self.send(json!({ "jsonrpc": "2.0", "id": request["id"], "error": error })).await;
    }

    pub(crate) async fn notify(&mut self, method: &str, params: Value) {
        self.send(json!({ "jsonrpc": "2.0", "method": method, "params": params })).await;
    }

    /// Answers the handshake of the legacy era.
    pub(crate) async fn initialize(&mut self, version: &str, capabilities: Value) {
        let request = self.next().await;
        assert_eq!(request["method"], "initialize");
        assert_eq!(request["params"]["protocolVersion"], "2025-11-25");
        let result = json!({
            "protocolVersion": version,
            "capabilities": capabilities,
            "serverInfo": { "name": "old", "version": "2" },
        });
        self.answer(&request, result).await;
        let initialized = self.next().await;
        assert_eq!(initialized["method"], "notifications/initialized");
    }
}
