//! Tools of the session: lists, activation, and calls that a tool makes.

use std::sync::Arc;

use pi_agent::{AgentTool, Updates};
use pi_coding_agent::AgentSession;
use pi_coding_agent::extension::{Exposure, Registry, ToolRegistration};
use pi_coding_agent::session::NestedCall;
use pi_protocol::CancelToken;
use rquickjs::{Ctx, Function, Object};
use serde_json::{Map, Value, json};

use super::{cancellable, session_of};
use crate::host::{ExtensionId, Host};
use crate::value::Json;

pub(super) fn install<'js>(ctx: &Ctx<'js>, host: &Host) -> rquickjs::Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    let state = host.clone();
    object.set(
        "getActiveTools",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, id: ExtensionId| {
            let session = session_of(&ctx, &state, id)?;
            session.refresh_registry();
            let active = session.active_tools();
            let names = active.iter().map(|tool| tool.declaration().name.clone());
            Ok::<_, rquickjs::Error>(names.collect::<Vec<String>>())
        })?,
    )?;
    let state = host.clone();
    object.set(
        "setActiveTools",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, id: ExtensionId, names: Vec<String>| {
            let session = session_of(&ctx, &state, id)?;
            session.refresh_registry();
            session.set_active_tools(&names);
            Ok::<_, rquickjs::Error>(())
        })?,
    )?;
    let state = host.clone();
    object.set(
        "getAllTools",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, id: ExtensionId| {
            let session = session_of(&ctx, &state, id)?;
            session.refresh_registry();
            Ok::<_, rquickjs::Error>(Json(Value::Array(all_tools(&session))))
        })?,
    )?;
    let state = host.clone();
    object.set(
        "getCallableTools",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, id: ExtensionId| {
            let tools = session_of(&ctx, &state, id)?.callable();
            let tools = tools.iter().map(|callable| {
                let (tool, declaration) = (&callable.tool, callable.tool.declaration());
                json!({
                    "name": declaration.name,
                    "label": tool.label(),
                    "description": declaration.description,
                    "parameters": declaration.parameters,
                })
            });
            Ok::<_, rquickjs::Error>(Json(tools.collect()))
        })?,
    )?;
    let state = host.clone();
    object.set(
        "getCommands",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, id: ExtensionId| {
            let commands = session_of(&ctx, &state, id)?.commands();
            Ok::<_, rquickjs::Error>(Json(json!(commands)))
        })?,
    )?;
    let state = host.clone();
    object.set("executeTool", execute_tool(ctx, &state)?)?;
    Ok(object)
}

/// Returns `executeTool(id, { id, parentId, name, arguments }, onUpdate)`, which returns
/// `{ promise, cancel }`.
fn execute_tool<'js>(ctx: &Ctx<'js>, host: &Host) -> rquickjs::Result<Function<'js>> {
    let host = host.clone();
    Function::new(ctx.clone(), move |ctx: Ctx<'js>, id: ExtensionId, call: Json, number: f64| {
        let session = session_of(&ctx, &host, id)?;
        let text = |name: &str| call.0[name].as_str().unwrap_or_default().to_owned();
        let arguments = call.0["arguments"].as_object().cloned().unwrap_or_else(Map::new);
        let nested = NestedCall {
            id: text("id"),
            parent_id: text("parentId"),
            name: text("name"),
            arguments,
            budget: None,
        };
        let cancel = CancelToken::new();
        let poster = host.poster();
        let updates = Updates::new(move |output| {
            let partial = Json(json!(output));
            poster.post(move |ctx, host| {
                let arguments = [
                    rquickjs::IntoJs::into_js(number, ctx),
                    rquickjs::IntoJs::into_js(partial, ctx),
                ];
                let called = arguments
                    .into_iter()
                    .collect::<rquickjs::Result<Vec<_>>>()
                    .and_then(|arguments| host.call_entry(ctx, "nestedUpdate", arguments));
                if let Err(error) = called {
                    crate::native::report_uncaught(ctx, host, &error);
                }
            });
        });
        let token = cancel.clone();
        let promise = host.promise_on_main(&ctx, async move {
            let finished = session.execute_nested(nested, token, updates).await;
            let mut outcome = json!({ "result": finished.result, "isError": finished.is_error });
            if let Some(duration) = finished.duration_ms {
                outcome["durationMs"] = json!(duration);
            }
            Ok(Json(outcome))
        })?;
        cancellable(&ctx, promise, cancel)
    })
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
