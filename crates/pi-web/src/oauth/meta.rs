//! Meta: the identity token of the login is exchanged for a key that lasts a day.

use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Map, Value, json};

use super::endpoint;
use super::error::OauthError;
use super::flow::headers_of;
use super::response::now;
use super::service::Service;
use super::tokens::Tokens;
use crate::WebClient;

/// The lifetime of a key, in milliseconds.
const LIFETIME: f64 = 24.0 * 60.0 * 60.0 * 1000.0;

/// Exchanges the identity token, which takes the place of a refresh token.
pub(super) async fn exchange(
    service: &Service,
    web: &WebClient,
    identity: &SecretString,
) -> Result<Tokens, OauthError> {
    let url = service.exchange_url.as_deref().unwrap_or_default();
    let mut headers = headers_of(service);
    headers.push(("x-api-version".to_owned(), "1.0.0".to_owned()));
    headers.push(("authorization".to_owned(), format!("Bearer {}", identity.expose_secret())));
    let reply = endpoint::post_json(web, url, &json!({}), &headers).await?;
    let missing = reply.nonsense("it contains no key");
    let response = reply.success()?;
    let names = ["api_key", "key", "access_token"];
    let key = names.iter().find_map(|name| response.get(*name)?.as_str());
    let key = key.filter(|key| !key.is_empty()).ok_or(missing)?;
    Ok(Tokens {
        access: SecretString::from(key),
        refresh: Some(identity.clone()),
        expires: Some(now() + LIFETIME - service.margin() * 1000.0),
        extra: Map::new(),
    })
}

/// Returns the identity token of a token response.
pub(super) fn identity(response: &Map<String, Value>) -> Option<SecretString> {
    let names = ["id_token", "access_token"];
    let token = names.iter().find_map(|name| response.get(*name).and_then(Value::as_str));
    token.map(SecretString::from)
}
