//! A login: the choice of a flow and its course.

use pi_protocol::CancelToken;
use serde_json::{Map, Value};

use super::client::RegisteredClient;
use super::code::{self, Granted};
use super::discovery::Metadata;
use super::error::OauthError;
use super::flow::Flow;
use super::id_token::{self, Expected};
use super::interaction::{Interaction, LoginEvent};
use super::method::LoginMethod;
use super::service::{Dialect, Service};
use super::tokens::Tokens;
use super::{chatgpt, codex, copilot, device, discovery, meta, openrouter, random, response};
use crate::WebClient;

/// Options of a login.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct LoginOptions {
    /// The kind of login; `None` for the first one that the service offers.
    pub method: Option<LoginMethod>,
    /// In a login by browser, does not also ask for a pasted code.
    pub no_paste: bool,
    /// The address on which to wait for the browser, if it differs from that of the service.
    pub callback_host: Option<String>,
    /// The id of this installation, a UUID. Created if the service needs one and there is none.
    pub host_id: Option<String>,
    /// The tokens of the former login, from which an issued client id is reused. A registered
    /// client is reused only if the browser returns to the same address.
    pub previous: Option<Tokens>,
    /// The metadata of the server, if it was read already.
    pub metadata: Option<Metadata>,
    /// The name under which a client is registered; `pi` by default.
    pub client_name: Option<String>,
}

impl LoginOptions {
    /// Creates options for a kind of login.
    pub fn new(method: Option<LoginMethod>) -> Self {
        Self { method, ..Self::default() }
    }
}

/// Signs in to a service. The caller stores the tokens.
///
/// A cancelled login ends at once, closes its port and sends nothing more.
pub async fn login(
    service: &Service,
    web: &WebClient,
    interaction: &dyn Interaction,
    mut options: LoginOptions,
    cancel: CancelToken,
) -> Result<Tokens, OauthError> {
    service.validate()?;
    service.availability()?;
    if service.dialect == Some(Dialect::Chatgpt) && options.host_id.is_none() {
        let previous = options.previous.as_ref().and_then(|tokens| tokens.extra.get("hostId"));
        options.host_id = match previous.and_then(Value::as_str) {
            Some(id) => Some(id.to_owned()),
            None => Some(random::uuid()?),
        };
    }
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(OauthError::Cancelled),
        result = run(service, web, interaction, &options) => result,
    }
}

async fn run(
    service: &Service,
    web: &WebClient,
    interaction: &dyn Interaction,
    options: &LoginOptions,
) -> Result<Tokens, OauthError> {
    let (service, metadata) = discovery::complete(web, service, options.metadata.as_ref()).await?;
    let flow = Flow { service: &service, metadata: &metadata, web, interaction, options };
    let default =
        if service.authorize_url.is_some() { LoginMethod::Browser } else { LoginMethod::Device };
    let method = options.method.unwrap_or(default);
    let granted = match (service.dialect, method) {
        (Some(Dialect::Openrouter), LoginMethod::Browser | LoginMethod::Paste) => {
            return openrouter::login(&flow, method).await;
        }
        (Some(Dialect::Codex), LoginMethod::Device) => codex::device(&flow).await?,
        (_, LoginMethod::Browser | LoginMethod::Paste) => code::run(&flow, method).await?,
        (_, LoginMethod::Device) => {
            flow.endpoint("a device code", service.device_url.as_deref())?;
            let client = RegisteredClient::choose(&flow, None).await?;
            let response = device::run(&flow, &client).await?;
            Granted { response, client, nonce: None }
        }
    };
    finish(&flow, granted).await
}

/// Turns a token response into tokens.
async fn finish(flow: &Flow<'_>, granted: Granted) -> Result<Tokens, OauthError> {
    let Granted { response, client, nonce } = granted;
    let service = flow.service;
    let mut extra = Map::new();
    client.remember(&mut extra);
    if let Some(claims) = identity(flow, &response, &client, nonce.as_deref()).await?
        && let Some(email) = claims.get("email").and_then(Value::as_str)
    {
        extra.insert("email".to_owned(), super::text::clean(email).into());
    }
    match service.dialect {
        Some(Dialect::Chatgpt) => {
            chatgpt::remember(flow.options.host_id.as_deref(), &mut extra);
            chatgpt::remember_earliest(&response, &mut extra);
        }
        Some(Dialect::Codex) => codex::remember_account(&response, &mut extra),
        _ => {}
    }
    let tokens = response::tokens(service, &response, extra)?;
    match service.dialect {
        Some(Dialect::Copilot) => {
            flow.interaction.show(LoginEvent::Progress("Requesting the Copilot token".to_owned()));
            copilot::exchange(service, flow.web, &tokens.access).await
        }
        Some(Dialect::Meta) => {
            flow.interaction.show(LoginEvent::Progress("Requesting the key".to_owned()));
            let identity = meta::identity(&response).unwrap_or(tokens.access);
            meta::exchange(service, flow.web, &identity).await
        }
        _ => Ok(tokens),
    }
}

/// Checks the ID token of the response, if one was requested, and returns its claims.
async fn identity(
    flow: &Flow<'_>,
    response: &Map<String, Value>,
    client: &RegisteredClient,
    nonce: Option<&str>,
) -> Result<Option<Map<String, Value>>, OauthError> {
    let (Some(nonce), Some(token)) = (nonce, response.get("id_token").and_then(Value::as_str))
    else {
        return Ok(None);
    };
    let issuer = flow.metadata.issuer.as_str();
    // Without a known issuer nothing depends on the token.
    if issuer.is_empty() {
        return Ok(None);
    }
    let keys = flow.service.jwks_url.as_deref();
    let expected = Expected { issuer, client_id: &client.id, nonce, keys };
    id_token::check(token, &expected, flow.web).await.map(Some)
}

/// Returns the base URL of requests with these tokens, if the login determines it.
pub fn base_url(service: &Service, tokens: &Tokens) -> Option<String> {
    if service.dialect == Some(Dialect::Copilot) { copilot::base_url(tokens) } else { None }
}
