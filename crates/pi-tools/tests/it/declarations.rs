//! The declarations of the tools, as models see them.

use std::path::Path;
use std::sync::Arc;

use pi_agent::AgentTool;
use pi_ai::wire::{self, Call};
use pi_ai::{Context, Model, Request, StreamOptions, ToolCall};
use pi_protocol::{ConstrainedSampling, StrictMode, Tool};
use pi_schema::arguments::check;
use pi_tools::{BackgroundProcesses, Host, Workspace, toolset};
use serde_json::{Value, json};

use crate::call::workspace;

fn plain() -> Arc<Workspace> {
    workspace(Path::new("/"))
}

/// Returns the tools that the TypeScript pi has, too.
fn shared_tools() -> Vec<Arc<dyn AgentTool>> {
    let mut tools = toolset::all(&plain());
    tools.truncate(7);
    tools
}

fn with_background() -> Arc<Workspace> {
    let workspace = Workspace::new(Arc::new(Host::default()), "/".into(), None);
    Arc::new(workspace.with_background(Arc::new(BackgroundProcesses::default())))
}

fn show(tool: &dyn AgentTool) -> String {
    let declaration = serde_json::to_string_pretty(tool.declaration()).unwrap();
    let snippet = tool.prompt_snippet().unwrap_or_default();
    let guidelines: String =
        tool.prompt_guidelines().iter().map(|line| format!("- {line}\n")).collect();
    format!("{snippet}\n{guidelines}{declaration}\n")
}

#[test]
fn declarations_match_the_snapshots() {
    let shown: Vec<String> = shared_tools().iter().map(|tool| show(&**tool)).collect();
    insta::assert_snapshot!("declarations", shown.join("\n"));
    let workspace = with_background();
    let additional = toolset::all(&workspace)
        .into_iter()
        .filter(|tool| ["bash", "process"].contains(&tool.declaration().name.as_str()));
    let shown: Vec<String> = additional.map(|tool| show(&*tool)).collect();
    insta::assert_snapshot!("declarations_with_background", shown.join("\n"));
}

#[test]
fn each_tool_has_a_prompt_line() {
    for tool in toolset::all(&with_background()) {
        let snippet = tool.prompt_snippet().unwrap_or_default();
        let name = &tool.declaration().name;
        assert!(!snippet.is_empty() && !snippet.contains('\n'), "{name}");
        assert!(tool.prompt_guidelines().iter().all(|line| !line.contains('\n')), "{name}");
    }
}

/// A schema without descriptions.
fn without_descriptions(mut schema: Value) -> Value {
    fn strip(schema: &mut Value) {
        let Some(object) = schema.as_object_mut() else { return };
        object.remove("description");
        if let Some(Value::Object(properties)) = object.get_mut("properties") {
            properties.values_mut().for_each(strip);
        }
        object.get_mut("items").into_iter().for_each(strip);
    }
    strip(&mut schema);
    schema
}

#[test]
fn parameters_match_the_typescript_pi() {
    let fixture: Value =
        serde_json::from_str(include_str!("../fixtures/declarations.json")).unwrap();
    let observed = fixture["parameters"].as_object().unwrap();
    let tools = shared_tools();
    assert_eq!(tools.len(), observed.len());
    for tool in tools {
        let Tool { name, parameters, .. } = tool.declaration().clone();
        assert_eq!(without_descriptions(parameters), observed[&name], "{name}");
    }
}

/// The tools as sent to a provider that enforces schemas.
fn sent(api: &str, compat: &Value, tools: &[Arc<dyn AgentTool>]) -> Vec<Value> {
    let model: Model = serde_json::from_value(json!({
        "id": "m", "api": api, "provider": "p", "baseUrl": "http://localhost", "reasoning": false,
        "input": ["text"], "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0 },
        "contextWindow": 1000, "maxTokens": 100, "compat": compat,
    }))
    .unwrap();
    let mut context = Context::new().user("q");
    for tool in tools {
        let mut declaration = tool.declaration().clone();
        if declaration.constrained_sampling.is_some() {
            // The encoder then fails instead of falling back.
            declaration.constrained_sampling =
                Some(ConstrainedSampling::JsonSchema { strict: StrictMode::Require });
        }
        context = context.tool(declaration);
    }
    let request = Request::new(Arc::new(model), context, StreamOptions::default());
    let call = Call::new(request, Some("k".to_owned().into()), &|_| None);
    let body = (wire::format(api).unwrap().encode)(&call).unwrap().body;
    body["tools"].as_array().unwrap().clone()
}

#[test]
fn strict_schemas_keep_all_parameters() {
    let formats = [
        ("openai-completions", json!({ "supportsStrictMode": true }), "/function", "parameters"),
        ("anthropic-messages", json!({ "supportsStrictTools": true }), "", "input_schema"),
    ];
    for workspace in [plain(), with_background()] {
        let tools = toolset::all(&workspace);
        for (api, compat, at, parameters) in &formats {
            let sent = sent(api, compat, &tools);
            assert_eq!(sent.len(), tools.len());
            for (tool, sent) in tools.iter().zip(sent) {
                let Tool { name, parameters: schema, .. } = tool.declaration();
                let sent = sent.pointer(at).unwrap();
                let wanted = ["read", "write", "edit", "bash"].contains(&name.as_str());
                let strict = sent.get("strict").is_some_and(|strict| strict == true);
                assert_eq!(strict, wanted, "{api} {name}");
                if !wanted {
                    continue;
                }
                let strict = &sent[*parameters];
                let properties = schema["properties"].as_object().unwrap();
                let names: Vec<&String> = properties.keys().collect();
                assert_eq!(strict["required"], json!(names), "{api} {name}");
                for (property, plain) in properties {
                    let required = schema["required"].as_array().unwrap();
                    let kind = &strict["properties"][property];
                    if required.contains(&json!(property)) {
                        assert_eq!(kind["type"], plain["type"], "{api} {name} {property}");
                    } else {
                        let nullable = json!({ "anyOf": [plain, { "type": "null" }] });
                        assert_eq!(kind, &nullable, "{api} {name} {property}");
                    }
                }
            }
        }
    }
}

#[test]
fn null_options_of_strict_models_are_removed() {
    let tools = toolset::all(&with_background());
    let cases = [
        ("read", json!({ "path": "f", "offset": null, "limit": null }), json!({ "path": "f" })),
        (
            "bash",
            json!({ "command": "c", "timeout": null, "background": null }),
            json!({ "command": "c" }),
        ),
    ];
    for (name, arguments, expected) in cases {
        let tool = tools.iter().find(|tool| tool.declaration().name == name).unwrap();
        let arguments = arguments.as_object().cloned().unwrap();
        let call = ToolCall { name: name.to_owned(), arguments, ..ToolCall::default() };
        let checked = check(&call, &tool.declaration().parameters).unwrap();
        assert_eq!(Value::Object(checked), expected, "{name}");
    }
}
