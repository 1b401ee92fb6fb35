//! "Sign in with ChatGPT" for locally hosted programs: the consent registers this installation, and
//! the callback brings the client id that was issued to it.

use serde_json::{Map, Value};

use super::client::{CLIENT_NAME, RegisteredClient};
use super::endpoint::Params;
use super::error::OauthError;
use super::flow::Flow;
use super::tokens::Tokens;
use crate::rate_limits::time;

/// The id of a first login, which registers the installation. It is never stored.
const REGISTRATION: &str = "dynamic_agent_client";

/// Returns the client that was issued to this installation, or the one that registers it.
pub(super) fn client(flow: &Flow<'_>) -> RegisteredClient {
    let previous = flow.options.previous.as_ref().and_then(|tokens| tokens.extra.get("clientId"));
    let issued = previous.and_then(Value::as_str).or(flow.service.client_id.as_deref());
    issued.map_or_else(|| RegisteredClient::public(REGISTRATION), RegisteredClient::issued)
}

/// Returns true if the callback must bring an issued id.
pub(super) fn is_registering(client: &RegisteredClient) -> bool {
    client.id == REGISTRATION
}

/// Returns the parameters of the authorization page.
pub(super) fn params(flow: &Flow<'_>, client: &RegisteredClient) -> Params {
    let mut params = Vec::new();
    if let Some(id) = &flow.options.host_id {
        params.push(("ext_agent_host_id", format!("urn:uuid:{id}")));
    }
    if is_registering(client) {
        params.push(("agent_name_hint", CLIENT_NAME.to_owned()));
    }
    params
}

/// Returns the client of the code exchange: the issued one.
pub(super) fn issued(
    client: RegisteredClient,
    id: Option<&str>,
) -> Result<RegisteredClient, OauthError> {
    let is_plain = |id: &&str| id.len() <= 200 && id.bytes().all(|byte| byte.is_ascii_graphic());
    match id.filter(is_plain) {
        Some(id) if id != REGISTRATION => Ok(RegisteredClient::issued(id)),
        _ if is_registering(&client) => {
            Err(OauthError::Untrusted("it contains no issued client id".to_owned()))
        }
        _ => Ok(client),
    }
}

/// Adds what must be stored for later logins and renewals.
pub(super) fn remember(host_id: Option<&str>, extra: &mut Map<String, Value>) {
    if let Some(id) = host_id {
        extra.insert("hostId".to_owned(), id.into());
    }
}

/// Adds the time before which the server refuses a renewal, in milliseconds since 1970; 0 if it names
/// none, since the time of the former tokens does not apply to the new ones.
pub(super) fn remember_earliest(response: &Map<String, Value>, extra: &mut Map<String, Value>) {
    let seconds = match response.get("earliest_refresh_at") {
        Some(Value::String(text)) => time::date(text).map(|since| since.as_secs_f64()),
        Some(value) => value.as_f64(),
        None => None,
    };
    let milliseconds = seconds.map_or(0.0, |seconds| (seconds * 1000.0).floor());
    extra.insert("earliestRefreshAt".to_owned(), milliseconds.into());
}

/// Returns the time before which the server refuses a renewal.
pub(super) fn earliest_refresh(tokens: &Tokens) -> Option<f64> {
    tokens.extra.get("earliestRefreshAt")?.as_f64()
}
