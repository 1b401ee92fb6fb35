//! The server that the official conformance suite of the protocol expects: tools, resources and
//! prompts with fixed names. `cargo xtask interop mcp` starts it.
//!
//! `conformance_server ADDRESS` serves HTTP and prints its address; without one it serves stdio.

mod jobs;
mod prompts;
mod questions;
mod tools;

use std::sync::Arc;

use pi_jsonrpc::Error;
use pi_jsonrpc::connection::BoxFuture;
use pi_mcp::server::{
    About, Context, HttpOptions, Listing, Offers, Server, Service, unknown_resource,
};
use serde_json::{Map, Value, json};

/// A picture with one red pixel.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

struct Fixtures;

impl Service for Fixtures {
    fn about(&self) -> About {
        About {
            name: "pi-conformance".to_owned(),
            title: None,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            instructions: Some("Fixtures of the conformance suite.".to_owned()),
            offers: Offers {
                tools: true,
                resources: true,
                prompts: true,
                completions: true,
                logging: true,
                tasks: true,
                changes: true,
            },
        }
    }

    fn list(&self, listing: Listing) -> BoxFuture<'_, Result<Vec<Value>, Error>> {
        let items = match listing {
            Listing::Tools => tools::list(),
            Listing::Prompts => prompts::list(),
            Listing::Resources => resources(),
            Listing::ResourceTemplates => vec![json!({
                "uriTemplate": "test://template/{id}/data",
                "name": "template",
                "description": "Data by id",
                "mimeType": "application/json",
            })],
        };
        Box::pin(std::future::ready(Ok(items)))
    }

    fn call_tool(
        &self,
        name: String,
        arguments: Map<String, Value>,
        context: Context,
    ) -> BoxFuture<'_, Result<Value, Error>> {
        Box::pin(async move { tools::call(&name, &arguments, &context).await })
    }

    fn read_resource(&self, uri: String, context: Context) -> BoxFuture<'_, Result<Value, Error>> {
        Box::pin(async move { read(&uri, &context) })
    }

    fn get_prompt(
        &self,
        name: String,
        arguments: Map<String, Value>,
        context: Context,
    ) -> BoxFuture<'_, Result<Value, Error>> {
        Box::pin(async move { prompts::get(&name, &arguments, &context).await })
    }

    fn complete(&self, request: Map<String, Value>) -> BoxFuture<'_, Result<Vec<String>, Error>> {
        let value = request["argument"]["value"].as_str().unwrap_or_default().to_owned();
        let known = ["paris", "park", "party", "testing"];
        let values = known.into_iter().filter(|known| known.starts_with(&value));
        Box::pin(std::future::ready(Ok(values.map(str::to_owned).collect())))
    }
}

fn resources() -> Vec<Value> {
    let resource = |uri: &str, mime_type: &str| {
        let name = uri.trim_start_matches("test://");
        json!({ "uri": uri, "name": name, "description": name, "mimeType": mime_type })
    };
    vec![
        resource("test://static-text", "text/plain"),
        resource("test://static-binary", "image/png"),
        resource("test://watched-resource", "text/plain"),
    ]
}

fn read(uri: &str, context: &Context) -> Result<Value, Error> {
    let id = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
    let content = match (uri, id) {
        ("test://static-text", _) => json!({
            "mimeType": "text/plain",
            "text": "This is the content of the static text resource.",
        }),
        ("test://static-binary", _) => json!({ "mimeType": "image/png", "blob": PIXEL }),
        ("test://watched-resource", _) => json!({ "mimeType": "text/plain", "text": "watched" }),
        (_, Some(id)) => {
            let data =
                json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
            json!({ "mimeType": "application/json", "text": data.to_string() })
        }
        _ => return Err(unknown_resource(uri, context.client().is_modern())),
    };
    let mut content = content;
    content["uri"] = json!(uri);
    Ok(json!({ "contents": [content] }))
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = Server::new(Arc::new(Fixtures));
    let Some(address) = std::env::args().nth(1) else {
        server.serve_pipes(tokio::io::stdin(), tokio::io::stdout()).await;
        return Ok(());
    };
    let listener = tokio::net::TcpListener::bind(address).await?;
    print_address(&listener.local_addr()?.to_string());
    server.serve_http(listener, HttpOptions::default()).await?;
    Ok(())
}

#[allow(clippy::print_stdout)] // The caller waits for the address.
fn print_address(address: &str) {
    println!("http://{address}/mcp");
}
