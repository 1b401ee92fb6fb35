//! The state of an old client between `initialize` and its end.

use std::collections::HashSet;
use std::sync::Mutex;

use pi_base::lock;
use pi_jsonrpc::{Error, Notification};
use serde_json::{Map, Value, json};

use super::client::Client;
use super::service::Change;
use super::{About, LEGACY};
use crate::protocol::{LoggingLevel, methods};

/// The most resources that a client can subscribe to.
const SUBSCRIPTIONS: usize = 1_000;

/// The session of an old client.
#[derive(Debug)]
pub(super) struct Session {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    client: Client,
    subscriptions: HashSet<String>,
}

impl Session {
    /// Starts a session. Returns it with the result of `initialize`.
    pub(super) fn start(about: &About, params: Option<&Value>) -> Result<(Self, Value), Error> {
        let requested = params.and_then(|params| params["protocolVersion"].as_str());
        let Some(requested) = requested else {
            return Err(Error::invalid_params("`protocolVersion` is required"));
        };
        let known = LEGACY.into_iter().find(|version| *version == requested);
        let version = known.unwrap_or(LEGACY[0]);
        let field = |name: &str| params.and_then(|params| params.get(name)).cloned();
        let capabilities = match field("capabilities") {
            Some(Value::Object(capabilities)) => capabilities,
            _ => Map::new(),
        };
        let client = Client {
            version: version.to_owned(),
            capabilities,
            info: field("clientInfo"),
            // The client has not chosen a level yet, so the server does.
            log_level: Some(LoggingLevel::Info),
        };
        let mut result = json!({
            "protocolVersion": version,
            "capabilities": about.offers.legacy(),
            "serverInfo": about.info(),
        });
        if let Some(instructions) = &about.instructions {
            result["instructions"] = json!(instructions);
        }
        let state = Mutex::new(State { client, subscriptions: HashSet::new() });
        Ok((Self { state }, result))
    }

    /// Returns the client.
    pub(super) fn client(&self) -> Client {
        lock(&self.state).client.clone()
    }

    /// Sets the lowest level of log messages.
    pub(super) fn set_level(&self, params: &Map<String, Value>) -> Result<Value, Error> {
        let Some(level) = params.get("level").and_then(LoggingLevel::from_value) else {
            return Err(Error::invalid_params("`level` must be a log level"));
        };
        lock(&self.state).client.log_level = Some(level);
        Ok(json!({}))
    }

    /// Adds or removes the subscription of a resource.
    pub(super) fn subscribe(
        &self,
        params: &Map<String, Value>,
        is_wanted: bool,
    ) -> Result<Value, Error> {
        let Some(uri) = params.get("uri").and_then(Value::as_str) else {
            return Err(Error::invalid_params("`uri` is required"));
        };
        let mut state = lock(&self.state);
        if !is_wanted {
            state.subscriptions.remove(uri);
        } else if state.subscriptions.len() < SUBSCRIPTIONS {
            state.subscriptions.insert(uri.to_owned());
        } else {
            return Err(Error::invalid_params("too many subscriptions; remove others first"));
        }
        Ok(json!({}))
    }

    /// Returns the notification about a change, if the client wants it.
    pub(super) fn notice(&self, change: &Change) -> Option<Notification> {
        if let Change::Resource { uri } = change
            && !lock(&self.state).subscriptions.contains(uri)
        {
            return None;
        }
        Some(notice(change))
    }

    /// Returns the notifications for a client that missed changes, which may have been any.
    pub(super) fn everything(&self) -> Vec<Notification> {
        let lists = [Change::Tools, Change::Resources, Change::Prompts];
        let uris = lock(&self.state).subscriptions.clone();
        let resources = uris.into_iter().map(|uri| Change::Resource { uri });
        lists.into_iter().chain(resources).map(|change| notice(&change)).collect()
    }
}

/// Returns the notification about a change.
pub(super) fn notice(change: &Change) -> Notification {
    let (method, params) = match change {
        Change::Tools => (methods::TOOLS_CHANGED, json!({})),
        Change::Resources => (methods::RESOURCES_CHANGED, json!({})),
        Change::Prompts => (methods::PROMPTS_CHANGED, json!({})),
        Change::Resource { uri } => (methods::RESOURCE_UPDATED, json!({ "uri": uri })),
    };
    Notification { method: method.to_owned(), params: Some(params) }
}
