//! Tools of the session: lists, activation, and calls that a tool makes.

use std::sync::Arc;

use pi_agent::{AgentTool, Updates};
use pi_coding_agent::AgentSession;
use pi_coding_agent::extension::{Exposure, Registry, ToolRegistration};
use pi_coding_agent::session::NestedCall;
use pi_protocol::CancelToken;
use serde_json::{Map, Value, json};

use super::{cancellable, refreshed_session_of, session_of};
use crate::host::{Answer, Call, Natives};

pub(super) const FUNCTIONS: Natives = &[
    ("getActiveTools", |call| {
        let active = refreshed_session_of(call)?.active_tools();
        let names = active.iter().map(|tool| tool.declaration().name.clone());
        call.reply(names.collect::<Vec<String>>())
    }),
    ("setActiveTools", |call| {
        refreshed_session_of(call)?.set_active_tools(&call.texts(1)?);
        call.done()
    }),
    ("getAllTools", |call| call.reply(Value::Array(all_tools(&refreshed_session_of(call)?)))),
    ("getCallableTools", |call| {
        let tools = session_of(call)?.callable();
        let tools = tools.iter().map(|callable| {
            let (tool, declaration) = (&callable.tool, callable.tool.declaration());
            json!({
                "name": declaration.name,
                "label": tool.label(),
                "description": declaration.description,
                "parameters": declaration.parameters,
            })
        });
        call.reply(tools.collect::<Value>())
    }),
    ("getCommands", |call| call.reply(json!(session_of(call)?.commands()))),
    ("executeTool", execute_tool),
];

/// `executeTool(id, { id, parentId, name, arguments }, number)` returns `{ promise, cancel }`; the
/// number is that of a function for updates.
fn execute_tool<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let (session, given, number) = (session_of(call)?, call.json(1)?, call.number(2)?);
    let text = |name: &str| given[name].as_str().unwrap_or_default().to_owned();
    let nested = NestedCall {
        id: text("id"),
        parent_id: text("parentId"),
        name: text("name"),
        arguments: given["arguments"].as_object().cloned().unwrap_or_else(Map::new),
        budget: None,
    };
    let cancel = CancelToken::new();
    let poster = call.host.poster();
    let updates = Updates::new(move |output| {
        poster.post_call("nestedUpdate", vec![number.into(), json!(output).into()]);
    });
    let token = cancel.clone();
    let promise = call.promise_on_main(async move {
        let finished = session.execute_nested(nested, token, updates).await;
        let mut outcome = json!({ "result": finished.result, "isError": finished.is_error });
        if let Some(duration) = finished.duration_ms {
            outcome["durationMs"] = json!(duration);
        }
        Ok(outcome.into())
    })?;
    cancellable(call, promise, cancel)
}

/// Describes all tools: those of the session, then those of extensions that only other tools see.
fn all_tools(session: &AgentSession) -> Vec<Value> {
    let registry = session.extensions().registry();
    let registered = registry.owned_tools();
    let find = |name: &str| registered.iter().find(|(_, one)| one.tool.declaration().name == name);
    let all = session.all_tools();
    let mut described: Vec<Value> = Vec::new();
    for tool in all.iter().filter(|tool| find(&tool.declaration().name).is_none()) {
        described.push(describe(registry, tool, None));
    }
    // Tools of extensions come in the order of their registration, except for those that replace a
    // built-in one and keep its place.
    let builtin =
        |name: &str| pi_tools::toolset::BUILTIN_TOOLS.iter().position(|tool| tool.name == name);
    for (owner, registration) in &registered {
        let name = &registration.tool.declaration().name;
        let item = describe(registry, &registration.tool, Some((owner, registration)));
        match builtin(name) {
            Some(at) => {
                let before = described.iter().position(|other| {
                    other["name"].as_str().and_then(builtin).is_none_or(|place| place > at)
                });
                described.insert(before.unwrap_or(described.len()), item);
            }
            None => described.push(item),
        }
    }
    described
}

fn describe(
    registry: &Registry,
    tool: &Arc<dyn AgentTool>,
    registered: Option<(&String, &ToolRegistration)>,
) -> Value {
    let declaration = tool.declaration();
    let guidelines = tool.prompt_guidelines();
    let mut item = json!({
        "name": declaration.name,
        "description": declaration.description,
        "parameters": declaration.parameters,
    });
    if !guidelines.is_empty() {
        item["promptGuidelines"] = json!(guidelines);
    }
    let exposure = registered.map_or(Exposure::Direct, |(_, one)| one.exposure);
    item["exposure"] = json!(exposure.as_str());
    if let Some((_, registration)) = registered {
        if let Some(namespace) = &registration.namespace {
            item["namespace"] = namespace.clone();
        }
        if let Some(annotations) = &registration.annotations {
            item["annotations"] = annotations.clone();
        }
    }
    item["sourceInfo"] = match registered {
        Some((owner, _)) => registry.source_info(owner).unwrap_or_default(),
        None => json!({
            "path": format!("builtin:{}", declaration.name),
            "source": "builtin", "scope": "temporary", "origin": "top-level",
        }),
    };
    item
}
