//! The declarations of the tools.

use pi_host::ceiling::LIMITS;
use serde_json::{Map, Value, json};

/// Returns the declarations of all tools.
pub(super) fn list() -> Vec<Value> {
    vec![run(), reply(), status(), abort()]
}

fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

/// Adds the arguments that `run` and `reply` share.
fn with_common(mut properties: Value) -> Value {
    let limits: Map<String, Value> = LIMITS
        .iter()
        .map(|(name, _)| {
            let kind = if *name == "cost_usd" { "number" } else { "integer" };
            ((*name).to_owned(), json!({ "type": kind, "exclusiveMinimum": 0 }))
        })
        .collect();
    properties["model"] =
        text("Model, such as PROVIDER/ID. Not allowed if the server has a fixed one.");
    properties["profile"] = json!({
        "type": "string",
        "enum": ["explore", "careful", "unattended"],
        "description": "Safety profile. It must be that of the server, unless that is explore.",
    });
    properties["limits"] = json!({
        "type": "object",
        "properties": limits,
        "additionalProperties": false,
        "description": "Limits of the run. They can only be lower than those of the server.",
    });
    properties["output_schema"] =
        json!({ "type": "object", "description": "JSON Schema that the result must match." });
    properties
}

fn run() -> Value {
    let properties = with_common(json!({
        "prompt": text("The task, with everything that the agent needs to know."),
        "cwd": text("Directory to work in. It must be one of this server's directories or below."),
    }));
    work(
        "run",
        "Run a coding agent",
        "Give a task to the coding agent pi in a new session, and wait for its answer. The agent \
         reads, changes and runs files in the directory. Use reply to continue the session.",
        properties,
        &["prompt"],
    )
}

fn reply() -> Value {
    let properties = with_common(json!({
        "sessionId": text("Id of the session, from the result of run."),
        "prompt": text("The next message to the agent."),
    }));
    work(
        "reply",
        "Continue a session",
        "Send another message to the agent of an earlier run, in the same session and directory, \
         and wait for its answer. Without profile and limits, those of the earlier run apply.",
        properties,
        &["sessionId", "prompt"],
    )
}

/// A tool that starts the agent.
fn work(name: &str, title: &str, description: &str, properties: Value, required: &[&str]) -> Value {
    let annotations = json!({
        "readOnlyHint": false,
        "destructiveHint": true,
        "idempotentHint": false,
        "openWorldHint": true,
    });
    let mut tool = tool(name, title, description, properties, required);
    tool["annotations"] = annotations;
    tool["outputSchema"] = json!({
        "type": "object",
        "properties": {
            "runId": { "type": "string" },
            "sessionId": { "type": "string" },
            "outcome": {
                "type": "string",
                "description": "completed if the agent has ended by itself.",
            },
            "text": { "type": "string" },
            "result": { "description": "The result that matches output_schema." },
            "error": { "type": "string" },
            "usage": { "type": "object" },
            "files": { "type": "array", "items": { "type": "object" } },
        },
        "required": ["runId", "sessionId", "outcome", "usage", "files"],
    });
    tool["execution"] = json!({ "taskSupport": "optional" });
    tool
}

fn status() -> Value {
    let properties = json!({ "sessionId": text("Only runs of this session.") });
    let description = "List the runs of this server: those in progress and the latest that ended.";
    let mut tool = tool("status", "List runs", description, properties, &[]);
    tool["annotations"] = json!({ "readOnlyHint": true, "openWorldHint": false });
    tool
}

fn abort() -> Value {
    let properties = json!({ "sessionId": text("Id of the session.") });
    let description = "Abort the run of a session. What it has done so far stays.";
    let mut tool = tool("abort", "Abort a run", description, properties, &["sessionId"]);
    tool["annotations"] =
        json!({ "readOnlyHint": false, "destructiveHint": false, "idempotentHint": true });
    tool
}

fn tool(name: &str, title: &str, description: &str, properties: Value, required: &[&str]) -> Value {
    let mut schema =
        json!({ "type": "object", "required": required, "additionalProperties": false });
    schema["properties"] = properties;
    let mut tool = json!({ "name": name, "title": title, "description": description });
    tool["inputSchema"] = schema;
    tool
}
