//! The parameters of the client's requests, in the forms of both versions. Unknown fields are
//! ignored, and lists that are absent are empty.

use std::path::PathBuf;

use pi_jsonrpc::{Error, Id};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Reads the parameters of a method. Absent ones are an empty object.
pub(crate) fn read<T: DeserializeOwned>(params: Option<Value>) -> Result<T, Error> {
    let params = params.unwrap_or_else(|| Value::Object(serde_json::Map::new()));
    serde_json::from_value(params).map_err(Error::invalid_params)
}

/// Reads the parameters of a method that names a session to open.
pub(crate) fn read_earlier(params: Option<Value>) -> Result<OpenSession, Error> {
    let params: OpenSession = read(params)?;
    match params.session_id {
        Some(_) => Ok(params),
        None => Err(Error::invalid_params("missing field `sessionId`")),
    }
}

/// Reads a list that may be null.
fn list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    Ok(Option::<Vec<T>>::deserialize(from)?.unwrap_or_default())
}

/// Reads a value; one of another type counts as absent.
fn lenient<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(
    from: D,
) -> Result<T, D::Error> {
    Ok(serde_json::from_value(Value::deserialize(from)?).unwrap_or_default())
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Initialize {
    pub(crate) protocol_version: u64,
    /// Version 1.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) client_capabilities: Capabilities,
    /// Version 2.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) capabilities: Capabilities,
    /// Version 1.
    #[serde(default)]
    client_info: Value,
    /// Version 2.
    #[serde(default)]
    info: Value,
}

impl Initialize {
    /// Returns the name of the client for people.
    pub(crate) fn client_name(&self) -> Option<&str> {
        let info = if self.info.is_null() { &self.client_info } else { &self.info };
        info["title"].as_str().or(info["name"].as_str())
    }
}

/// Features that a client offers.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Capabilities {
    #[serde(deserialize_with = "lenient")]
    pub(crate) fs: Files,
    #[serde(deserialize_with = "lenient")]
    pub(crate) terminal: bool,
    #[serde(deserialize_with = "lenient")]
    pub(crate) elicitation: Elicitation,
    #[serde(deserialize_with = "lenient")]
    pub(crate) auth: Auth,
    #[serde(deserialize_with = "lenient")]
    pub(crate) session: SessionCapabilities,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Files {
    pub(crate) read_text_file: bool,
    pub(crate) write_text_file: bool,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Elicitation {
    pub(crate) form: Option<Value>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Auth {
    /// A boolean in version 1, an object in version 2.
    pub(crate) terminal: Value,
}

impl Auth {
    pub(crate) fn has_terminal(&self) -> bool {
        matches!(self.terminal, Value::Bool(true) | Value::Object(_))
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct SessionCapabilities {
    pub(crate) notices: Option<Value>,
}

/// The parameters of `session/new`, `session/load` and `session/resume`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OpenSession {
    pub(crate) session_id: Option<String>,
    pub(crate) cwd: PathBuf,
    #[serde(default, deserialize_with = "list")]
    pub(crate) additional_directories: Vec<PathBuf>,
    #[serde(default, deserialize_with = "list")]
    pub(crate) mcp_servers: Vec<Value>,
    /// Version 2.
    pub(crate) replay_from: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OfSession {
    pub(crate) session_id: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Prompt {
    pub(crate) session_id: String,
    pub(crate) prompt: Vec<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SetMode {
    pub(crate) session_id: String,
    pub(crate) mode_id: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SetOption {
    pub(crate) session_id: String,
    pub(crate) config_id: String,
    pub(crate) value: Value,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ListSessions {
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) cursor: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Authenticate {
    pub(crate) method_id: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CancelRequest {
    pub(crate) request_id: Id,
}
