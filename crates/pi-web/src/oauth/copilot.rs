//! GitHub Copilot: a GitHub token is exchanged for a short-lived token, which names the server.

use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Map, Value};
use url::Url;

use super::endpoint;
use super::error::OauthError;
use super::flow::headers_of;
use super::service::Service;
use super::tokens::Tokens;
use crate::WebClient;

const DEFAULT_BASE_URL: &str = "https://api.individual.githubcopilot.com";

/// Exchanges a GitHub token.
pub(super) async fn exchange(
    service: &Service,
    web: &WebClient,
    github: &SecretString,
) -> Result<Tokens, OauthError> {
    let url = service.exchange_url.as_deref().unwrap_or_default();
    let mut headers = headers_of(service);
    headers.push(("authorization".to_owned(), format!("Bearer {}", github.expose_secret())));
    let reply = endpoint::get(web, url, &headers).await?;
    let missing = reply.nonsense("it contains no token with an expiry");
    let response = reply.success()?;
    let token = response.get("token").and_then(Value::as_str).filter(|token| !token.is_empty());
    let end = response.get("expires_at").and_then(Value::as_f64);
    let (Some(token), Some(end)) = (token, end) else { return Err(missing) };
    let mut extra = Map::new();
    if let Some(domain) = enterprise(url) {
        extra.insert("enterpriseUrl".to_owned(), domain.into());
    }
    let mut tokens = Tokens {
        access: SecretString::from(token),
        refresh: Some(github.clone()),
        expires: Some(end * 1000.0 - service.margin() * 1000.0),
        extra,
    };
    if let Some(models) = models(web, &tokens).await {
        tokens.extra.insert("availableModelIds".to_owned(), models.into());
    }
    Ok(tokens)
}

/// Returns the domain of an own installation of GitHub.
fn enterprise(exchange_url: &str) -> Option<String> {
    let url = Url::parse(exchange_url).ok()?;
    let host = url.host_str()?;
    let domain = host.strip_prefix("api.").unwrap_or(host);
    (domain != "github.com").then(|| domain.to_owned())
}

/// Returns the server that the tokens name.
pub(super) fn base_url(tokens: &Tokens) -> Option<String> {
    let token = tokens.access.expose_secret();
    let host = token.split(';').find_map(|part| part.trim().strip_prefix("proxy-ep="));
    let is_host = |host: &&str| {
        !host.is_empty()
            && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte))
    };
    if let Some(host) = host.filter(is_host) {
        let host =
            host.strip_prefix("proxy.").map_or(host.to_owned(), |rest| format!("api.{rest}"));
        return Some(format!("https://{host}"));
    }
    let domain = tokens.extra.get("enterpriseUrl").and_then(Value::as_str)?;
    let domain = domain.strip_prefix("https://").unwrap_or(domain).trim_end_matches('/');
    is_host(&domain).then(|| format!("https://copilot-api.{domain}"))
}

/// Returns the models that the account may use; `None` if the server does not tell.
async fn models(web: &WebClient, tokens: &Tokens) -> Option<Vec<String>> {
    let base = base_url(tokens);
    let url = format!("{}/models", base.as_deref().unwrap_or(DEFAULT_BASE_URL));
    let bearer = format!("Bearer {}", tokens.access.expose_secret());
    let headers = [("authorization".to_owned(), bearer)];
    let list = endpoint::get(web, &url, &headers).await.ok()?.success().ok()?;
    let list = list.get("data")?.as_array()?;
    let usable = |model: &&Value| {
        model.get("model_picker_enabled").and_then(Value::as_bool) == Some(true)
            && model.pointer("/policy/state").and_then(Value::as_str) != Some("disabled")
            && model.pointer("/capabilities/supports/tool_calls").and_then(Value::as_bool)
                != Some(false)
    };
    let ids = list.iter().filter(usable).filter_map(|model| model.get("id")?.as_str());
    Some(ids.map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_names_the_server() {
        for (token, domain, expected) in [
            (
                "tid=1;proxy-ep=proxy.business.example.com;exp=2",
                None,
                Some("https://api.business.example.com"),
            ),
            (
                "tid=1; proxy-ep=other.example.com",
                Some("ghe.example"),
                Some("https://other.example.com"),
            ),
            ("tid=1", Some("ghe.example"), Some("https://copilot-api.ghe.example")),
            ("tid=1;proxy-ep=evil.example/x?", None, None),
            ("proxy-ep=", None, None),
            ("tid=1", Some("https://ghe.example/"), Some("https://copilot-api.ghe.example")),
            ("tid=1", Some("ghe.example/x"), None),
        ] {
            let mut extra = Map::new();
            if let Some(domain) = domain {
                extra.insert("enterpriseUrl".to_owned(), domain.into());
            }
            let tokens =
                Tokens { access: SecretString::from(token), refresh: None, expires: None, extra };
            assert_eq!(base_url(&tokens).as_deref(), expected, "{token}");
        }
    }

    #[test]
    fn own_installations_are_told_apart() {
        assert_eq!(enterprise("https://api.github.com/x"), None);
        assert_eq!(enterprise("https://api.ghe.example/x").as_deref(), Some("ghe.example"));
    }
}
