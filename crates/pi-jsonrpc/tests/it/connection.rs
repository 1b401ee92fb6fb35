//! Calls in both directions, their order, and their ends.

use std::sync::{Arc, Mutex};

use pi_jsonrpc::connection::BoxFuture;
use pi_jsonrpc::{CallError, Connection, Ended, Error, Incoming, Limits, Service};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream, split};

/// Echoes parameters, and keeps notes of everything else.
#[derive(Default)]
struct Echo {
    notes: Mutex<Vec<String>>,
    /// Says nothing about invalid texts, like a client.
    is_client: bool,
}

impl Echo {
    fn note(&self, note: String) {
        self.notes.lock().expect("lock").push(note);
    }

    fn notes(&self) -> Vec<String> {
        self.notes.lock().expect("lock").clone()
    }
}

impl Service for Echo {
    fn request(&self, request: Incoming) -> BoxFuture<'_, Result<Value, Error>> {
        Box::pin(async move {
            match request.method.as_str() {
                "echo" => Ok(request.params.unwrap_or_default()),
                "never" => std::future::pending().await,
                other => Err(Error::method_not_found(other)),
            }
        })
    }

    fn notification(&self, method: &str, params: Option<Value>) {
        self.note(format!("{method} {}", params.unwrap_or_default()));
    }

    fn invalid(&self, problem: &str) {
        self.note(problem.to_owned());
    }

    fn answers_invalid(&self) -> bool {
        !self.is_client
    }
}

/// A connection whose other side is written by hand.
fn by_hand(limits: Limits) -> (Connection, Arc<Echo>, DuplexStream) {
    by_hand_with(Echo::default(), 1 << 20, limits)
}

fn by_hand_with(
    service: Echo,
    buffer: usize,
    limits: Limits,
) -> (Connection, Arc<Echo>, DuplexStream) {
    let (near, far) = tokio::io::duplex(buffer);
    let service = Arc::new(service);
    let (reader, writer) = split(near);
    let (connection, running) =
        Connection::new(reader, writer, Arc::clone(&service) as Arc<dyn Service>, limits);
    tokio::spawn(running);
    (connection, service, far)
}

#[tokio::test]
async fn both_sides_call_each_other() {
    let (near, far) = tokio::io::duplex(64);
    let (reader, writer) = split(near);
    let (left, running) =
        Connection::new(reader, writer, Arc::new(Echo::default()), Limits::default());
    tokio::spawn(running);
    let (reader, writer) = split(far);
    let (right, running) =
        Connection::new(reader, writer, Arc::new(Echo::default()), Limits::default());
    tokio::spawn(running);
    let text = "x".repeat(10_000);
    let (a, b) =
        tokio::join!(left.call("echo", Some(json!({ "text": text }))), right.call("missing", None));
    assert_eq!(a, Ok(json!({ "text": text })));
    assert_eq!(b, Err(CallError::Remote(Error::method_not_found("missing"))));
    left.close();
    assert_eq!(right.ended().await, Ended::Eof);
    assert!(matches!(right.call("echo", None).await, Err(CallError::Closed(_))));
}

#[tokio::test]
async fn what_came_before_a_response_was_handled_before_its_call_returns() {
    let (connection, service, mut far) = by_hand(Limits::default());
    let pending = connection.start("m", |id| Some(json!({ "token": id }))).await.expect("sent");
    let mut line = String::new();
    BufReader::new(&mut far).read_line(&mut line).await.expect("a request");
    assert_eq!(line, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"token\":1}}\n");
    let answer = concat!(
        "{\"jsonrpc\":\"2.0\",\"method\":\"a\"}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":5}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":6}\n",
        "{\"jsonrpc\":\"2.0\",\"method\":\"b\"}\n",
    );
    far.write_all(answer.as_bytes()).await.expect("written");
    assert_eq!(pending.response().await, Ok(json!(5)));
    assert_eq!(service.notes()[0], "a null");
    drop(far);
    assert_eq!(connection.ended().await, Ended::Eof);
    assert_eq!(service.notes(), ["a null", "a response to no open request", "b null"]);
}

#[tokio::test]
async fn bad_lines_cost_nothing_but_themselves() {
    let limits = Limits { line: 100, ..Limits::default() };
    let (_connection, service, mut far) = by_hand(limits);
    let long = "y".repeat(1000);
    let input = format!("nonsense\n{long}\n{{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"echo\"}}\n");
    far.write_all(input.as_bytes()).await.expect("written");
    let mut reader = BufReader::new(far).lines();
    let first = reader.next_line().await.expect("read").expect("a line");
    assert!(first.contains("-32700"), "{first}");
    let second = reader.next_line().await.expect("read").expect("a line");
    assert_eq!(second, r#"{"jsonrpc":"2.0","id":9,"result":null}"#);
    assert_eq!(service.notes()[1], "a line of 1000 bytes, which is too long");
}

#[tokio::test]
async fn a_request_that_is_too_long_is_answered() {
    let limits = Limits { line: 100, ..Limits::default() };
    let (_connection, service, mut far) = by_hand(limits);
    let long = "y".repeat(1000);
    let input =
        format!("{{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"echo\",\"params\":[\"{long}\"]}}\n");
    far.write_all(input.as_bytes()).await.expect("written");
    let mut reader = BufReader::new(far).lines();
    let answer = reader.next_line().await.expect("read").expect("a line");
    let answer: Value = serde_json::from_str(&answer).expect("JSON");
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&9.into(), &(-32600).into()));
    assert_eq!(service.notes().len(), 1);
}

#[tokio::test]
async fn requests_over_the_limit_are_refused() {
    let limits = Limits { requests: 1, ..Limits::default() };
    let (_connection, _, mut far) = by_hand(limits);
    let input = concat!(
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"never\"}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"echo\"}\n",
    );
    far.write_all(input.as_bytes()).await.expect("written");
    let mut reader = BufReader::new(far).lines();
    let answer = reader.next_line().await.expect("read").expect("a line");
    assert!(answer.contains("\"id\":2") && answer.contains("Too many requests"), "{answer}");
}

#[tokio::test]
async fn what_was_queued_is_written_before_the_end() {
    let (connection, _, mut far) = by_hand(Limits::default());
    let pending = connection.start("m", |_| None).await.expect("sent");
    connection.notify("last", None).await.expect("queued");
    connection.close();
    assert!(matches!(pending.response().await, Err(CallError::Closed(_))));
    let mut all = String::new();
    far.read_to_string(&mut all).await.expect("read");
    assert_eq!(all.lines().count(), 2, "{all}");
    assert!(all.contains("last"));
}

/// A call whose response is no message fails; it does not wait for another one.
#[tokio::test]
async fn a_malformed_response_fails_its_call() {
    let (connection, _, mut far) = by_hand(Limits::default());
    let deep = format!("{}1{}", "[".repeat(1000), "]".repeat(1000));
    for end in ["\"error\":\"no\"".to_owned(), format!("\"result\":{deep}"), "\"x\":1".to_owned()] {
        let pending = connection.start("m", |_| None).await.expect("sent");
        let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{},{end}}}\n", pending.id());
        far.write_all(line.as_bytes()).await.expect("written");
        let error = pending.response().await.expect_err("malformed");
        assert!(
            matches!(&error, CallError::Remote(error) if error.code == Error::PARSE),
            "{error}"
        );
    }
}

/// A client does not answer what its server prints beside messages.
#[tokio::test]
async fn a_client_does_not_answer_noise() {
    let client = Echo { is_client: true, ..Echo::default() };
    let (connection, service, mut far) = by_hand_with(client, 1 << 20, Limits::default());
    far.write_all(b"Listening on 7\n{\"id\":1,\"method\":\"m\"}\n").await.expect("written");
    far.write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"last\"}\n").await.expect("written");
    far.shutdown().await.expect("closed");
    connection.ended().await;
    assert_eq!(service.notes().len(), 3, "{:?}", service.notes());
    let mut all = String::new();
    far.read_to_string(&mut all).await.expect("read");
    assert_eq!(all, "");
}

/// The other side does not read, and still its messages are received.
#[tokio::test]
async fn a_full_queue_does_not_stop_the_reader() {
    let limits = Limits { requests: 0, outgoing: 1, ..Limits::default() };
    let (connection, service, mut far) = by_hand_with(Echo::default(), 64, limits);
    let pending = connection.start("m", |_| None).await.expect("sent");
    for id in 0..100 {
        let request = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"echo\"}}\nnoise\n");
        far.write_all(request.as_bytes()).await.expect("written");
    }
    let answer = format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":5}}\n", pending.id());
    far.write_all(answer.as_bytes()).await.expect("written");
    assert_eq!(pending.response().await, Ok(json!(5)));
    let dropped = "an error was not sent: the other side reads too slowly";
    assert!(service.notes().iter().any(|note| note == dropped));
}
