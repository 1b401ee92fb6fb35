//! Registrations of extensions: handlers, tools, commands, shortcuts, flags, providers.

use std::sync::Arc;

use pi_coding_agent::extension::{
    Command, Exposure, Flag, FlagKind, FlagValue, ProviderRegistration, RegistryError, Shortcut,
    ToolRegistration, VirtualModel,
};
use rquickjs::{Ctx, Function, Object};
use serde_json::{Value, json};

use super::{api_of, mcp_servers};
use crate::error::NativeError;
use crate::extension::{
    JsHandle, JsProvider, JsTool, argument_completer, command_handler, provider_login, router,
};
use crate::host::{ExtensionId, Host};
use crate::value::Json;

pub(super) fn install<'js>(ctx: &Ctx<'js>, host: &Host) -> rquickjs::Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    let state = host.clone();
    object.set(
        "registerTool",
        Function::new(
            ctx.clone(),
            move |ctx: Ctx<'js>, id: ExtensionId, number: u32, tool: Json| {
                register_tool(&state, id, number, &tool.0).map_err(|error| error.throw(&ctx))
            },
        )?,
    )?;
    let state = host.clone();
    object.set(
        "registerCommand",
        Function::new(
            ctx.clone(),
            move |ctx: Ctx<'js>, id: ExtensionId, number: u32, command: Json| {
                register_command(&state, id, number, &command.0).map_err(|error| error.throw(&ctx))
            },
        )?,
    )?;
    let state = host.clone();
    object.set(
        "registerShortcut",
        Function::new(ctx.clone(), move |id: ExtensionId, number: u32, shortcut: Json| {
            register_shortcut(&state, id, number, &shortcut.0);
        })?,
    )?;
    let state = host.clone();
    object.set(
        "registerFlag",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, id: ExtensionId, flag: Json| {
            register_flag(&state, id, &flag.0).map_err(|error| error.throw(&ctx))
        })?,
    )?;
    let state = host.clone();
    object.set(
        "getFlag",
        Function::new(ctx.clone(), move |id: ExtensionId, name: String| {
            let value = api_of(&state, id)?.flag(&name)?;
            Some(Json(match value {
                FlagValue::Boolean(value) => value.into(),
                FlagValue::String(value) => value.into(),
            }))
        })?,
    )?;
    let state = host.clone();
    object.set(
        "registerProvider",
        Function::new(
            ctx.clone(),
            move |ctx: Ctx<'js>,
                  id: ExtensionId,
                  number: u32,
                  name: String,
                  config: Json,
                  streams: bool,
                  login: Json| {
                let functions = Functions { number, streams, login: login.0 };
                register_provider(&state, id, name, config.0, &functions)
                    .map_err(|error| error.throw(&ctx))
            },
        )?,
    )?;
    let state = host.clone();
    object.set(
        "unregisterProvider",
        Function::new(ctx.clone(), move |id: ExtensionId, name: String| {
            if let Some(api) = api_of(&state, id) {
                api.registry().unregister_provider(&name);
                refresh(&state, id);
            }
        })?,
    )?;
    let state = host.clone();
    object.set(
        "registerVirtualModel",
        Function::new(
            ctx.clone(),
            move |ctx: Ctx<'js>, id: ExtensionId, number: u32, model: Json| {
                register_virtual_model(&state, id, number, &model.0)
                    .map_err(|error| error.throw(&ctx))
            },
        )?,
    )?;
    let state = host.clone();
    object.set(
        "unregisterVirtualModel",
        Function::new(ctx.clone(), move |id: ExtensionId, provider: String, model: String| {
            if let Some(api) = api_of(&state, id) {
                api.registry().unregister_virtual_model(&provider, &model);
                refresh(&state, id);
            }
        })?,
    )?;
    let state = host.clone();
    object.set(
        "registerMcpServer",
        Function::new(
            ctx.clone(),
            move |ctx: Ctx<'js>, id: ExtensionId, name: String, config: Json| {
                mcp_servers::register(&state, id, &name, config.0)
                    .map_err(|error| error.throw(&ctx))
            },
        )?,
    )?;
    let state = host.clone();
    object.set(
        "unregisterMcpServer",
        Function::new(ctx.clone(), move |id: ExtensionId, name: String| {
            if let Some(api) = api_of(&state, id) {
                api.registry().unregister_mcp_server(api.path(), &name);
            }
        })?,
    )?;
    let state = host.clone();
    object.set(
        "getMcpServers",
        Function::new(ctx.clone(), move |id: ExtensionId| {
            let servers = api_of(&state, id).map(|api| api.registry().mcp_servers());
            let shown = servers.into_iter().flatten().map(|(owner, server)| {
                json!({ "name": server.name, "config": server.config, "extensionPath": owner })
            });
            Json(shown.collect())
        })?,
    )?;
    Ok(object)
}

/// Returns the registrations of an extension and the place of a function of it in JavaScript.
fn registering(
    host: &Host,
    id: ExtensionId,
    number: u32,
) -> Result<(pi_coding_agent::extension::ExtensionApi, JsHandle), NativeError> {
    let gone = || NativeError::new("the extension is not loaded");
    let api = api_of(host, id).ok_or_else(gone)?;
    let thread = host.with_extension(id, |extension| extension.thread.clone()).ok_or_else(gone)?;
    Ok((api, JsHandle::new(thread, id, number)))
}

fn register_tool(
    host: &Host,
    id: ExtensionId,
    number: u32,
    description: &Value,
) -> Result<(), NativeError> {
    let (api, handle) = registering(host, id, number)?;
    let text = |name: &str| description[name].as_str().map(str::to_owned);
    let exposure = match text("exposure") {
        None => Exposure::Direct,
        Some(name) => Exposure::from_name(&name).ok_or_else(|| {
            NativeError::new(format!(
                "Tool \"{}\" has an unknown exposure: {name}",
                description["name"]
            ))
        })?,
    };
    let default_active = description["defaultActive"].as_bool().unwrap_or(true);
    let (namespace, annotations) =
        (object_of(&description["namespace"]), object_of(&description["annotations"]));
    let tool = JsTool::new(handle, description)?;
    let mut registration = ToolRegistration::new(Arc::new(tool)).exposure(exposure);
    registration.namespace = namespace;
    registration.annotations = annotations;
    registration.output_schema = object_of(&description["outputSchema"]);
    registration.default_active = default_active;
    api.register_tool(registration).map_err(refused)?;
    refresh(host, id);
    Ok(())
}

fn object_of(value: &Value) -> Option<Value> {
    value.is_object().then(|| value.clone())
}

/// Lets the session see a registration that comes after its start.
fn refresh(host: &Host, id: ExtensionId) {
    if let Some(session) = host.context(id).and_then(|context| context.session()) {
        session.refresh_registry();
    }
}

fn register_command(
    host: &Host,
    id: ExtensionId,
    number: u32,
    command: &Value,
) -> Result<(), NativeError> {
    let (api, handle) = registering(host, id, number)?;
    let handle = Arc::new(handle);
    let run = command_handler(&handle, "runCommand");
    let mut registered =
        Command::new(command["name"].as_str().unwrap_or_default(), "", |_, _| async { Ok(()) });
    registered.handler = run;
    registered.description = command["description"].as_str().map(str::to_owned);
    if command["completes"].as_bool() == Some(true) {
        registered = registered.completer(argument_completer(&handle));
    }
    api.register_command(registered).map_err(refused)
}

fn register_shortcut(host: &Host, id: ExtensionId, number: u32, shortcut: &Value) {
    let Ok((api, handle)) = registering(host, id, number) else { return };
    api.register_shortcut(Shortcut {
        key: shortcut["key"].as_str().unwrap_or_default().to_owned(),
        description: shortcut["description"].as_str().map(str::to_owned),
        handler: command_handler(&Arc::new(handle), "runShortcut"),
    });
}

fn register_flag(host: &Host, id: ExtensionId, flag: &Value) -> Result<(), NativeError> {
    let Some(api) = api_of(host, id) else { return Ok(()) };
    let default = match &flag["default"] {
        Value::Bool(value) => Some(FlagValue::Boolean(*value)),
        Value::String(value) => Some(FlagValue::String(value.clone())),
        _ => None,
    };
    let kind = match flag["type"].as_str() {
        Some("string") => FlagKind::String,
        _ => FlagKind::Boolean,
    };
    let registered = api.register_flag(Flag {
        name: flag["name"].as_str().unwrap_or_default().to_owned(),
        kind,
        default,
        description: flag["description"].as_str().map(str::to_owned),
    });
    registered.map_err(refused)
}

/// The functions of a provider that stay in JavaScript.
struct Functions {
    number: u32,
    /// The provider answers requests itself.
    streams: bool,
    /// Description of the login; null if there is none.
    login: Value,
}

fn register_provider(
    host: &Host,
    id: ExtensionId,
    name: String,
    config: Value,
    functions: &Functions,
) -> Result<(), NativeError> {
    let (api, handle) = registering(host, id, functions.number)?;
    let handle = Arc::new(handle);
    let mut registration = ProviderRegistration::new(name, config);
    if functions.streams {
        let provider = JsProvider::new(Arc::clone(&handle), host.poster());
        registration = registration.stream(Arc::new(provider));
    }
    if functions.login.is_object() {
        registration = registration.login(provider_login(&handle, &functions.login));
    }
    api.register_provider(registration).map_err(refused)?;
    refresh(host, id);
    Ok(())
}

fn register_virtual_model(
    host: &Host,
    id: ExtensionId,
    number: u32,
    definition: &Value,
) -> Result<(), NativeError> {
    let (api, handle) = registering(host, id, number)?;
    let text = |name: &str| definition[name].as_str().unwrap_or_default();
    let levels = match &definition["thinkingLevels"] {
        Value::Null => Vec::new(),
        levels => serde_json::from_value(levels.clone())?,
    };
    let mut registered = VirtualModel::new(text("provider"), text("id"), &levels, router(handle));
    let model = Arc::make_mut(&mut registered.model);
    if let Some(name) = definition["name"].as_str() {
        name.clone_into(&mut model.name);
    }
    model.context_window = definition["contextWindow"].as_u64().unwrap_or_default();
    model.max_tokens = definition["maxTokens"].as_u64().unwrap_or_default();
    if !definition["input"].is_null() {
        model.input = serde_json::from_value(definition["input"].clone())?;
    }
    api.register_virtual_model(registered);
    refresh(host, id);
    Ok(())
}

#[allow(clippy::needless_pass_by_value)] // Used as a function of `map_err`.
fn refused(error: RegistryError) -> NativeError {
    NativeError::new(error.to_string())
}
