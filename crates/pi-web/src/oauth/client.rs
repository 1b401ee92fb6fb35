//! Our client at an authorization server: configured, described by a document, or registered.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::discovery::Metadata;
use super::endpoint::{self, Params, form};
use super::error::{OauthError, ServiceError};
use super::flow::Flow;
use super::login::LoginOptions;
use super::service::Service;
use crate::WebClient;

/// The name under which we register.
pub(super) const CLIENT_NAME: &str = "pi";

/// A client that an authorization server knows.
#[derive(Clone)]
pub(super) struct RegisteredClient {
    /// The id.
    pub(super) id: String,
    /// The secret of a confidential client.
    pub(super) secret: Option<String>,
    /// The secret is sent in a header, not as a parameter.
    uses_basic: bool,
    /// The id was issued to this installation, so it is stored with the tokens.
    is_issued: bool,
    /// The address of the browser's return with which the client was registered.
    redirect_uri: Option<String>,
}

// Shows the id only.
pi_protocol::debug_fields!(RegisteredClient, id);

impl RegisteredClient {
    /// Chooses the client for a login; registers one if the service wants that.
    pub(super) async fn choose(
        flow: &Flow<'_>,
        redirect_uri: Option<&str>,
    ) -> Result<Self, OauthError> {
        let Flow { service, metadata, web, options, .. } = flow;
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
            if let Some(known) = registered_before(options, redirect_uri) {
                return Ok(known);
            }
            let request = Registration {
                name: options.client_name.as_deref().unwrap_or(CLIENT_NAME),
                scopes: &service.scopes,
                redirect_uri,
                auth_method: registered_auth_method(metadata),
            };
            return register(web, url, &request).await;
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
            let redirect_uri = extra.get("redirectUri").and_then(Value::as_str);
            let redirect_uri = redirect_uri.map(str::to_owned);
            let id = id.to_owned();
            return Some(Self { id, secret, uses_basic, is_issued: true, redirect_uri });
        }
        if let Some(id) = &service.client_id {
            return Some(Self::configured(service, metadata, id));
        }
        service.client_metadata_url.as_deref().map(Self::public)
    }

    pub(super) fn public(id: &str) -> Self {
        let id = id.to_owned();
        Self { id, secret: None, uses_basic: false, is_issued: false, redirect_uri: None }
    }

    pub(super) fn issued(id: &str) -> Self {
        Self { is_issued: true, ..Self::public(id) }
    }

    fn configured(service: &Service, metadata: &Metadata, id: &str) -> Self {
        let secret = service.client_secret.as_ref().map(|secret| secret.0.clone());
        let uses_basic = secret.is_some() && metadata.prefers_basic();
        Self { secret, uses_basic, ..Self::public(id) }
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
            if let Some(uri) = &self.redirect_uri {
                extra.insert("redirectUri".to_owned(), uri.clone().into());
            }
        }
    }
}

/// Returns the client of the former login, if the browser returns to the same address.
fn registered_before(
    options: &LoginOptions,
    redirect_uri: Option<&str>,
) -> Option<RegisteredClient> {
    let extra = &options.previous.as_ref()?.extra;
    let nothing = (Service::default(), Metadata::default());
    let known = RegisteredClient::of_tokens(&nothing.0, &nothing.1, extra)?;
    (known.redirect_uri.is_some() && known.redirect_uri.as_deref() == redirect_uri).then_some(known)
}

/// Returns the method of client authentication to register with: none, unless the server names its
/// methods and this one is not among them.
fn registered_auth_method(metadata: &Metadata) -> &'static str {
    let Some(methods) = &metadata.auth_methods else { return "none" };
    let known = ["none", "client_secret_basic", "client_secret_post"];
    let accepted = |one: &&&str| methods.iter().any(|method| method == **one);
    known.iter().find(accepted).copied().unwrap_or("none")
}

/// The description of a client to be registered.
struct Registration<'a> {
    name: &'a str,
    scopes: &'a [String],
    /// The address of the browser's return; `None` for logins by device.
    redirect_uri: Option<&'a str>,
    auth_method: &'a str,
}

/// Registers a client (RFC 7591) for logins by browser or by device.
async fn register(
    web: &WebClient,
    registration_url: &str,
    registration: &Registration<'_>,
) -> Result<RegisteredClient, OauthError> {
    let Registration { name, scopes, redirect_uri, auth_method } = *registration;
    let device = "urn:ietf:params:oauth:grant-type:device_code";
    let mut grants = vec!["refresh_token"];
    grants.push(if redirect_uri.is_some() { "authorization_code" } else { device });
    let mut request = json!({
        "client_name": name,
        "application_type": "native",
        "token_endpoint_auth_method": auth_method,
        "grant_types": grants,
        "response_types": if redirect_uri.is_some() { json!(["code"]) } else { json!([]) },
        "redirect_uris": redirect_uri.map_or_else(|| json!([]), |uri| json!([uri])),
    });
    if !scopes.is_empty()
        && let Some(request) = request.as_object_mut()
    {
        request.insert("scope".to_owned(), scopes.join(" ").into());
    }
    let reply = endpoint::post_json(web, registration_url, &request, &[]).await?;
    let missing = reply.nonsense("it contains no client id");
    let object = reply.success()?;
    let text = |name: &str| object.get(name).and_then(Value::as_str).filter(|id| !id.is_empty());
    let id = text("client_id").ok_or(missing)?.to_owned();
    // A server may insist on a confidential client, with a method of its own.
    let asked = Some(auth_method).filter(|method| *method != "none");
    let method = text("token_endpoint_auth_method").or(asked);
    let secret = text("client_secret").filter(|_| method != Some("none")).map(str::to_owned);
    let uses_basic = secret.is_some() && method != Some("client_secret_post");
    let redirect_uri = redirect_uri.map(str::to_owned);
    Ok(RegisteredClient { id, secret, uses_basic, is_issued: true, redirect_uri })
}
