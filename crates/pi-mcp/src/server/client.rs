//! Facts that a server knows about the client of a request.

use pi_jsonrpc::Error;
use serde_json::{Map, Value, json};

use crate::protocol::LoggingLevel;
use crate::protocol::errors::MISSING_CLIENT_CAPABILITY;

/// The client of a request.
#[derive(Debug, Clone, PartialEq)]
pub struct Client {
    /// Version of the protocol.
    pub version: String,
    /// Capabilities, as the client declared them.
    pub capabilities: Map<String, Value>,
    /// Name and version of the program.
    pub info: Option<Value>,
    /// The lowest level of log messages that the client wants.
    pub log_level: Option<LoggingLevel>,
}

impl Client {
    /// Returns true if the client speaks the protocol without sessions, of 2026 and later.
    pub fn is_modern(&self) -> bool {
        self.version.as_str() == super::MODERN
    }

    /// Returns true if the client declared a capability, such as `elicitation`.
    pub fn has(&self, capability: &str) -> bool {
        self.capabilities.get(capability).is_some_and(Value::is_object)
    }

    /// Returns an error for the client if it did not declare a capability.
    pub fn require(&self, capability: &str) -> Result<(), Error> {
        if self.has(capability) {
            return Ok(());
        }
        Err(missing(capability, &json!({ capability: {} })))
    }

    /// Returns true if the client declared an extension of the protocol.
    pub fn has_extension(&self, name: &str) -> bool {
        self.capabilities
            .get("extensions")
            .and_then(|extensions| extensions.get(name))
            .is_some_and(Value::is_object)
    }

    /// Returns an error for the client if it did not declare an extension.
    pub(super) fn require_extension(&self, name: &str) -> Result<(), Error> {
        if self.has_extension(name) {
            return Ok(());
        }
        Err(missing(name, &json!({ "extensions": { name: {} } })))
    }
}

fn missing(capability: &str, required: &Value) -> Error {
    let message = format!("The client must declare the capability {capability} for this request");
    Error::new(MISSING_CLIENT_CAPABILITY, message)
        .with_data(json!({ "requiredCapabilities": required }))
}
