//! Our client at an authorization server: configured, described by a document, or registered.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::discovery::Metadata;
use super::endpoint::{self, Params, form};
use super::error::{OauthError, ServiceError};
use super::service::Service;
use crate::web::WebClient;

/// The name under which we register.
pub(super) const CLIENT_NAME: &str = "pi";

/// A client that an authorization server knows.
#[derive(Clone)]
#[non_exhaustive]
pub struct RegisteredClient {
    /// The id.
    pub id: String,
    /// The secret of a confidential client.
    pub secret: Option<String>,
    /// The secret is sent in a header, not as a parameter.
    uses_basic: bool,
    /// The id was issued to this installation, so it is stored with the tokens.
    is_issued: bool,
}

/// Shows the id only.
impl fmt::Debug for RegisteredClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegisteredClient").field("id", &self.id).finish_non_exhaustive()
    }
}

impl RegisteredClient {
    /// Chooses the client for a login; registers one if the service wants that.
    pub(super) async fn choose(
        service: &Service,
        metadata: &Metadata,
        web: &WebClient,
        redirect_uri: Option<&str>,
    ) -> Result<Self, OauthError> {
        if let Some(id) = &service.client_id {
            return Ok(Self::configured(service, metadata, id));
        }
        if let Some(document) = &service.client_metadata_url
            && metadata.accepts_metadata_documents
        {
            return Ok(Self::public(document));
        }
        if service.register == Some(true)
            && let Some(url) = &service.registration_url
        {
            return register(web, url, service, redirect_uri).await;
        }
        service.availability()?;
        let message = if service.register == Some(true) {
            "the service does not register clients: configure a `clientId`"
        } else {
            "the service needs a `clientId`"
        };
        Err(ServiceError::Missing(message.to_owned()).into())
    }

    /// Returns the client of existing tokens.
    pub(super) fn of_tokens(
        service: &Service,
        metadata: &Metadata,
        extra: &Map<String, Value>,
    ) -> Option<Self> {
        let issued = extra.get("clientId").and_then(Value::as_str);
        if let Some(id) = issued {
            let secret = extra.get("clientSecret").and_then(Value::as_str).map(str::to_owned);
            let uses_basic = extra.get("clientAuth").and_then(Value::as_str) == Some("basic");
            return Some(Self { id: id.to_owned(), secret, uses_basic, is_issued: true });
        }
        if let Some(id) = &service.client_id {
            return Some(Self::configured(service, metadata, id));
        }
        service.client_metadata_url.as_deref().map(Self::public)
    }

    pub(super) fn public(id: &str) -> Self {
        Self { id: id.to_owned(), secret: None, uses_basic: false, is_issued: false }
    }

    pub(super) fn issued(id: &str) -> Self {
        Self { is_issued: true, ..Self::public(id) }
    }

    fn configured(service: &Service, metadata: &Metadata, id: &str) -> Self {
        let secret = service.client_secret.as_ref().map(|secret| secret.0.clone());
        let uses_basic = secret.is_some() && prefers_basic(metadata);
        Self { id: id.to_owned(), secret, uses_basic, is_issued: false }
    }

    /// Adds the secret to a request.
    pub(super) fn authenticate(&self, params: &mut Params, headers: &mut Vec<(String, String)>) {
        let Some(secret) = &self.secret else { return };
        if self.uses_basic {
            // Both parts are encoded as in a form (RFC 6749, section 2.3.1).
            let encoded = |text: &str| {
                let pair = form(&[("", text.to_owned())]);
                pair.strip_prefix('=').unwrap_or_default().to_owned()
            };
            let pair = format!("{}:{}", encoded(&self.id), encoded(secret));
            headers.push(("authorization".to_owned(), format!("Basic {}", STANDARD.encode(pair))));
        } else {
            params.push(("client_secret", secret.clone()));
        }
    }

    /// Stores what was issued with the tokens.
    pub(super) fn remember(&self, extra: &mut Map<String, Value>) {
        if self.is_issued {
            extra.insert("clientId".to_owned(), self.id.clone().into());
            if let Some(secret) = &self.secret {
                extra.insert("clientSecret".to_owned(), secret.clone().into());
            }
            if self.uses_basic {
                extra.insert("clientAuth".to_owned(), "basic".into());
            }
        }
    }
}

/// Secrets are sent as parameters unless the server says that it accepts only headers.
fn prefers_basic(metadata: &Metadata) -> bool {
    metadata.auth_methods.as_ref().is_some_and(|methods| {
        let has = |name: &str| methods.iter().any(|method| method == name);
        has("client_secret_basic") && !has("client_secret_post")
    })
}

/// Registers a client (RFC 7591) for logins by browser, by device, or both.
pub async fn register(
    web: &WebClient,
    registration_url: &str,
    service: &Service,
    redirect_uri: Option<&str>,
) -> Result<RegisteredClient, OauthError> {
    let device = "urn:ietf:params:oauth:grant-type:device_code";
    let mut grants = vec!["refresh_token"];
    grants.push(if redirect_uri.is_some() { "authorization_code" } else { device });
    let mut request = json!({
        "client_name": CLIENT_NAME,
        "application_type": "native",
        "token_endpoint_auth_method": "none",
        "grant_types": grants,
        "response_types": if redirect_uri.is_some() { json!(["code"]) } else { json!([]) },
        "redirect_uris": redirect_uri.map_or_else(|| json!([]), |uri| json!([uri])),
    });
    if !service.scopes.is_empty()
        && let Some(request) = request.as_object_mut()
    {
        request.insert("scope".to_owned(), service.scopes.join(" ").into());
    }
    let reply = endpoint::post_json(web, registration_url, &request, &[]).await?;
    let missing = reply.nonsense("it contains no client id");
    let object = reply.success()?;
    let text = |name: &str| object.get(name).and_then(Value::as_str).filter(|id| !id.is_empty());
    let id = text("client_id").ok_or(missing)?.to_owned();
    // A server may insist on a confidential client.
    let method = text("token_endpoint_auth_method");
    let secret = text("client_secret").filter(|_| method != Some("none")).map(str::to_owned);
    let uses_basic = secret.is_some() && method != Some("client_secret_post");
    Ok(RegisteredClient { id, secret, uses_basic, is_issued: true })
}
