//! The first exchange: versions, capabilities and ways to sign in.

use serde_json::{Value, json};

use crate::options::Options;
use crate::params::Capabilities;
use crate::wire::Version;

/// The way to sign in that clients can ask for: the credentials that pi has.
pub(crate) const STORED: &str = "pi-credentials";
/// The way to sign in that clients run in a terminal.
const TERMINAL: &str = "pi-login";

/// Returns the response to `initialize`.
pub(crate) fn response(version: Version, options: &Options, client: &Capabilities) -> Value {
    let info = json!({ "name": "pi", "title": "pi", "version": options.version });
    let number = version.number();
    let methods = methods(version, options, client);
    match version {
        Version::V1 => json!({
            "protocolVersion": number,
            "agentCapabilities": {
                "loadSession": true,
                "promptCapabilities": { "image": true, "audio": false, "embeddedContext": true },
                "mcpCapabilities": { "http": true, "sse": false },
                "sessionCapabilities": {
                    "list": {},
                    "delete": {},
                    "additionalDirectories": {},
                    "resume": {},
                    "close": {},
                },
                "auth": { "logout": {} },
            },
            "authMethods": methods,
            "agentInfo": info,
        }),
        Version::V2 => json!({
            "protocolVersion": number,
            "info": info,
            "capabilities": {
                "session": {
                    "prompt": { "image": {}, "embeddedContext": {} },
                    "mcp": { "stdio": {}, "http": {} },
                    "delete": {},
                    "additionalDirectories": {},
                },
                "auth": {},
            },
            "authMethods": methods,
        }),
    }
}

fn methods(version: Version, options: &Options, client: &Capabilities) -> Vec<Value> {
    let id = match version {
        Version::V1 => "id",
        Version::V2 => "methodId",
    };
    let method = |kind: &str, method: &str, name: &str, description: &str| {
        let mut value = json!({ "type": kind, "name": name, "description": description });
        value[id] = method.into();
        value
    };
    let mut methods = Vec::new();
    if client.auth.has_terminal() {
        let description = "Signs in to a provider of models, or stores a key";
        let mut terminal = method("terminal", TERMINAL, "Sign in with pi", description);
        terminal["args"] = json!(options.sign_in_arguments);
        methods.push(terminal);
    }
    let description = "Uses the logins of `pi auth login`, or keys in the environment";
    let mut stored = method("agent", STORED, "Credentials of pi", description);
    if let (Version::V1, Value::Object(stored)) = (version, &mut stored) {
        // The kind has no name in version 1.
        stored.remove("type");
    }
    methods.push(stored);
    methods
}
