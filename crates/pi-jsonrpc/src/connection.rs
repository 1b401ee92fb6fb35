//! Both directions over a reader and a writer: calls to the other side, and calls from it.
//!
//! Incoming requests run in tasks of their own, at most [`Limits::requests`] at a time.
//! Notifications and responses are handled in the order of their arrival, so what the other side
//! sent before a response was handled before its call returns.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pi_base::lock;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{Semaphore, mpsc, oneshot, watch};

use crate::cut::{Cut, identify};
use crate::{
    Calls, Error, Id, Invalid, Line, Lines, Message, Notification, Request, Response, TooLong,
};

/// A future that can move between threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A request of the other side.
#[derive(Debug)]
pub struct Incoming {
    /// Id of the request.
    pub id: Id,
    /// Name of the method.
    pub method: String,
    /// Parameters of the method.
    pub params: Option<Value>,
}

/// The handler of messages of the other side.
pub trait Service: Send + Sync + 'static {
    /// Answers a request. The future is dropped when the connection ends.
    fn request(&self, request: Incoming) -> BoxFuture<'_, Result<Value, Error>>;

    /// Takes note of a notification. It must not block: later messages wait for it.
    fn notification(&self, method: &str, params: Option<Value>);

    /// Takes note of a request before it is answered. Unlike the answers, these calls come in the
    /// order of the messages. It must not block.
    fn received(&self, request: &Incoming) {
        let _ = request;
    }

    /// Takes note that the response to a request is queued: what is sent from now on follows it.
    /// It must not block.
    fn answered(&self, id: &Id) {
        let _ = id;
    }

    /// Takes note of a text that is no message, or of a line that is too long.
    fn invalid(&self, problem: &str) {
        let _ = problem;
    }

    /// Takes note of a response to no open request, such as one that was given up.
    fn unexpected_response(&self) {
        self.invalid("a response to no open request");
    }

    /// Returns true if messages may lack what this side can do without; see
    /// [`Message::parse_lenient`].
    fn is_lenient(&self) -> bool {
        false
    }

    /// Returns true if the other side is told of texts that are no messages. A client does not do
    /// that: its server may print texts that are no messages, and would answer the answers.
    fn answers_invalid(&self) -> bool {
        true
    }
}

/// The limits of a connection.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The longest line, in bytes.
    pub line: usize,
    /// The most requests of the other side that are answered at a time; others get an error.
    pub requests: usize,
    /// The most messages that wait to be written. Callers wait for room.
    pub outgoing: usize,
    /// The time for responses to open requests after the other side has closed its end.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { line: 64 << 20, requests: 64, outgoing: 256, drain: Duration::ZERO }
    }
}

/// The failure of a call.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CallError {
    /// The other side answered with an error.
    #[error(transparent)]
    Remote(#[from] Error),
    /// The connection ended before the response.
    #[error("the connection was closed: {0}")]
    Closed(String),
    /// The response is longer than [`Limits::line`].
    #[error("the response of {0} bytes is too long")]
    TooLong(u64),
}

/// The reason why a connection ended.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Ended {
    /// The other side closed its end.
    #[error("the other side closed the connection")]
    Eof,
    /// This side closed the connection.
    #[error("this side closed the connection")]
    Closed,
    /// Reading failed.
    #[error("reading failed: {0}")]
    Read(String),
    /// Writing failed.
    #[error("writing failed: {0}")]
    Write(String),
}

type Outcome = Result<Value, CallError>;

/// This end of a connection. Clones share it.
#[derive(Debug, Clone)]
pub struct Connection(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    calls: Mutex<Open>,
    outgoing: mpsc::Sender<Message>,
    ended: watch::Sender<Option<Ended>>,
}

#[derive(Debug, Default)]
struct Open {
    calls: Calls<oneshot::Sender<Outcome>>,
    ended: Option<Ended>,
}

/// A call whose response is outstanding. Dropping it closes the call: a late response is ignored.
#[derive(Debug)]
pub struct Pending {
    id: Id,
    connection: Connection,
    response: oneshot::Receiver<Outcome>,
}

impl Pending {
    /// Returns the id of the request.
    pub fn id(&self) -> &Id {
        &self.id
    }

    /// Waits for the response.
    pub async fn response(mut self) -> Outcome {
        match (&mut self.response).await {
            Ok(outcome) => outcome,
            Err(_) => Err(CallError::Closed(self.connection.reason())),
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        lock(&self.connection.0.calls).calls.close(&self.id);
    }
}

impl Connection {
    /// Makes a connection, and the future that runs it: spawn it or await it. It returns why the
    /// connection ended, after all that was queued before [`Connection::close`] has been written.
    pub fn new<R, W>(
        reader: R,
        writer: W,
        service: Arc<dyn Service>,
        limits: Limits,
    ) -> (Self, impl Future<Output = Ended> + Send + 'static)
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let (outgoing, queue) = mpsc::channel(limits.outgoing.max(1));
        let (ended, _) = watch::channel(None);
        let connection = Self(Arc::new(Shared { calls: Mutex::default(), outgoing, ended }));
        let running = connection.clone().run(reader, writer, queue, service, limits);
        (connection, running)
    }

    /// Sends a request. `params` gets its id, for protocols that repeat it in the parameters.
    pub async fn start(
        &self,
        method: &str,
        params: impl FnOnce(&Id) -> Option<Value>,
    ) -> Result<Pending, CallError> {
        let (sender, response) = oneshot::channel();
        let id = {
            let mut open = lock(&self.0.calls);
            if let Some(ended) = &open.ended {
                return Err(CallError::Closed(ended.to_string()));
            }
            open.calls.open(sender)
        };
        let pending = Pending { id: id.clone(), connection: self.clone(), response };
        let params = params(&id);
        self.send(Message::request(id, method, params)).await?;
        Ok(pending)
    }

    /// Sends a request and waits for its response.
    pub async fn call(&self, method: &str, params: Option<Value>) -> Outcome {
        self.start(method, |_| params).await?.response().await
    }

    /// Sends a notification.
    pub async fn notify(&self, method: &str, params: Option<Value>) -> Result<(), CallError> {
        self.send(Message::notification(method, params)).await
    }

    /// Sends a message as it is. Waits for room in the queue.
    pub async fn send(&self, message: Message) -> Result<(), CallError> {
        let mut ended = self.0.ended.subscribe();
        tokio::select! {
            biased;
            sent = self.0.outgoing.send(message) => {
                sent.map_err(|_| CallError::Closed(self.reason()))
            }
            _ = ended.wait_for(Option::is_some) => Err(CallError::Closed(self.reason())),
        }
    }

    /// Sends a message if the queue has room; returns false if it has none or if the connection
    /// ended. For places that cannot wait.
    pub fn try_send(&self, message: Message) -> bool {
        self.0.outgoing.try_send(message).is_ok()
    }

    /// Ends the connection. Open calls fail; what is queued is still written.
    pub fn close(&self) {
        self.end(Ended::Closed);
    }

    /// Waits for the end of the connection.
    pub async fn ended(&self) -> Ended {
        let mut ended = self.0.ended.subscribe();
        match ended.wait_for(Option::is_some).await {
            Ok(ended) => ended.clone().unwrap_or(Ended::Closed),
            Err(_) => Ended::Closed,
        }
    }

    /// Returns true if the connection ended.
    pub fn is_closed(&self) -> bool {
        self.0.ended.borrow().is_some()
    }

    fn reason(&self) -> String {
        self.0.ended.borrow().as_ref().map_or_else(|| Ended::Closed.to_string(), Ended::to_string)
    }

    /// Ends the connection for the first reason that is given.
    fn end(&self, reason: Ended) {
        let waiting = {
            let mut open = lock(&self.0.calls);
            open.ended.get_or_insert_with(|| reason.clone());
            open.calls.close_all()
        };
        self.0.ended.send_if_modified(|ended| {
            let is_first = ended.is_none();
            ended.get_or_insert(reason);
            is_first
        });
        for call in waiting {
            let _ = call.send(Err(CallError::Closed(self.reason())));
        }
    }

    async fn run<R, W>(
        self,
        reader: R,
        writer: W,
        queue: mpsc::Receiver<Message>,
        service: Arc<dyn Service>,
        limits: Limits,
    ) -> Ended
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let reading = tokio::spawn(read(self.clone(), reader, service, limits));
        write(&self, writer, queue).await;
        reading.abort();
        self.ended().await
    }

    /// Handles one message of the other side.
    fn receive(&self, message: Message, serving: &Serving) {
        match message {
            Message::Response(Response { id, result }) => {
                let call = id.and_then(|id| lock(&self.0.calls).calls.close(&id));
                match call {
                    Some(call) => drop(call.send(result.map_err(CallError::Remote))),
                    None => serving.service.unexpected_response(),
                }
            }
            Message::Notification(Notification { method, params }) => {
                serving.service.notification(&method, params);
            }
            Message::Request(request) => self.answer(request, serving),
        }
    }

    fn answer(&self, request: Request, serving: &Serving) {
        let Request { id, method, params } = request;
        let Ok(permit) = Arc::clone(&serving.permits).try_acquire_owned() else {
            let error = Error::internal("Too many requests at a time");
            return self.reply(Message::response(id, Err(error)), serving);
        };
        let service = Arc::clone(&serving.service);
        let connection = self.clone();
        let incoming = Incoming { id: id.clone(), method, params };
        service.received(&incoming);
        tokio::spawn(async move {
            tokio::select! {
                _ = connection.ended() => {}
                result = service.request(incoming) => {
                    let _ = connection.send(Message::response(id.clone(), result)).await;
                    service.answered(&id);
                }
            }
            drop(permit);
        });
    }

    /// Handles a text that is no message. A call whose response cannot be read fails.
    fn refuse(&self, text: &[u8], invalid: &Invalid, serving: &Serving) {
        serving.service.invalid(&invalid.to_string());
        let answered = match invalid {
            Invalid::Json(_) => match identify(&TooLong::of(text)) {
                Some(Cut::Response(id)) => Some(id),
                Some(Cut::Request(_)) | None => None,
            },
            Invalid::Shape { id, is_response: true, .. } => id.clone(),
            Invalid::Shape { .. } => None,
        };
        if let Some(call) = answered.and_then(|id| lock(&self.0.calls).calls.close(&id)) {
            let problem = format!("The response cannot be read: {invalid}");
            let _ = call.send(Err(CallError::Remote(Error::new(Error::PARSE, problem))));
            return;
        }
        // A response to what may be a response would start a loop of errors, so only texts that
        // look like requests are answered.
        let is_answered = matches!(invalid, Invalid::Json(_)) || invalid.response().id.is_some();
        if is_answered && serving.service.answers_invalid() {
            self.reply(Message::Response(invalid.response()), serving);
        }
    }

    /// Sends an answer of the reader. It is dropped if the queue is full: a reader that waits for
    /// the other side to read, while the other side waits for this one, would wait for ever.
    fn reply(&self, message: Message, serving: &Serving) {
        if !self.try_send(message) {
            serving.service.invalid("an error was not sent: the other side reads too slowly");
        }
    }
}

/// The state that a reader needs to answer requests.
struct Serving {
    service: Arc<dyn Service>,
    permits: Arc<Semaphore>,
}

async fn read<R>(connection: Connection, mut reader: R, service: Arc<dyn Service>, limits: Limits)
where
    R: AsyncRead + Send + Unpin,
{
    let serving = Serving { service, permits: Arc::new(Semaphore::new(limits.requests)) };
    let mut lines = Lines::new(limits.line);
    let mut buffer = vec![0; 64 << 10];
    loop {
        let reason = match reader.read(&mut buffer).await {
            Ok(0) => Ended::Eof,
            Ok(length) => {
                for line in lines.push(&buffer[..length]) {
                    receive_line(&connection, line, &serving);
                }
                continue;
            }
            Err(error) => Ended::Read(error.to_string()),
        };
        if let Some(line) = lines.finish() {
            receive_line(&connection, line, &serving);
        }
        if !limits.drain.is_zero() {
            let all = u32::try_from(limits.requests).unwrap_or(u32::MAX);
            // Requests that take longer are given up.
            let _ = tokio::time::timeout(limits.drain, serving.permits.acquire_many(all)).await;
        }
        connection.end(reason);
        return;
    }
}

fn receive_line(connection: &Connection, line: Line, serving: &Serving) {
    match line {
        Line::Text(text) => {
            let is_lenient = serving.service.is_lenient();
            let parse = if is_lenient { Message::parse_lenient } else { Message::parse };
            match parse(&text) {
                Ok(message) => connection.receive(message, serving),
                Err(invalid) => connection.refuse(&text, &invalid, serving),
            }
        }
        Line::TooLong(line) => {
            let length = line.length;
            let problem = format!("a line of {length} bytes, which is too long");
            match identify(&line) {
                Some(Cut::Response(id)) => {
                    let call = lock(&connection.0.calls).calls.close(&id);
                    if let Some(call) = call {
                        let _ = call.send(Err(CallError::TooLong(length)));
                    }
                }
                Some(Cut::Request(id)) => {
                    let error = Error::new(Error::INVALID_REQUEST, problem.clone());
                    connection.reply(Message::response(id, Err(error)), serving);
                }
                None => {}
            }
            serving.service.invalid(&problem);
        }
    }
}

/// Writes messages until the connection ends, and then those that are queued.
async fn write<W>(connection: &Connection, mut writer: W, mut queue: mpsc::Receiver<Message>)
where
    W: AsyncWrite + Send + Unpin,
{
    loop {
        let message = tokio::select! {
            biased;
            message = queue.recv() => message,
            _ = connection.ended() => queue.try_recv().ok(),
        };
        let Some(message) = message else { break };
        let written = async {
            writer.write_all(&message.to_line()).await?;
            writer.flush().await
        };
        if let Err(error) = written.await {
            connection.end(Ended::Write(error.to_string()));
            break;
        }
    }
    let _ = writer.shutdown().await;
}
