//! Encodes the request: URL, headers and body.

use serde_json::{Map, Value, json};

use super::token;
use crate::wire::responses::{self, CodexInput};
use crate::wire::socket::{SocketKey, SocketRequest};
use crate::wire::{Call, EncodeError, Headers, HttpRequest};

/// The path of the API.
const PATH: &str = "/codex/responses";

/// The name of this client.
const ORIGINATOR: &str = "pi";

/// Names the version of the API, for both ways to reach it.
const BETA: &str = "OpenAI-Beta";
const HTTP_BETA: &str = "responses=experimental";
const SOCKET_BETA: &str = "responses_websockets=2026-02-06";

const ACCOUNT: &str = "chatgpt-account-id";

/// The server requires a prompt.
const NO_PROMPT: &str = "You are a helpful assistant.";

/// Encodes the request of a call.
pub(super) fn request(call: &Call) -> Result<HttpRequest, EncodeError> {
    // No header can replace the key, since the account is read from it.
    let missing = || EncodeError::MissingKey(call.model.provider.clone());
    let key = call.require_key(&[])?.ok_or_else(missing)?;
    let account = token::account_id(key).ok_or_else(|| {
        EncodeError::BadKey(format!(
            "The key of provider {} is not a token of a ChatGPT sign-in: it names no account. Sign \
             in again.",
            call.model.provider
        ))
    })?;
    Ok(HttpRequest::new(url(&call.model.base_url), headers(call, key, &account), body(call)?))
}

/// Returns the URL of the API; a base URL may already contain a part of its path.
fn url(base: &str) -> String {
    let base = base.trim_end_matches('/');
    let base = base.strip_suffix("/responses").unwrap_or(base);
    let base = base.strip_suffix("/codex").unwrap_or(base);
    format!("{base}{PATH}")
}

fn headers(call: &Call, key: &str, account: &str) -> Headers {
    let mut headers = Headers::new();
    headers.set("Authorization", format!("Bearer {key}"));
    headers.set(ACCOUNT, account);
    headers.set("originator", ORIGINATOR);
    headers.set(BETA, HTTP_BETA);
    if let Some(session) = session_header(call) {
        headers.set("session-id", &session);
        headers.set("x-client-request-id", session);
    }
    headers
}

/// Returns the session id as it is sent; `None` if a header cannot hold it.
fn session_header(call: &Call) -> Option<String> {
    call.session_header()?;
    call.cache_key()
}

fn body(call: &Call) -> Result<Map<String, Value>, EncodeError> {
    let CodexInput { prompt, items, tools, reasoning } = responses::codex_input(call)?;
    let mut body = Map::new();
    let mut set = |name: &str, value: Value| body.insert(name.to_owned(), value);
    set("model", json!(call.model.id));
    set("store", json!(false));
    set("stream", json!(true));
    set("instructions", json!(if prompt.is_empty() { NO_PROMPT } else { &prompt }));
    set("input", Value::Array(items));
    set("text", json!({"verbosity": "low"}));
    set("include", json!(["reasoning.encrypted_content"]));
    if let Some(key) = call.cache_key() {
        set("prompt_cache_key", json!(key));
    }
    let choice = call.options.tool_choice.map_or("auto", responses::tool_choice);
    set("tool_choice", json!(choice));
    set("parallel_tool_calls", json!(true));
    if let Some(temperature) = call.options.temperature {
        set("temperature", json!(temperature));
    }
    if !tools.is_empty() {
        set("tools", Value::Array(tools));
    }
    if let Some(reasoning) = reasoning {
        set("reasoning", reasoning);
    }
    responses::add_output_schema(call, responses::openai_output_support(&call.model), &mut body);
    Ok(body)
}

/// Returns the request for a WebSocket, from the final request over HTTP.
pub(super) fn socket(call: &Call, request: &HttpRequest) -> SocketRequest {
    let mut headers = request.headers.clone();
    if headers.get(BETA) == Some(HTTP_BETA) {
        headers.set(BETA, SOCKET_BETA);
    }
    let key = call.session_id().map(|session| SocketKey {
        session: session.to_owned(),
        account: headers.get(ACCOUNT).unwrap_or_default().to_owned(),
        url: request.url.clone(),
    });
    SocketRequest { url: request.url.clone(), headers, body: request.body.clone(), key }
}
