//! A service account that other credentials may act as.

use secrecy::ExposeSecret;
use serde::Deserialize;
use serde_json::{Value, json};

use super::fields::Fields;
use super::{SCOPE, adc};
use crate::cloud::exchange::Ask;
use crate::cloud::token::Token;
use crate::cloud::{SourceError, Surroundings, timestamp};

/// Returns a token of the type `impersonated_service_account`.
pub(super) async fn token(
    surroundings: &Surroundings,
    fields: Fields<'_>,
) -> Result<Token, SourceError> {
    let url = fields.url("service_account_impersonation_url")?;
    let source = fields.object("source_credentials")?;
    let source = adc::token(surroundings, source).await?;
    let delegates = fields.value("delegates").cloned();
    exchange(surroundings, url, &source, delegates, None).await
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    access_token: String,
    expire_time: String,
}

/// Exchanges a token for that of a service account.
pub(super) async fn exchange(
    surroundings: &Surroundings,
    url: &str,
    source: &Token,
    delegates: Option<Value>,
    seconds: Option<u64>,
) -> Result<Token, SourceError> {
    let mut body = json!({"scope": [SCOPE], "lifetime": format!("{}s", seconds.unwrap_or(3600))});
    if let Some(delegates) = delegates.filter(Value::is_array) {
        body["delegates"] = delegates;
    }
    let secret = source.secret.expose_secret();
    let ask = Ask::json(url, &body).header("authorization", format!("Bearer {secret}"));
    let reply = ask.secret(secret).send(surroundings).await?;
    let answer: Answer = reply.json()?;
    let expires = timestamp::parse(&answer.expire_time);
    Token::new(&answer.access_token, expires).ok_or_else(|| reply.unexpected())
}
