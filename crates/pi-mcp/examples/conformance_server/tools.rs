//! The tools of the suite.

use std::time::Duration;

use pi_jsonrpc::Error;
use pi_mcp::protocol::LoggingLevel;
use pi_mcp::server::{Change, Context, error_result, text_result};
use serde_json::{Map, Value, json};

use super::{PIXEL, jobs, questions};

/// An empty recording.
const SILENCE: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

const PLAIN: &[&str] = &[
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_tool_with_logging",
    "test_logging_tool",
    "test_tool_with_progress",
    "test_error_handling",
    "test_missing_capability",
    "test_trigger_tool_change",
    "test_trigger_prompt_change",
    "test_reconnection",
];

pub(crate) fn list() -> Vec<Value> {
    let names = [PLAIN, questions::NAMES, jobs::NAMES].concat();
    let mut tools: Vec<Value> = names.into_iter().map(|name| tool(name, schema(name))).collect();
    tools.push(tool("greet", fields(&["name"])));
    let region = json!({ "type": "string", "x-mcp-header": "Region" });
    let with_header = json!({ "type": "object", "properties": { "region": region } });
    tools.push(tool("test_header", with_header));
    tools.push(tool("json_schema_2020_12_tool", full_schema()));
    tools
}

fn tool(name: &str, schema: Value) -> Value {
    let mut tool = json!({ "name": name, "description": format!("Fixture {name}") });
    tool["inputSchema"] = schema;
    if jobs::NAMES.contains(&name) {
        let support = if name == "slow_compute" { "optional" } else { "required" };
        tool["execution"] = json!({ "taskSupport": support });
    }
    tool
}

fn schema(name: &str) -> Value {
    match name {
        "test_sampling" => fields(&["prompt"]),
        "test_elicitation" => fields(&["message"]),
        _ => json!({ "type": "object", "properties": {} }),
    }
}

fn fields(names: &[&str]) -> Value {
    let properties: Map<String, Value> =
        names.iter().map(|name| ((*name).to_owned(), json!({ "type": "string" }))).collect();
    json!({ "type": "object", "properties": properties, "required": names })
}

fn full_schema() -> Value {
    let street = json!({ "street": { "type": "string" }, "city": { "type": "string" } });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": { "$anchor": "addressDef", "type": "object", "properties": street },
        },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" },
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": {
            "properties": { "contactMethod": { "const": "phone" } },
            "required": ["contactMethod"],
        },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false,
    })
}

pub(crate) async fn call(
    name: &str,
    arguments: &Map<String, Value>,
    context: &Context,
) -> Result<Value, Error> {
    if questions::NAMES.contains(&name) {
        return questions::call(name, arguments, context).await;
    }
    if jobs::NAMES.contains(&name) {
        return jobs::call(name, arguments, context).await;
    }
    let image = json!({ "type": "image", "data": PIXEL, "mimeType": "image/png" });
    Ok(match name {
        "test_simple_text" => text_result("This is a simple text response for testing."),
        "test_image_content" => json!({ "content": [image] }),
        "test_audio_content" => {
            json!({ "content": [{ "type": "audio", "data": SILENCE, "mimeType": "audio/wav" }] })
        }
        "test_embedded_resource" => {
            let text = "This is an embedded resource content.";
            json!({ "content": [embedded("test://embedded-resource", "text/plain", text)] })
        }
        "test_multiple_content_types" => {
            let data = json!({ "test": "data", "value": 123 }).to_string();
            let text = json!({ "type": "text", "text": "Multiple content types test:" });
            let resource = embedded("test://mixed-content-resource", "application/json", &data);
            json!({ "content": [text, image, resource] })
        }
        "test_tool_with_logging" | "test_logging_tool" => {
            for step in
                ["Tool execution started", "Tool processing data", "Tool execution completed"]
            {
                context.log(LoggingLevel::Info, "conformance", &json!(step));
                pause().await;
            }
            text_result("logged")
        }
        "test_tool_with_progress" => {
            for step in [0.0, 50.0, 100.0] {
                context.progress(step, Some(100.0), None);
                pause().await;
            }
            text_result("done")
        }
        "test_error_handling" => {
            error_result("This tool intentionally returns an error for testing")
        }
        "test_missing_capability" => {
            context.client().require("sampling")?;
            text_result("the client has sampling")
        }
        "test_trigger_tool_change" => {
            context.changed(Change::Tools);
            text_result("changed")
        }
        "test_trigger_prompt_change" => {
            context.changed(Change::Prompts);
            text_result("changed")
        }
        "test_reconnection" => {
            context.progress(0.0, None, None);
            context.log(LoggingLevel::Info, "conformance", &json!("the stream closes"));
            pause().await;
            context.close_stream().await;
            pause().await;
            text_result("after the stream was closed")
        }
        "greet" => {
            let name = arguments.get("name").and_then(Value::as_str).unwrap_or("stranger");
            text_result(format!("Hello, {name}!"))
        }
        "test_header" | "json_schema_2020_12_tool" => text_result("accepted"),
        _ => return Err(Error::invalid_params(format_args!("unknown tool: {name}"))),
    })
}

fn embedded(uri: &str, mime_type: &str, text: &str) -> Value {
    let resource = json!({ "uri": uri, "mimeType": mime_type, "text": text });
    json!({ "type": "resource", "resource": resource })
}

async fn pause() {
    tokio::time::sleep(Duration::from_millis(50)).await;
}
