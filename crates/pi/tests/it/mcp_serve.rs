//! `pi mcp serve`, driven by clients of both eras.

mod ceiling;
mod http;
mod stdio;

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::scenarios::format::{Call, Part, Reply};
use crate::scenarios::server::Server;
use crate::test_env::TestEnv;

/// The time after which a test gives up.
const PATIENCE: Duration = Duration::from_secs(120);

/// Configures a model with these replies.
pub(crate) fn model(env: &TestEnv, replies: Vec<Reply>) -> Server {
    let server = Server::start(replies).unwrap();
    let provider = json!({"baseUrl": server.url(), "apiKey": "secret-key-of-the-model",
        "api": "openai-completions", "models": [{"id": "m1"}]});
    fs::create_dir_all(env.agent()).unwrap();
    let models = json!({"providers": {"mock": provider}}).to_string();
    fs::write(env.agent().join("models.json"), models).unwrap();
    let settings = json!({"defaultProvider": "mock", "defaultModel": "m1"}).to_string();
    fs::write(env.agent().join("settings.json"), settings).unwrap();
    server
}

pub(crate) fn says(text: &str) -> Reply {
    Reply::Text(text.to_owned())
}

pub(crate) fn calls(name: &str, args: Value) -> Reply {
    let (id, name) = ("c".to_owned(), name.to_owned());
    Reply::Parts(vec![Part::Call(Call { id, name, args, pieces: None })])
}

/// A server, and the messages that it sends.
struct Served {
    child: Child,
    stdin: Option<ChildStdin>,
    messages: Receiver<Value>,
}

impl Served {
    fn start(env: &TestEnv, options: &[&str]) -> Self {
        let arguments = [&["mcp", "serve"], options].concat();
        Self::spawn(&mut env.command(&arguments))
    }

    fn spawn(command: &mut Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let message = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"));
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        Self { child, stdin, messages }
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.stdin.as_mut().unwrap(), "{message}").unwrap();
    }

    /// Returns the next message that is not about changes of lists.
    fn receive(&self) -> Value {
        loop {
            let message = self.messages.recv_timeout(PATIENCE).expect("a message of the server");
            if message["method"] != "notifications/resources/list_changed" {
                return message;
            }
        }
    }

    /// Sends a request and returns its response; what comes before it is returned, too.
    fn call(&mut self, request: &Value) -> (Value, Vec<Value>) {
        self.send(request);
        let mut before = Vec::new();
        loop {
            let message = self.receive();
            if message.get("method").is_none() && message["id"] == request["id"] {
                return (message, before);
            }
            before.push(message);
        }
    }

    /// Starts the session of an old client.
    fn initialize(&mut self, capabilities: &Value) -> Value {
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": capabilities,
            "clientInfo": { "name": "test", "version": "1" },
        });
        let (response, _) = self.call(&request(1, "initialize", params));
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        response["result"].clone()
    }

    /// Calls a tool and returns its result.
    fn tool(&mut self, name: &str, arguments: &Value) -> Value {
        let params = json!({ "name": name, "arguments": arguments });
        let (response, _) = self.call(&request(2, "tools/call", params));
        assert!(response.get("error").is_none(), "{response}");
        response["result"].clone()
    }

    /// Closes the input and waits for the end.
    fn finish(mut self) {
        drop(self.stdin.take());
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}");
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn request(id: u64, method: &str, params: Value) -> Value {
    let mut request = json!({ "jsonrpc": "2.0", "id": id, "method": method });
    request["params"] = params;
    request
}

/// Returns a request of a modern client.
fn modern(id: u64, method: &str, mut params: Value, capabilities: &Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    });
    request(id, method, params)
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}"))
}
