//! The metadata that every modern request carries.

use pi_jsonrpc::Error;
use serde_json::{Map, Value, json};

use super::client::Client;
use super::{LEGACY, MODERN};
use crate::protocol::LoggingLevel;
use crate::protocol::errors::UNSUPPORTED_VERSION;
use crate::protocol::meta::{
    CLIENT_CAPABILITIES, CLIENT_INFO, LOG_LEVEL, PROTOCOL_VERSION, SERVER_INFO,
};

/// Returns true if a request has the metadata of modern ones.
pub(super) fn is_modern(params: Option<&Value>) -> bool {
    let meta = params.and_then(|params| params.get("_meta"));
    meta.is_some_and(|meta| {
        meta.get(PROTOCOL_VERSION).is_some() || meta.get(CLIENT_CAPABILITIES).is_some()
    })
}

/// Returns the version that a request names, unchecked.
pub(super) fn version(params: Option<&Value>) -> Option<&str> {
    params?.get("_meta")?.get(PROTOCOL_VERSION)?.as_str()
}

/// Reads the metadata of a modern request.
pub(super) fn read(params: Option<&Value>) -> Result<Client, Error> {
    let meta = params.and_then(|params| params.get("_meta")).and_then(Value::as_object);
    let Some(meta) = meta else {
        return Err(Error::invalid_params("`_meta` is required"));
    };
    let text = |key: &str| match meta.get(key) {
        Some(Value::String(text)) => Ok(text.clone()),
        _ => Err(Error::invalid_params(format_args!("`_meta` must have `{key}`"))),
    };
    let version = text(PROTOCOL_VERSION)?;
    let Some(Value::Object(capabilities)) = meta.get(CLIENT_CAPABILITIES) else {
        return Err(Error::invalid_params(format_args!(
            "`_meta` must have `{CLIENT_CAPABILITIES}`"
        )));
    };
    let log_level = meta.get(LOG_LEVEL).and_then(LoggingLevel::from_value);
    let info = meta.get(CLIENT_INFO).cloned();
    Ok(Client { version, capabilities: capabilities.clone(), info, log_level })
}

/// Checks that a client speaks a modern version that this server knows.
pub(super) fn check_version(client: &Client) -> Result<(), Error> {
    if client.version == MODERN {
        return Ok(());
    }
    Err(unsupported(&client.version))
}

/// Returns the error of a version that this server does not speak.
pub(super) fn unsupported(requested: &str) -> Error {
    let supported = supported();
    Error::new(UNSUPPORTED_VERSION, format!("Unsupported protocol version: {requested}"))
        .with_data(json!({ "supported": supported, "requested": requested }))
}

/// Returns all versions, the newest first.
pub(super) fn supported() -> Vec<&'static str> {
    std::iter::once(MODERN).chain(LEGACY).collect()
}

/// Completes a result for a modern client.
pub(super) fn complete(mut result: Value, server_info: &Value) -> Value {
    if let Value::Object(fields) = &mut result {
        if !fields.contains_key("resultType") {
            fields.insert("resultType".to_owned(), json!("complete"));
        }
        let meta = fields.entry("_meta").or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(meta) = meta {
            meta.insert(SERVER_INFO.to_owned(), server_info.clone());
        }
    }
    result
}
