//! The server, over pipes and HTTP, with clients of both eras.

mod http;
mod own_client;
mod pipes;
mod refusals;
mod tasks;
mod waiting;

use std::sync::Arc;
use std::time::Duration;

use pi_jsonrpc::Error;
use pi_jsonrpc::connection::BoxFuture;
use pi_mcp::server::{
    About, Change, Context, Listing, Offers, Question, QuestionKind, Server, Service, text_result,
};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

pub(crate) const MODERN: &str = "2026-07-28";

/// A service with one tool per behavior. It reports what happens to its calls.
struct Fixture {
    reports: mpsc::UnboundedSender<&'static str>,
}

/// Makes a server, and the reports of its tools.
fn server() -> (Server, mpsc::UnboundedReceiver<&'static str>) {
    let (reports, receiver) = mpsc::unbounded_channel();
    (Server::new(Arc::new(Fixture { reports })), receiver)
}

impl Service for Fixture {
    fn about(&self) -> About {
        let offers = Offers {
            tools: true,
            resources: true,
            prompts: false,
            completions: false,
            logging: true,
            tasks: true,
            changes: true,
        };
        About {
            name: "fixture".to_owned(),
            title: Some("Fixture".to_owned()),
            version: "1.0".to_owned(),
            instructions: Some("Use it.".to_owned()),
            offers,
        }
    }

    fn list(&self, listing: Listing) -> BoxFuture<'_, Result<Vec<Value>, Error>> {
        let items = match listing {
            Listing::Tools => (0..450).map(|number| tool(&format!("tool_{number}"))).collect(),
            _ => Vec::new(),
        };
        Box::pin(std::future::ready(Ok(items)))
    }

    fn call_tool(
        &self,
        name: String,
        arguments: Map<String, Value>,
        context: Context,
    ) -> BoxFuture<'_, Result<Value, Error>> {
        Box::pin(async move {
            match name.as_str() {
                "echo" => Ok(text_result(json!(arguments).to_string())),
                "greet" => {
                    context.progress(1.0, Some(2.0), Some("asking"));
                    let answers = context.ask(vec![name_question()]).await?;
                    Ok(text_result(format!("Hello, {}", answers["who"]["content"]["name"])))
                }
                "wait" => {
                    let _ = self.reports.send("started");
                    context.progress(0.0, None, None);
                    context.cancel().cancelled().await;
                    let _ = self.reports.send("cancelled");
                    Ok(text_result("too late"))
                }
                "job" => {
                    context.start_task().await?;
                    let answers = context.ask(vec![name_question()]).await?;
                    Ok(text_result(format!("Done for {}", answers["who"]["content"]["name"])))
                }
                "steps" => {
                    context.ask(vec![name_question()]).await?;
                    context.progress(2.0, None, Some("answered"));
                    Ok(text_result("done"))
                }
                "impatient" => {
                    if context.can_start_task() {
                        context.start_task().await?;
                    }
                    let asking = context.ask(vec![name_question()]);
                    match tokio::time::timeout(Duration::from_secs(60), asking).await {
                        Err(_) => drop(self.reports.send("timed out")),
                        Ok(_) => drop(self.reports.send("asked")),
                    }
                    context.cancel().cancelled().await;
                    Ok(text_result("too late"))
                }
                "patient" => {
                    let asked = context.ask(vec![name_question()]).await;
                    let _ = self.reports.send(if asked.is_ok() { "asked" } else { "given up" });
                    Ok(text_result("done"))
                }
                "quick" => {
                    context.start_task().await?;
                    Ok(text_result("done"))
                }
                "change" => {
                    context.changed(Change::Resources);
                    context.changed(Change::Tools);
                    Ok(text_result("changed"))
                }
                _ => Err(Error::invalid_params(format_args!("unknown tool: {name}"))),
            }
        })
    }
}

fn tool(name: &str) -> Value {
    json!({ "name": name, "description": name, "inputSchema": { "type": "object" } })
}

fn name_question() -> Question {
    let name = json!({ "type": "string", "default": "Ada" });
    let schema = json!({ "type": "object", "properties": { "name": name } });
    let params = json!({ "message": "Who?", "requestedSchema": schema });
    Question { key: "who".to_owned(), kind: QuestionKind::Elicitation, params }
}

/// Returns a request of a modern client with all capabilities that the tools need.
fn modern(id: u64, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {
            "elicitation": {},
            "extensions": { "io.modelcontextprotocol/tasks": {} },
        },
        "progressToken": "p",
    });
    legacy(id, method, params)
}

/// Returns a request of an old client.
fn legacy(id: u64, method: &str, params: Value) -> Value {
    let mut request = json!({ "jsonrpc": "2.0", "id": id, "method": method });
    request["params"] = params;
    request
}

fn initialize(version: &str) -> Value {
    let params = json!({
        "protocolVersion": version,
        "capabilities": { "elicitation": {} },
        "clientInfo": { "name": "test", "version": "1" },
    });
    legacy(1, "initialize", params)
}

fn answer(name: &str) -> Value {
    json!({ "action": "accept", "content": { "name": name } })
}
