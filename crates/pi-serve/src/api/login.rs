//! `/api/v1/login`, `/logout` and `/me`: a browser exchanges its token for a cookie.

use std::sync::Arc;

use pi_web::http::StatusCode;
use pi_web::http::header::SET_COOKIE;
use pi_web::server::empty;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Answer, ApiError, Call, json};
use crate::entrance::guesses::Kind;
use crate::entrance::{Identity, Right};
use crate::state::ServeState;

/// The body of a login.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Login {
    /// The token that the browser got in its link.
    token: String,
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Login").finish_non_exhaustive()
    }
}

/// The sender of a request, and the server.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Me {
    /// Name of the token.
    pub name: String,
    /// The most that it permits.
    pub right: Right,
    /// The only session that it reaches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Time at which the token or the login ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// The value for the header `x-pi-csrf`, for browsers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub csrf: Option<String>,
    /// Version of the program.
    pub version: String,
    /// Id of this run of the server.
    pub server_id: String,
    /// Time of its start.
    pub started_at: String,
}

impl Me {
    fn new(state: &ServeState, identity: &Identity, csrf: Option<String>) -> Self {
        Self {
            name: identity.name.clone(),
            right: identity.right,
            session: identity.session.clone(),
            expires: identity.expires.map(|time| format!("{time:.3}")),
            csrf,
            version: state.options.version.clone(),
            server_id: state.server_id.clone(),
            started_at: format!("{:.3}", state.started),
        }
    }
}

/// Exchanges a token for a cookie.
pub(crate) async fn login(call: Call) -> Answer {
    let (state, peer) = (Arc::clone(&call.state), call.peer);
    if let Some(wait) = state.guesses.wait(peer, Kind::Token) {
        return Err(ApiError::too_many_guesses(wait));
    }
    let Login { token } = call.body().await?;
    let Some(logged_in) = state.cookies.log_in(&state.tokens, &token)? else {
        state.guesses.count(peer, Kind::Token);
        return Err(ApiError::unauthorized());
    };
    state.guesses.forget(peer, Kind::Token);
    let me = Me::new(&state, &logged_in.identity, Some(logged_in.csrf));
    let mut response = json(StatusCode::OK, &me)?;
    response.headers_mut().insert(SET_COOKIE, logged_in.cookie);
    Ok(response)
}

/// Ends the login of a browser.
pub(crate) async fn logout(call: Call) -> Answer {
    let state = &call.state;
    state.cookies.log_out(&state.tokens, call.request.headers())?;
    let mut response = empty(StatusCode::NO_CONTENT);
    if let Some(removal) = state.cookies.removal() {
        response.headers_mut().insert(SET_COOKIE, removal);
    }
    Ok(response)
}

/// Describes the sender and the server.
pub(crate) async fn me(call: Call) -> Answer {
    let cookies = &call.state.cookies;
    let cookie = cookies.value(call.request.headers());
    let csrf = cookie.map(|cookie| cookies.csrf(&cookie));
    json(StatusCode::OK, &Me::new(&call.state, call.identity()?, csrf))
}
