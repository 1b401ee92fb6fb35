//! The client that the official conformance suite of the protocol drives. `cargo xtask interop mcp`
//! starts it.
//!
//! `conformance_client URL` connects, lists everything and uses everything once: what the suite
//! wants to see is in the messages. `MCP_CONFORMANCE_CONTEXT` names calls with their arguments, or a
//! registered client. If the server asks for a token, the client signs in.

mod authorization;

use std::process::ExitCode;
use std::sync::Arc;

use pi_jsonrpc::Error;
use pi_mcp::BoxFuture;
use pi_mcp::client::{CallOptions, Client, ClientError, ClientOptions, Handler};
use pi_mcp::protocol::{
    CreateMessageParams, CreateMessageResult, ElicitAction, ElicitParams, ElicitResult,
    Elicitation, Implementation, ListChanged, Role, Root, Sampling, Tool,
};
use pi_mcp::transport::{Http, Transport};
use pi_web::WebClient;
use serde_json::{Map, Value, json};

use authorization::SignsIn;

/// Accepts every question with its default values.
struct Agreeable;

impl Handler for Agreeable {
    fn roots(&self) -> BoxFuture<'_, Result<Vec<Root>, Error>> {
        let root = Root { uri: "file:///work".to_owned(), ..Root::default() };
        Box::pin(async { Ok(vec![root]) })
    }

    fn sample(
        &self,
        _request: CreateMessageParams,
    ) -> BoxFuture<'_, Result<CreateMessageResult, Error>> {
        Box::pin(async {
            Ok(CreateMessageResult {
                role: Role::Assistant,
                content: json!({ "type": "text", "text": "An answer." }),
                model: "none".to_owned(),
                stop_reason: Some("endTurn".to_owned()),
            })
        })
    }

    fn elicit(&self, request: ElicitParams) -> BoxFuture<'_, Result<ElicitResult, Error>> {
        let content = (!request.is_url()).then(|| request.defaults());
        Box::pin(async { Ok(ElicitResult { action: ElicitAction::Accept, content }) })
    }

    fn problem(&self, problem: &str) {
        note(problem);
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let Some(url) = std::env::args().next_back().and_then(|url| url.parse().ok()) else {
        note("usage: conformance_client URL");
        return ExitCode::from(2);
    };
    match run(url).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            note(&error);
            ExitCode::FAILURE
        }
    }
}

async fn run(url: url::Url) -> Result<(), String> {
    let info = Implementation::new("pi", env!("CARGO_PKG_VERSION"));
    let mut options = ClientOptions::new(info, Arc::new(Agreeable));
    options.capabilities.roots = Some(ListChanged::default());
    options.capabilities.sampling = Some(Sampling::default());
    options.capabilities.elicitation =
        Some(Elicitation { form: Some(json!({})), url: Some(json!({})) });
    let web = WebClient::new(Arc::new(|_| None));
    let mut http = Http::new(url.clone(), web.clone());
    http.authorization = Some(Arc::new(SignsIn::new(url, web, &context())));
    let connected = Client::connect(Transport::Http(http), options).await;
    let client = connected.map_err(|error| error.to_string())?;
    let used = use_everything(&client).await;
    client.close().await;
    used.map_err(|error| error.to_string())
}

/// Calls every tool, reads every resource and fills in every prompt.
async fn use_everything(client: &Client) -> Result<(), ClientError> {
    let options = CallOptions::default();
    let tools = client.list_tools().await?;
    for (name, arguments) in calls(&tools.items) {
        if let Err(error) = client.call_tool(&name, arguments, &options).await {
            note(&format!("{name}: {error}"));
        }
    }
    let offered = client.facts().capabilities;
    if offered.resources.is_some() {
        for resource in client.list_resources().await?.items {
            client.read_resource(&resource.uri, &options).await?;
        }
    }
    if offered.prompts.is_some() {
        for prompt in client.list_prompts().await?.items {
            let arguments = prompt.arguments.into_iter().map(|one| (one.name, json!("text")));
            if let Err(error) = client.get_prompt(&prompt.name, arguments.collect(), &options).await
            {
                note(&format!("{}: {error}", prompt.name));
            }
        }
    }
    Ok(())
}

/// Returns the calls that the suite asks for, or one call of every tool.
fn calls(tools: &[Tool]) -> Vec<(String, Map<String, Value>)> {
    let asked = context()["toolCalls"].as_array().map(|calls| {
        let calls = calls.iter().filter_map(|call| {
            let arguments = call["arguments"].as_object().cloned().unwrap_or_default();
            Some((call["name"].as_str()?.to_owned(), arguments))
        });
        calls.filter(|(name, _)| tools.iter().any(|tool| tool.name == *name)).collect()
    });
    asked.unwrap_or_else(|| {
        let calls = tools.iter().map(|tool| {
            let mut arguments = example(&tool.input_schema);
            // The suite looks at what a client kept of the schema of the first tool.
            if tool.name == "json_schema_echo" {
                arguments.insert("schema".to_owned(), tools[0].input_schema.clone());
            }
            (tool.name.clone(), arguments)
        });
        calls.collect()
    })
}

/// Returns what the suite tells about the scenario.
fn context() -> Value {
    #[expect(clippy::disallowed_methods, reason = "the suite speaks through the environment")]
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    serde_json::from_str(&context).unwrap_or_default()
}

/// Makes arguments that fit a simple schema.
fn example(schema: &Value) -> Map<String, Value> {
    let properties = schema["properties"].as_object().into_iter().flatten();
    let arguments = properties.map(|(name, property)| {
        let value = match property["type"].as_str() {
            Some("integer" | "number") => json!(2),
            Some("boolean") => json!(true),
            Some("array") => json!([]),
            Some("object") => Value::Object(example(property)),
            _ => json!("text"),
        };
        (name.clone(), value)
    });
    arguments.collect()
}

#[allow(clippy::print_stderr)] // The output of this program.
fn note(text: &str) {
    eprintln!("{text}");
}
