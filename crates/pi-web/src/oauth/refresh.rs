//! Renewal and revocation of tokens.

use std::time::Duration;

use secrecy::ExposeSecret as _;

use super::client::RegisteredClient;
use super::endpoint::{self, Params};
use super::error::{OauthError, RefreshError};
use super::flow::headers_of;
use super::response::{self, now};
use super::service::{Dialect, Service};
use super::tokens::Tokens;
use super::{chatgpt, codex, copilot, discovery, meta};
use crate::WebClient;

/// Renews tokens. The caller stores the result, which replaces `tokens`: servers that rotate tokens
/// do not accept the old ones any more, and some end the login if they are used again.
///
/// A refresh that has begun must not be dropped, since the server may already have rotated the
/// tokens.
pub async fn refresh(
    service: &Service,
    web: &WebClient,
    tokens: &Tokens,
) -> Result<Tokens, RefreshError> {
    let Some(token) = tokens.refresh.as_ref().filter(|token| !token.expose_secret().is_empty())
    else {
        let reason = "the token cannot be renewed".to_owned();
        return Err(RefreshError::SignInAgain { reason });
    };
    if let Some(at) = chatgpt::earliest_refresh(tokens)
        && now() < at
    {
        return Err(RefreshError::TooEarly { at });
    }
    let mut retries = service.refresh_retries.unwrap_or(0);
    let mut pause = Duration::from_secs(1);
    loop {
        let result = match service.dialect {
            Some(Dialect::Copilot) => copilot::exchange(service, web, token).await,
            Some(Dialect::Meta) => meta::exchange(service, web, token).await,
            _ => standard(service, web, tokens, token.expose_secret()).await,
        };
        match result {
            Ok(renewed) => return Ok(response::renewed(tokens, renewed)),
            Err(OauthError::Status { status, .. })
                if retries > 0 && (status == 429 || status >= 500) =>
            {
                retries -= 1;
                tokio::time::sleep(pause).await;
                pause *= 2;
            }
            Err(error) => return Err(classify(&error)),
        }
    }
}

async fn standard(
    service: &Service,
    web: &WebClient,
    tokens: &Tokens,
    token: &str,
) -> Result<Tokens, OauthError> {
    service.validate()?;
    let (service, metadata) = discovery::complete(web, service, None).await?;
    let url = token_url(&service)?;
    let mut params: Params =
        vec![("grant_type", "refresh_token".to_owned()), ("refresh_token", token.to_owned())];
    let mut headers = headers_of(&service);
    if let Some(client) = RegisteredClient::of_tokens(&service, &metadata, &tokens.extra) {
        params.push(("client_id", client.id.clone()));
        client.authenticate(&mut params, &mut headers);
    }
    params.extend(service.resource.clone().map(|resource| ("resource", resource)));
    let reply = endpoint::post(web, url, service.encoding(), &params, &headers).await?;
    let body = reply.success()?;
    let mut extra = serde_json::Map::new();
    match service.dialect {
        Some(Dialect::Chatgpt) => chatgpt::remember_earliest(&body, &mut extra),
        Some(Dialect::Codex) => codex::remember_account(&body, &mut extra),
        _ => {}
    }
    // Scopes were checked at the login, and a refresh need not repeat them.
    let service = Service { required_scopes: Vec::new(), ..service };
    response::tokens(&service, &body, extra)
}

fn token_url(service: &Service) -> Result<&str, OauthError> {
    service.token_url.as_deref().ok_or_else(|| OauthError::Unsupported {
        service: service.label().to_owned(),
        method: "renewals",
    })
}

/// Tells a login that has ended from a failure that may pass.
fn classify(error: &OauthError) -> RefreshError {
    let reason = error.to_string();
    let has_ended = match error {
        OauthError::Refused { .. } => !error.is_transient(),
        // A proxy or a firewall answers with 403 and others; the tokens may be fine.
        OauthError::Status { status, .. } => matches!(status, 400 | 401),
        OauthError::Service(_) | OauthError::Unsupported { .. } => true,
        _ => false,
    };
    if has_ended {
        RefreshError::SignInAgain { reason }
    } else {
        RefreshError::Transient { reason }
    }
}

/// Revokes tokens (RFC 7009). Returns false if the service has no endpoint for that.
pub async fn revoke(
    service: &Service,
    web: &WebClient,
    tokens: &Tokens,
) -> Result<bool, OauthError> {
    service.validate()?;
    let (service, metadata) = discovery::complete(web, service, None).await?;
    let Some(url) = &service.revoke_url else { return Ok(false) };
    let client = RegisteredClient::of_tokens(&service, &metadata, &tokens.extra);
    let refresh = tokens.refresh.as_ref().map(|token| ("refresh_token", token));
    // The refresh token comes first: most servers revoke the access token with it.
    for (kind, token) in refresh.into_iter().chain([("access_token", &tokens.access)]) {
        let mut params: Params =
            vec![("token", token.expose_secret().to_owned()), ("token_type_hint", kind.to_owned())];
        let mut headers = headers_of(&service);
        if let Some(client) = &client {
            params.push(("client_id", client.id.clone()));
            client.authenticate(&mut params, &mut headers);
        }
        let reply = endpoint::post(web, url, service.encoding(), &params, &headers).await?;
        match reply.error_code() {
            // Some servers revoke only one kind of token; access tokens end soon by themselves.
            Some("unsupported_token_type") if kind == "access_token" => {}
            _ => reply.revoked()?,
        }
    }
    Ok(true)
}
