//! Workload identity federation: the token of another identity provider is exchanged for one of
//! Google, and that for the token of a service account.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::fields::Fields;
use super::{SCOPE, aws_subject, impersonated};
use crate::cloud::exchange::Ask;
use crate::cloud::token::Token;
use crate::cloud::{SourceError, Surroundings};

const GRANT: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";

/// Returns a token of the type `external_account`.
pub(super) async fn token(
    surroundings: &Surroundings,
    fields: Fields<'_>,
) -> Result<Token, SourceError> {
    let url = fields.url("token_url")?;
    let audience = fields.required("audience")?;
    let impersonation = match fields.optional("service_account_impersonation_url") {
        Some(_) => Some(fields.url("service_account_impersonation_url")?),
        None => None,
    };
    let subject = subject(surroundings, fields, audience).await?;
    let options = fields
        .optional("workforce_pool_user_project")
        .map(|project| json!({"userProject": project}).to_string());
    let mut form = vec![
        ("grant_type", GRANT),
        ("audience", audience),
        ("scope", SCOPE),
        ("requested_token_type", ACCESS_TOKEN),
        ("subject_token", subject.as_str()),
        ("subject_token_type", fields.required("subject_token_type")?),
    ];
    let mut basic = None;
    if let Some(id) = fields.optional("client_id") {
        let secret = fields.optional("client_secret").unwrap_or_default();
        basic = Some(STANDARD.encode(format!("{id}:{secret}")));
    } else if let Some(options) = &options {
        form.push(("options", options));
    }
    let mut ask = Ask::form(url, &form).secret(&subject);
    if let Some(basic) = basic {
        ask = ask.header("authorization", format!("Basic {basic}")).secret(basic);
    }
    let token = Token::read(&ask.send(surroundings).await?)?;
    match impersonation {
        None => Ok(token),
        Some(url) => {
            let seconds = fields
                .object("service_account_impersonation")
                .ok()
                .and_then(|options| options.value("token_lifetime_seconds")?.as_u64())
                .filter(|seconds| Duration::from_secs(*seconds) <= Duration::from_secs(43_200));
            impersonated::exchange(surroundings, url, &token, None, seconds).await
        }
    }
}

/// Returns the token of the other identity provider.
async fn subject(
    surroundings: &Surroundings,
    fields: Fields<'_>,
    audience: &str,
) -> Result<String, SourceError> {
    let source = fields.object("credential_source")?;
    if let Some(environment) = source.optional("environment_id") {
        if environment != "aws1" {
            return Err(source.error("has a credential_source with an unsupported environment_id"));
        }
        return aws_subject::token(surroundings, source, audience).await;
    }
    let text = if let Some(file) = source.optional("file") {
        surroundings.read(&surroundings.path(file))?
    } else if source.optional("url").is_some() {
        from_url(surroundings, source).await?
    } else if source.value("executable").is_some() {
        return Err(
            source.error("names an executable as credential_source, which is not supported")
        );
    } else if source.value("certificate").is_some() {
        return Err(
            source.error("names a certificate as credential_source, which is not supported")
        );
    } else {
        return Err(source.error("has a credential_source without file, url or environment_id"));
    };
    let token = match source.object("format") {
        Ok(format) if format.optional("type") == Some("json") => {
            let name = format.required("subject_token_field_name")?;
            let value: Option<Value> = serde_json::from_str(&text).ok();
            let token = value.as_ref().and_then(|value| value.get(name)?.as_str());
            token.map(str::to_owned).ok_or_else(|| {
                source.error(&format!("names a credential_source without a text {name:?}"))
            })?
        }
        _ => text.trim().to_owned(),
    };
    if token.is_empty() {
        return Err(source.error("names a credential_source with an empty token"));
    }
    Ok(token)
}

/// Asks a server beside the machine, which may use plain HTTP, for the token.
async fn from_url(surroundings: &Surroundings, source: Fields<'_>) -> Result<String, SourceError> {
    let mut ask = Ask::get(source.required("url")?);
    if let Some(Value::Object(headers)) = source.value("headers") {
        for (name, value) in headers {
            if let Some(value) = value.as_str() {
                ask = ask.header(name, value).secret(value);
            }
        }
    }
    let reply = ask.send(surroundings).await?;
    if reply.is_success() { Ok(reply.body) } else { Err(reply.refusal()) }
}
