//! A scripted model server: answers each request with a reply that a test chooses, as chat
//! completions, and records the requests.
//!
//! The server does not use time: a reply waits at a gate until the scenario opens it.

use std::collections::HashSet;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use super::format::{Call, Part, Reply, Status};

/// A server that runs until it is dropped.
pub(crate) struct Server {
    port: u16,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    requests: Vec<Value>,
    open: HashSet<String>,
    closed: bool,
}

/// Chooses the reply to a request: its body, and the number of requests before it.
type Choose = dyn Fn(&Value, usize) -> Reply + Send + Sync;

impl Server {
    /// Starts a server on a free local port that gives these replies in order.
    pub(crate) fn start(replies: Vec<Reply>) -> io::Result<Self> {
        Self::choosing(move |_, index| {
            replies.get(index).cloned().unwrap_or_else(|| {
                let body = json!({"error": {"message": "the scenario has no more replies"}});
                let headers = Default::default();
                Reply::Parts(vec![Part::Status(Status { code: 400, headers, body })])
            })
        })
    }

    /// Starts a server on a free local port whose replies depend on the requests.
    pub(crate) fn choosing(
        choose: impl Fn(&Value, usize) -> Reply + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        std::thread::spawn(move || {
            let choose: Arc<Choose> = Arc::new(choose);
            for socket in listener.incoming().map_while(Result::ok) {
                if theirs.state.lock().unwrap().closed {
                    return;
                }
                let (shared, choose) = (Arc::clone(&theirs), Arc::clone(&choose));
                // In some scenarios, the client disconnects in the middle.
                std::thread::spawn(move || drop(serve(socket, &shared, &*choose)));
            }
        });
        Ok(Self { port, shared })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Returns the bodies of the requests so far.
    pub(crate) fn requests(&self) -> Vec<Value> {
        self.shared.state.lock().unwrap().requests.clone()
    }

    /// Opens a gate, even if no reply has reached it yet.
    pub(crate) fn open(&self, gate: &str) {
        self.shared.state.lock().unwrap().open.insert(gate.to_owned());
        self.shared.changed.notify_all();
    }

    /// Waits for this many requests. Returns false after the timeout.
    pub(crate) fn wait_for_requests(&self, count: usize, timeout: Duration) -> bool {
        let state = self.shared.state.lock().unwrap();
        let waiting = |state: &mut State| state.requests.len() < count;
        !self.shared.changed.wait_timeout_while(state, timeout, waiting).unwrap().1.timed_out()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.state.lock().unwrap().closed = true;
        self.shared.changed.notify_all();
        // Wakes the accepting thread.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}

fn serve(mut socket: TcpStream, shared: &Shared, choose: &Choose) -> io::Result<()> {
    socket.set_nodelay(true)?;
    let body = serde_json::from_slice(&read_request(&socket)?).unwrap_or(Value::Null);
    let reply = {
        let mut state = shared.state.lock().unwrap();
        // Chosen under the lock, so that replies that depend on earlier ones come in order.
        let reply = choose(&body, state.requests.len());
        state.requests.push(body);
        reply
    };
    shared.changed.notify_all();
    match reply {
        Reply::Text(text) => play(&mut socket, shared, &[Part::Text(text)]),
        Reply::Parts(parts) => play(&mut socket, shared, &parts),
    }
}

/// Reads a request and returns its body.
fn read_request(socket: &TcpStream) -> io::Result<Vec<u8>> {
    let mut reader = BufReader::new(socket);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        match line.trim_end().split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse().map_err(io::Error::other)?;
            }
            None if line.trim_end().is_empty() => break,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(body)
}

fn status(socket: &mut TcpStream, Status { code, headers, body }: &Status) -> io::Result<()> {
    let body = body.as_str().map_or_else(|| body.to_string(), ToOwned::to_owned);
    let kind = if body.starts_with('{') { "application/json" } else { "text/plain" };
    let mut head =
        format!("HTTP/1.1 {code} Scripted\r\nconnection: close\r\ncontent-type: {kind}\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    write!(socket, "{head}content-length: {}\r\n\r\n{body}", body.len())
}

fn play(socket: &mut TcpStream, shared: &Shared, parts: &[Part]) -> io::Result<()> {
    if let [Part::Status(answer)] = parts {
        return status(socket, answer);
    }
    if let [Part::Hang] = parts {
        return until_disconnected(socket);
    }
    if let [Part::Raw(answer)] = parts {
        return socket.write_all(answer.as_bytes());
    }
    let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\n";
    write!(socket, "{head}transfer-encoding: chunked\r\n\r\n")?;
    let mut calls = 0;
    let mut finished = false;
    for part in parts {
        match part {
            Part::Text(text) => delta(socket, &json!({"content": text}))?,
            Part::Thinking(text) => delta(socket, &json!({"reasoning_content": text}))?,
            Part::Call(one) => {
                call(socket, calls, one)?;
                calls += 1;
            }
            Part::Gate(name) => {
                let state = shared.state.lock().unwrap();
                let shut = |state: &mut State| !state.closed && !state.open.contains(name);
                drop(shared.changed.wait_while(state, shut).unwrap());
            }
            Part::Finish(finish) => {
                finished = true;
                end(socket, finish)?;
            }
            Part::Data(value) => event(socket, value)?,
            Part::Drop => return socket.flush(),
            Part::Hang => return until_disconnected(socket),
            Part::End => finished = true,
            Part::Status(_) | Part::Raw(_) => {
                return Err(io::Error::other("this part must be the only one of its reply"));
            }
        }
    }
    if !finished {
        let reason = if calls == 0 { "stop" } else { "tool_calls" };
        end(socket, &[json!(reason), json!(10), json!(2)])?;
    }
    chunk(socket, "data: [DONE]\n\n")?;
    socket.write_all(b"0\r\n\r\n")
}

fn until_disconnected(socket: &mut TcpStream) -> io::Result<()> {
    socket.read_to_end(&mut Vec::new()).map(drop)
}

/// Sends a tool call: its name, then its arguments in chunks.
fn call(
    socket: &mut TcpStream,
    index: usize,
    Call { id, name, args, pieces }: &Call,
) -> io::Result<()> {
    let arguments = args.as_str().map_or_else(|| args.to_string(), ToOwned::to_owned);
    let function = json!({"name": name, "arguments": ""});
    let first = json!({"index": index, "id": id, "type": "function", "function": function});
    delta(socket, &json!({"tool_calls": [first]}))?;
    let characters: Vec<char> = arguments.chars().collect();
    for piece in characters.chunks(characters.len().div_ceil(pieces.unwrap_or(1)).max(1)) {
        let function = json!({"arguments": piece.iter().collect::<String>()});
        delta(socket, &json!({"tool_calls": [{"index": index, "function": function}]}))?;
    }
    Ok(())
}

fn end(socket: &mut TcpStream, finish: &[Value]) -> io::Result<()> {
    event(socket, &json!({"choices": [{"index": 0, "delta": {}, "finish_reason": finish[0]}]}))?;
    let [_, input, output] = finish else { return Ok(()) };
    let total = input.as_u64().unwrap_or(0) + output.as_u64().unwrap_or(0);
    let usage = json!({"prompt_tokens": input, "completion_tokens": output, "total_tokens": total});
    event(socket, &json!({"choices": [], "usage": usage}))
}

fn delta(socket: &mut TcpStream, delta: &Value) -> io::Result<()> {
    event(socket, &json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]}))
}

/// Sends an event with these fields in addition to those of every chunk.
fn event(socket: &mut TcpStream, fields: &Value) -> io::Result<()> {
    let mut value = json!({"id": "reply", "object": "chat.completion.chunk", "created": 1, "model": "scripted"});
    for (key, field) in fields.as_object().into_iter().flatten() {
        value[key] = field.clone();
    }
    chunk(socket, &format!("data: {value}\n\n"))
}

fn chunk(socket: &mut TcpStream, text: &str) -> io::Result<()> {
    socket.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes())
}

#[test]
fn a_reply_waits_at_its_gate_and_is_completed() {
    let call = Call { id: "c".into(), name: "bash".into(), args: json!({"a": 1}), pieces: Some(2) };
    let parts = vec![Part::Text("Hel".into()), Part::Gate("g".into()), Part::Call(call)];
    let server = Server::start(vec![Reply::Parts(parts)]).unwrap();
    let mut socket = TcpStream::connect((Ipv4Addr::LOCALHOST, server.port)).unwrap();
    write!(socket, "POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n{{\"n\": 1 }}").unwrap();
    assert!(server.wait_for_requests(1, Duration::from_secs(30)));
    assert_eq!(server.requests(), [json!({"n": 1})]);
    let mut reader = BufReader::new(socket);
    let mut read = String::new();
    while !read.contains("Hel") {
        reader.read_line(&mut read).unwrap();
    }
    server.open("g");
    let mut rest = String::new();
    reader.read_to_string(&mut rest).unwrap();
    for part in [
        "\"name\":\"bash\"",
        r#""{\"a\"""#,
        r#"":":1}""#,
        "\"tool_calls\"}",
        "total_tokens\":12",
        "[DONE]",
    ] {
        assert!(rest.contains(part), "{part} in {rest}");
    }
    assert!(rest.ends_with("0\r\n\r\n"), "{rest}");
}
