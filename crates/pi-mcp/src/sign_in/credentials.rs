//! The result of a sign-in, which the caller stores.

use pi_web::oauth::{ClientSecret, Service, Tokens};
use secrecy::SecretString;
use serde_json::{Map, Value};

/// Tokens for one server, with everything that their renewal needs.
#[derive(Clone)]
#[non_exhaustive]
pub struct Credentials {
    /// Issuer of the tokens and of the client.
    pub issuer: String,
    /// The endpoint that renews tokens; `None` if it has to be discovered again.
    pub token_url: Option<String>,
    /// The endpoint that revokes tokens.
    pub revoke_url: Option<String>,
    /// The resource for which the tokens are.
    pub resource: Option<String>,
    /// The client that obtained the tokens.
    pub client: Client,
    /// The token that is sent to the server.
    pub access: SecretString,
    /// The token that renews `access`.
    pub refresh: Option<SecretString>,
    /// The end of `access` in milliseconds since 1970.
    pub expires: Option<f64>,
    /// The granted scopes, or the requested ones if the server did not name them.
    pub scopes: Vec<String>,
}

/// A client at an authorization server.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Client {
    /// Identifier of the client.
    pub id: String,
    /// The secret of a confidential client.
    pub secret: Option<String>,
    /// The secret is sent in a header.
    pub uses_basic: bool,
    /// The client was registered by this program, with this address of the browser's return.
    pub registered_for: Option<String>,
}

// Omits secrets from the output.
pi_protocol::debug_fields!(Credentials, issuer, client, expires, scopes);

// Shows the id only.
pi_protocol::debug_fields!(Client, id);

impl Credentials {
    /// Creates credentials from an issuer and an access token. The caller sets what it has besides.
    pub fn new(issuer: impl Into<String>, access: SecretString) -> Self {
        Self {
            issuer: issuer.into(),
            token_url: None,
            revoke_url: None,
            resource: None,
            client: Client::default(),
            access,
            refresh: None,
            expires: None,
            scopes: Vec::new(),
        }
    }

    /// Returns true if the access token ends within this time.
    pub fn expires_within(&self, milliseconds: f64, now: f64) -> bool {
        self.expires.is_some_and(|end| end - milliseconds <= now)
    }

    /// Returns the description of the authorization server for renewals and revocations.
    pub(super) fn service(&self) -> Service {
        let mut service = Service::default();
        service.issuer = Some(self.issuer.clone());
        service.token_url.clone_from(&self.token_url);
        service.revoke_url.clone_from(&self.revoke_url);
        service.resource.clone_from(&self.resource);
        service.expiry_margin = Some(0);
        service.client_id = Some(self.client.id.clone());
        service.client_secret = self.client.secret.clone().map(ClientSecret);
        service
    }

    /// Returns the tokens with their client, as [`pi_web::oauth`] expects them.
    pub(super) fn tokens(&self) -> Tokens {
        let mut extra = Map::new();
        extra.insert("clientId".to_owned(), self.client.id.clone().into());
        if let Some(secret) = &self.client.secret {
            extra.insert("clientSecret".to_owned(), secret.clone().into());
        }
        if self.client.uses_basic {
            extra.insert("clientAuth".to_owned(), "basic".into());
        }
        if let Some(uri) = &self.client.registered_for {
            extra.insert("redirectUri".to_owned(), uri.clone().into());
        }
        Tokens {
            access: self.access.clone(),
            refresh: self.refresh.clone(),
            expires: self.expires,
            extra,
        }
    }

    /// Takes over renewed tokens.
    pub(super) fn renew(&mut self, tokens: Tokens) {
        if let Some(scopes) = scopes_of(&tokens) {
            self.scopes = scopes;
        }
        self.access = tokens.access;
        self.expires = tokens.expires;
        self.refresh = tokens.refresh;
    }
}

impl Client {
    /// Returns the client that a login has registered.
    pub(super) fn registered(tokens: &Tokens) -> Option<Self> {
        let text = |name: &str| Some(tokens.extra.get(name)?.as_str()?.to_owned());
        Some(Self {
            id: text("clientId")?,
            secret: text("clientSecret"),
            uses_basic: text("clientAuth").as_deref() == Some("basic"),
            registered_for: text("redirectUri"),
        })
    }
}

/// Returns the granted scopes, if the server named them.
pub(super) fn scopes_of(tokens: &Tokens) -> Option<Vec<String>> {
    let scopes = tokens.extra.get("scopes")?.as_array()?;
    Some(scopes.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}
