//! MCP servers of extensions. A server acts with the rights of the user, so an extension whose rights
//! are limited can add only what it could start or reach itself.

use serde_json::Value;
use url::Url;

use super::api_of;
use crate::access::Launch;
use crate::error::NativeError;
use crate::host::{ExtensionId, Host};

/// Registers a server.
pub(super) fn register(
    host: &Host,
    id: ExtensionId,
    name: &str,
    config: Value,
) -> Result<(), NativeError> {
    let api = api_of(host, id).ok_or_else(|| NativeError::new("the extension is not loaded"))?;
    if !host.access.is_trusted() {
        check_values(&config)?;
        check_rights(host, &config)?;
    }
    let registered = api.registry().register_mcp_server(api.path(), name, config);
    registered.map_err(|error| NativeError::new(error.to_string()))
}

/// Rejects values that refer to variables or commands: they are resolved with the rights of the user.
fn check_values(config: &Value) -> Result<(), NativeError> {
    let groups = ["env", "headers", "oauth"];
    let values = groups.iter().filter_map(|group| Some((group, config.get(*group)?.as_object()?)));
    for (group, values) in values {
        for (name, value) in values {
            let text = value.as_str().unwrap_or_default();
            if text.starts_with('!') || text.replace("$$", "").contains('$') {
                return Err(refused(&format!(
                    "{group}.{name}: variables and commands in values are not available to \
                     extensions with limited rights"
                )));
            }
            // The name of the program would be that of another one.
            if *group == "env" && name == "PATH" {
                return Err(refused("env.PATH: an extension with limited rights cannot set it"));
            }
        }
    }
    Ok(())
}

/// Checks that the extension may start the program or reach the host of a server. Waits for an
/// approval.
fn check_rights(host: &Host, config: &Value) -> Result<(), NativeError> {
    let text = |name: &str| config.get(name).and_then(Value::as_str);
    if let Some(url) = text("url").and_then(|url| Url::parse(url).ok()) {
        let name = url.host_str().unwrap_or_default().to_owned();
        let port = url.port_or_known_default().unwrap_or_default();
        host.block(|| host.access.connect(&name, port))?;
    }
    let Some(command) = text("command") else { return Ok(()) };
    let arguments = config.get("args").and_then(Value::as_array);
    let arguments = arguments.into_iter().flatten().filter_map(Value::as_str);
    let permission = host.access.run(Launch {
        program: command.into(),
        arguments: arguments.map(Into::into).collect(),
        cwd: text("cwd")
            .map_or_else(|| host.process.cwd(), |cwd| host.process.absolute(cwd.as_ref())),
        variables: Vec::new(),
        search: host.process.options.variables.get("PATH").cloned(),
        confined: None,
    })?;
    // The session starts the program itself, in its sandbox if it has one.
    host.block(|| permission.wait()).map(drop)
}

fn refused(problem: &str) -> NativeError {
    NativeError::new(problem).with("code", "ERR_ACCESS_DENIED")
}
