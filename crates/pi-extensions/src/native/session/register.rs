//! Registrations of extensions: handlers, tools, commands, shortcuts, flags, providers.

use std::sync::Arc;

use pi_coding_agent::extension::{
    Command, Exposure, Flag, FlagKind, FlagValue, ProviderRegistration, RegistryError, Shortcut,
    ToolRegistration, VirtualModel,
};
use serde_json::{Value, json};

use super::{api_of, mcp_servers};
use crate::error::NativeError;
use crate::host::{ExtensionId, Host, Natives};
use crate::registered::{
    JsHandle, JsProvider, JsTool, argument_completer, command_handler, provider_login, router,
};
use crate::value::Plain;

pub(super) const FUNCTIONS: Natives = &[
    ("registerTool", |call| {
        register_tool(call.host, call.id(0)?, call.id(1)?, &call.json(2)?)?;
        call.done()
    }),
    ("registerCommand", |call| {
        register_command(call.host, call.id(0)?, call.id(1)?, &call.json(2)?)?;
        call.done()
    }),
    ("registerShortcut", |call| {
        register_shortcut(call.host, call.id(0)?, call.id(1)?, &call.json(2)?);
        call.done()
    }),
    ("registerFlag", |call| {
        register_flag(call.host, call.id(0)?, &call.json(1)?)?;
        call.done()
    }),
    ("getFlag", |call| {
        let name = call.text(1)?;
        let value = api_of(call.host, call.id(0)?).and_then(|api| api.flag(&name));
        call.reply(value.map(|value| match value {
            FlagValue::Boolean(value) => Plain::Flag(value),
            FlagValue::String(value) => Plain::Text(value),
        }))
    }),
    // `registerProvider(id, number, name, config, streams, login)`.
    ("registerProvider", |call| {
        let functions =
            Functions { number: call.id(1)?, streams: call.flag(4)?, login: call.json(5)? };
        let (name, config) = (call.text(2)?, call.json(3)?);
        register_provider(call.host, call.id(0)?, name, config, &functions)?;
        call.done()
    }),
    ("unregisterProvider", |call| {
        let (id, name) = (call.id(0)?, call.text(1)?);
        if let Some(api) = api_of(call.host, id) {
            api.registry().unregister_provider(&name);
            refresh(call.host, id);
        }
        call.done()
    }),
    ("registerVirtualModel", |call| {
        register_virtual_model(call.host, call.id(0)?, call.id(1)?, &call.json(2)?)?;
        call.done()
    }),
    ("unregisterVirtualModel", |call| {
        let (id, provider, model) = (call.id(0)?, call.text(1)?, call.text(2)?);
        if let Some(api) = api_of(call.host, id) {
            api.registry().unregister_virtual_model(&provider, &model);
            refresh(call.host, id);
        }
        call.done()
    }),
    ("registerMcpServer", |call| {
        mcp_servers::register(call.host, call.id(0)?, &call.text(1)?, call.json(2)?)?;
        call.done()
    }),
    ("unregisterMcpServer", |call| {
        let name = call.text(1)?;
        if let Some(api) = api_of(call.host, call.id(0)?) {
            api.registry().unregister_mcp_server(api.path(), &name);
        }
        call.done()
    }),
    ("getMcpServers", |call| {
        let servers = api_of(call.host, call.id(0)?).map(|api| api.registry().mcp_servers());
        let shown = servers.into_iter().flatten().map(|(owner, server)| {
            json!({ "name": server.name, "config": server.config, "extensionPath": owner })
        });
        call.reply(shown.collect::<Value>())
    }),
];

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
