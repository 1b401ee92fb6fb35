//! The older login with a ChatGPT account: the account in the tokens, and a device flow of its own.

use serde_json::{Map, Value};
use tokio::time::sleep;
use url::Url;

use super::client::RegisteredClient;
use super::code::Granted;
use super::device::{DeviceCode, Polling, seconds};
use super::endpoint::{self, Params, Reply, checked};
use super::error::OauthError;
use super::flow::Flow;
use super::id_token::unchecked_claims;
use super::service::TokenEncoding;

/// The lifetime of a code, which the server does not send.
const LIFETIME: std::time::Duration = std::time::Duration::from_secs(15 * 60);

/// Runs the device flow: its result is an authorization code, which is exchanged as usual.
pub(super) async fn device(flow: &Flow<'_>) -> Result<Granted, OauthError> {
    let service = flow.service;
    let start = flow.endpoint("a device code", service.device_url.as_deref())?;
    let token_url = flow.endpoint("a device code", service.token_url.as_deref())?;
    let client = RegisteredClient::choose(flow, None).await?;
    let origin = checked(start)?;
    let at = |path: &str| {
        let mut url: Url = origin.clone();
        url.set_path(path);
        url.to_string()
    };
    let poll_url =
        start.rsplit_once('/').map_or_else(String::new, |(parent, _)| format!("{parent}/token"));
    let json = TokenEncoding::Json;
    let headers = flow.headers();

    let params: Params = vec![("client_id", client.id.clone())];
    let reply = endpoint::post(flow.web, start, json, &params, &headers).await?;
    let missing = reply.nonsense("it contains no device code");
    let object = reply.success()?;
    let text = |name: &str| object.get(name).and_then(Value::as_str);
    let user_code = text("user_code").or_else(|| text("usercode"));
    let (Some(id), Some(user_code)) = (text("device_auth_id"), user_code) else {
        return Err(missing);
    };
    let interval = seconds(object.get("interval"));
    let page = at("/codex/device");
    let code = DeviceCode::new(id.to_owned(), user_code, &page, None, interval, Some(LIFETIME))?;
    flow.interaction.show(code.event());

    let params: Params =
        vec![("device_auth_id", id.to_owned()), ("user_code", user_code.to_owned())];
    let mut polling = Polling::new(&code);
    let granted = loop {
        sleep(polling.pause()).await;
        let reply = endpoint::post(flow.web, &poll_url, json, &params, &headers).await;
        if let Some(granted) = polling.read(reply.map(as_standard))? {
            break granted;
        }
    };
    let text =
        |name: &str| granted.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let params: Params = vec![
        ("grant_type", "authorization_code".to_owned()),
        ("code", text("authorization_code")),
        ("code_verifier", text("code_verifier")),
        ("client_id", client.id.clone()),
        ("redirect_uri", at("/deviceauth/callback")),
    ];
    let reply = endpoint::post(flow.web, token_url, service.encoding(), &params, &headers).await?;
    Ok(Granted { response: reply.success()?, client, nonce: None })
}

/// Translates the answers of the server: not found means that the user has not decided yet.
fn as_standard(mut reply: Reply) -> Reply {
    let is_pending = matches!(reply.status, 403 | 404)
        || reply.error_code() == Some("deviceauth_authorization_pending");
    if is_pending {
        reply.body = Map::new();
        reply.body.insert("error".to_owned(), "authorization_pending".into());
    }
    reply
}

/// Adds the account that requests must name.
pub(super) fn remember_account(response: &Map<String, Value>, extra: &mut Map<String, Value>) {
    let account = |name: &str| {
        let claims = unchecked_claims(response.get(name)?.as_str()?)?;
        let auth = claims.get("https://api.openai.com/auth")?;
        Some(auth.get("chatgpt_account_id")?.as_str()?.to_owned())
    };
    if let Some(account) = account("access_token").or_else(|| account("id_token")) {
        extra.insert("accountId".to_owned(), account.into());
    }
}
