//! An authorization server, a browser and a user for tests.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pi_protocol::CancelToken;
use pi_protocol::HookFuture;
use pi_web::WebClient;
use pi_web::oauth::{
    Cancelled, Interaction, LoginEvent, LoginOptions, OauthError, Prompt, Service, Tokens, login,
};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use url::Url;

/// A request that a server received.
#[derive(Debug, Clone)]
pub(super) struct Received {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: String,
}

impl Received {
    /// Returns the parameters of a form.
    pub(super) fn form(&self) -> BTreeMap<String, String> {
        query(&self.body)
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// Decodes a query or a form.
pub(super) fn query(text: &str) -> BTreeMap<String, String> {
    let mut url = Url::parse("http://localhost/").unwrap();
    url.set_query(Some(text));
    url.query_pairs().into_owned().collect()
}

/// The answer of a server.
#[derive(Clone)]
pub(super) enum Answer {
    Json(u16, Value),
    Raw(Vec<u8>),
    /// Never answers.
    Silence,
}

pub(super) fn ok(body: Value) -> Answer {
    Answer::Json(200, body)
}

pub(super) fn refused(code: &str) -> Answer {
    Answer::Json(400, json!({"error": code}))
}

type Handler = dyn FnMut(&Received) -> Answer + Send;

/// A server whose answers are computed.
pub(super) struct AuthServer {
    pub(super) base: String,
    received: Arc<Mutex<Vec<Received>>>,
    arrived: tokio::sync::Mutex<mpsc::UnboundedReceiver<Received>>,
}

impl AuthServer {
    pub(super) async fn start(handler: impl FnMut(&Received) -> Answer + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let received = Arc::new(Mutex::new(Vec::new()));
        let (sender, arrived) = mpsc::unbounded_channel();
        let handler: Arc<Mutex<Box<Handler>>> = Arc::new(Mutex::new(Box::new(handler)));
        let record = Arc::clone(&received);
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (record, sender) = (Arc::clone(&record), sender.clone());
                tokio::spawn(serve(socket, Arc::clone(&handler), record, sender));
            }
        });
        Self { base, received, arrived: tokio::sync::Mutex::new(arrived) }
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// Returns the requests to a path.
    pub(super) fn requests(&self, path: &str) -> Vec<Received> {
        let received = self.received.lock().unwrap();
        received.iter().filter(|request| request.path == path).cloned().collect()
    }

    /// Waits for the next request.
    pub(super) async fn arrival(&self) -> Received {
        self.arrived.lock().await.recv().await.unwrap()
    }
}

async fn serve(
    mut socket: TcpStream,
    handler: Arc<Mutex<Box<Handler>>>,
    record: Arc<Mutex<Vec<Received>>>,
    arrived: mpsc::UnboundedSender<Received>,
) {
    let Some(request) = read(&mut socket).await else { return };
    record.lock().unwrap().push(request.clone());
    let answer = (handler.lock().unwrap())(&request);
    let _ = arrived.send(request);
    let bytes = match answer {
        Answer::Json(status, body) => {
            let body = body.to_string();
            format!(
                "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
                 connection: close\r\n\r\n{body}",
                body.len()
            )
            .into_bytes()
        }
        Answer::Raw(bytes) => bytes,
        Answer::Silence => {
            let _ = socket.read(&mut [0; 1]).await;
            return;
        }
    };
    let _ = socket.write_all(&bytes).await;
    let _ = socket.shutdown().await;
}

async fn read(socket: &mut TcpStream) -> Option<Received> {
    let mut bytes = Vec::new();
    loop {
        let mut buffer = [0; 4096];
        let count = socket.read(&mut buffer).await.ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let mut lines = head.lines();
        let mut first = lines.next()?.split(' ');
        let headers: BTreeMap<String, String> = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
        if body.len() >= length {
            return Some(Received {
                method: first.next()?.to_owned(),
                path: first.next()?.to_owned(),
                headers,
                body: body.to_owned(),
            });
        }
    }
}

/// The user: sees events, and answers questions when the test says so.
pub(super) struct User {
    events: mpsc::UnboundedSender<LoginEvent>,
    questions: mpsc::UnboundedSender<Question>,
}

/// A question that waits for its answer. `is_closed` tells that the login no longer waits.
pub(super) struct Question {
    pub(super) prompt: Prompt,
    pub(super) answer: oneshot::Sender<Result<String, Cancelled>>,
}

impl Interaction for User {
    fn show(&self, event: LoginEvent) {
        let _ = self.events.send(event);
    }

    fn ask(&self, prompt: Prompt) -> HookFuture<Result<String, Cancelled>> {
        let (answer, answered) = oneshot::channel();
        let _ = self.questions.send(Question { prompt, answer });
        Box::pin(async move {
            match answered.await {
                Ok(answer) => answer,
                // The test has dropped the question: the user does nothing.
                Err(_) => std::future::pending().await,
            }
        })
    }
}

/// A login that runs in a task.
pub(super) struct Running {
    pub(super) events: mpsc::UnboundedReceiver<LoginEvent>,
    pub(super) questions: mpsc::UnboundedReceiver<Question>,
    pub(super) cancel: CancelToken,
    task: JoinHandle<Result<Tokens, OauthError>>,
}

/// Starts a login.
pub(super) fn start(service: &Service, options: LoginOptions) -> Running {
    let (event_sender, events) = mpsc::unbounded_channel();
    let (question_sender, questions) = mpsc::unbounded_channel();
    let user = User { events: event_sender, questions: question_sender };
    let cancel = CancelToken::new();
    let (service, token) = (service.clone(), cancel.clone());
    let task = tokio::spawn(async move { login(&service, &web(), &user, options, token).await });
    Running { events, questions, cancel, task }
}

impl Running {
    /// Waits for the address of the authorization page.
    pub(super) async fn page(&mut self) -> Page {
        loop {
            if let Some(LoginEvent::AuthorizeUrl(url)) = self.events.recv().await {
                return Page { url: Url::parse(&url).unwrap() };
            }
        }
    }

    /// Waits for a remark.
    pub(super) async fn remark(&mut self) -> String {
        loop {
            if let Some(LoginEvent::Info(text)) = self.events.recv().await {
                return text;
            }
        }
    }

    pub(super) async fn result(self) -> Result<Tokens, OauthError> {
        tokio::time::timeout(Duration::from_secs(60), self.task).await.unwrap().unwrap()
    }

    pub(super) async fn error(self) -> String {
        self.result().await.unwrap_err().to_string()
    }
}

/// The authorization page as the user sees it.
pub(super) struct Page {
    pub(super) url: Url,
}

impl Page {
    pub(super) fn params(&self) -> BTreeMap<String, String> {
        query(self.url.query().unwrap_or_default())
    }

    pub(super) fn param(&self, name: &str) -> String {
        self.params().remove(name).unwrap_or_else(|| panic!("{name} in {}", self.url))
    }

    /// Returns the address to which the server would send the browser.
    pub(super) fn returned(&self, params: &[(&str, &str)]) -> Url {
        let mut url = Url::parse(&self.param("redirect_uri")).unwrap();
        url.query_pairs_mut().extend_pairs(params);
        url
    }

    /// Returns the address of a success.
    pub(super) fn consented(&self) -> Url {
        self.returned(&[("code", "code-1"), ("state", &self.param("state"))])
    }

    /// Connects to the port of the login.
    pub(super) async fn connect(&self) -> std::io::Result<TcpStream> {
        let url = Url::parse(&self.param("redirect_uri")).unwrap();
        TcpStream::connect(("127.0.0.1", url.port().unwrap())).await
    }
}

/// Opens an address as a browser does. Returns the status and the page.
pub(super) async fn browse(method: &str, url: &Url) -> (u16, String) {
    let mut socket = TcpStream::connect(("127.0.0.1", url.port().unwrap())).await.unwrap();
    let target = format!("{}?{}", url.path(), url.query().unwrap_or_default());
    let request = format!("{method} {target} HTTP/1.1\r\nHost: x\r\nAccept: text/html\r\n\r\n");
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (status, answer)
}

/// A client without proxies.
pub(super) fn web() -> WebClient {
    WebClient::new(Arc::new(|_| None))
}

/// A service at the server with given endpoints.
pub(super) fn service_at(server: &AuthServer) -> Service {
    let mut service = Service::default();
    service.name = Some("Example".to_owned());
    service.authorize_url = Some(server.url("/authorize"));
    service.token_url = Some(server.url("/token"));
    service.device_url = Some(server.url("/device"));
    service.revoke_url = Some(server.url("/revoke"));
    service.client_id = Some("client-1".to_owned());
    service.scopes = vec!["read".to_owned(), "write".to_owned()];
    service
}

/// A usual token response.
pub(super) fn token_response() -> Value {
    json!({
        "access_token": "access-secret-1",
        "refresh_token": "refresh-secret-1",
        "expires_in": 3600,
        "token_type": "Bearer",
        "scope": "read",
    })
}

/// Asserts that a token counts as expired in about this many seconds.
pub(super) fn assert_expires_in(tokens: &Tokens, seconds: f64) {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let left = tokens.expires.unwrap() / 1000.0 - now.as_secs_f64();
    assert!((left - seconds).abs() < 60.0, "{left} instead of {seconds}");
}
