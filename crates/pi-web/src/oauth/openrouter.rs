//! OpenRouter: the consent gives an API key of the user, which does not expire.

use secrecy::SecretString;
use serde_json::{Map, Value};

use super::code;
use super::endpoint::{self, Params};
use super::error::OauthError;
use super::flow::Flow;
use super::interaction::LoginEvent;
use super::method::LoginMethod;
use super::service::TokenEncoding;
use super::tokens::Tokens;

/// Runs the login.
pub(super) async fn login(flow: &Flow<'_>, method: LoginMethod) -> Result<Tokens, OauthError> {
    let url = flow.endpoint("an exchange of codes", flow.service.token_url.as_deref())?;
    let (code, serving) = code::authorize(flow, method).await?;
    flow.interaction.show(LoginEvent::Progress("Requesting the API key".to_owned()));
    let mut params: Params = vec![("code", code.code)];
    if let Some(verifier) = code.verifier {
        params.push(("code_verifier", verifier));
        params.push(("code_challenge_method", "S256".to_owned()));
    }
    let reply = endpoint::post(flow.web, url, TokenEncoding::Json, &params, &flow.headers()).await;
    if let Some(serving) = serving {
        serving.close().await;
    }
    let reply = reply?;
    let missing = reply.nonsense("it contains no key");
    let response = reply.success()?;
    let key = response.get("key").and_then(Value::as_str).filter(|key| !key.is_empty());
    let access = SecretString::from(key.ok_or(missing)?);
    Ok(Tokens { access, refresh: None, expires: None, extra: Map::new() })
}
