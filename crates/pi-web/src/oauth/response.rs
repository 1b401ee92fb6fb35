//! Token responses become tokens.

use std::time::{SystemTime, UNIX_EPOCH};

use secrecy::SecretString;
use serde_json::{Map, Value};
use url::Url;

use super::device::seconds;
use super::endpoint::host_of;
use super::error::OauthError;
use super::service::Service;
use super::tokens::Tokens;

/// Reads a token response. `extra` is what the login adds to the tokens.
pub(super) fn tokens(
    service: &Service,
    response: &Map<String, Value>,
    mut extra: Map<String, Value>,
) -> Result<Tokens, OauthError> {
    let text = |field: &str, standard: &str| {
        let name = service.fields.get(field).map_or(standard, String::as_str);
        response.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
    };
    let host = || {
        let url = service.token_url.as_deref().and_then(|url| Url::parse(url).ok());
        url.as_ref().map(host_of).unwrap_or_default()
    };
    let access = text("access", "access_token").ok_or_else(|| OauthError::Answer {
        host: host(),
        problem: "it contains no access token".to_owned(),
    })?;
    let kind = response.get("token_type").and_then(Value::as_str).unwrap_or_default();
    if ["dpop", "mac"].iter().any(|other| kind.eq_ignore_ascii_case(other)) {
        let problem = format!("tokens of the type {kind} are not supported");
        return Err(OauthError::Answer { host: host(), problem });
    }
    if let Some(scopes) = granted(service, response)? {
        extra.insert("scopes".to_owned(), scopes.into());
    }
    let name = service.fields.get("expires").map_or("expires_in", String::as_str);
    Ok(Tokens {
        access: SecretString::from(access),
        refresh: text("refresh", "refresh_token").map(SecretString::from),
        expires: seconds(response.get(name)).map(|lifetime| end(service, lifetime.as_secs_f64())),
        extra,
    })
}

/// Returns the granted scopes, if the server names them.
fn granted(
    service: &Service,
    response: &Map<String, Value>,
) -> Result<Option<Vec<String>>, OauthError> {
    let scopes = response.get("scope").and_then(Value::as_str);
    let scopes: Option<Vec<String>> =
        scopes.map(|scopes| scopes.split_whitespace().map(str::to_owned).collect());
    let has = |wanted: &String| scopes.as_ref().is_some_and(|scopes| scopes.contains(wanted));
    match service.required_scopes.iter().find(|wanted| !has(wanted)) {
        None => Ok(scopes),
        Some(missing) => Err(OauthError::Refused {
            code: "insufficient_scope".to_owned(),
            description: Some(format!(
                "the permission `{missing}` was not granted, without which the login is of no use"
            )),
        }),
    }
}

/// Returns the time at which a token of this lifetime counts as expired. The margin is at most half
/// of the lifetime, so that short-lived tokens can be used at all.
fn end(service: &Service, lifetime: f64) -> f64 {
    (now() + (lifetime - service.margin().min(lifetime / 2.0)) * 1000.0).floor()
}

/// Returns the milliseconds since 1970.
pub(super) fn now() -> f64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (elapsed.as_secs_f64() * 1000.0).floor()
}

/// Merges renewed tokens with the former ones: servers repeat only what has changed.
pub(super) fn renewed(former: &Tokens, mut renewed: Tokens) -> Tokens {
    renewed.refresh = renewed.refresh.or_else(|| former.refresh.clone());
    let mut extra = former.extra.clone();
    extra.extend(renewed.extra);
    renewed.extra = extra;
    renewed
}
