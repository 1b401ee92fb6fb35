//! The description of an authorization server, which users can write in their settings.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::OauthError;
use super::method::LoginMethod;

/// An authorization server and our client there.
///
/// Either `issuer` is given and the endpoints are discovered, or the endpoints are given. Endpoints
/// that are given win over discovered ones.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Service {
    /// Name for people, such as `Sign in with ChatGPT`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Id of the provider whose requests use the tokens; the name of the service by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The peculiarities of the server that are not data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dialect: Option<Dialect>,
    /// The issuer, whose metadata names the endpoints.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// The page on which the user consents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authorize_url: Option<String>,
    /// The endpoint that issues tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_url: Option<String>,
    /// The endpoint that starts a device flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_url: Option<String>,
    /// The endpoint that registers clients.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registration_url: Option<String>,
    /// The endpoint that revokes tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revoke_url: Option<String>,
    /// The keys that sign ID tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jwks_url: Option<String>,
    /// The endpoint that exchanges a token of the login for one that requests use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exchange_url: Option<String>,
    /// The id of the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// The secret of a confidential client: a value, `$NAME` or `!command`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<ClientSecret>,
    /// The address of the metadata document that serves as client id, for servers that accept one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_metadata_url: Option<String>,
    /// Registers a client if there is no id and the server offers it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub register: Option<bool>,
    /// The requested scopes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// The scopes that must be granted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub required_scopes: Vec<String>,
    /// The resource for which tokens are requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// The encoding of token requests; a form by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_encoding: Option<TokenEncoding>,
    /// The address to which the browser returns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redirect: Option<Redirect>,
    /// The page of the service that shows a code to paste, for browsers on another machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paste_redirect_url: Option<String>,
    /// Further parameters of the authorization page and of the request for a device code.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub extra_params: BTreeMap<String, String>,
    /// Further headers of requests to the token endpoint and the device endpoint.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Time in which the user must consent, in seconds; 900 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub login_timeout: Option<u64>,
    /// Sends a proof key; true by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pkce: Option<bool>,
    /// Sends `state` with the code to the token endpoint, for servers that require it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send_state: Option<bool>,
    /// Time before the end of a token at which it counts as expired, in seconds; 300 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expiry_margin: Option<u64>,
    /// Retries of a refresh after HTTP 429 or a server error; 0 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refresh_retries: Option<u32>,
    /// Names of the fields of a token response, where they differ from the standard: `access`,
    /// `refresh`, `expires`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub fields: BTreeMap<String, String>,
    /// The way in which the token is sent to the provider; as a bearer token by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_use: Option<TokenUse>,
    /// The reason why the service cannot be used without a configured client id.
    #[serde(skip)]
    pub closed: Option<Closed>,
}

/// A login that is not open to clients of third parties.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Closed {
    /// The reason, as a sentence.
    pub reason: &'static str,
    /// The way to use the provider nevertheless, as a sentence.
    pub instead: &'static str,
}

/// The peculiarities of a server that data cannot express.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum Dialect {
    /// The code is exchanged for an API key that does not expire.
    Openrouter,
    /// "Sign in with ChatGPT": the callback brings an issued client id.
    Chatgpt,
    /// The tokens name the account; the device flow is not the standard one.
    Codex,
    /// The GitHub token is exchanged for a short-lived token.
    Copilot,
    /// The identity token is exchanged for a key.
    Meta,
    /// The endpoints are read from `{issuer}/v1/oauth`.
    Gateway,
}

/// The encoding of token requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum TokenEncoding {
    /// A form, as the standard says.
    #[default]
    Form,
    /// A JSON object.
    Json,
}

/// The address to which the browser returns, which is on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Redirect {
    /// The host in the address.
    pub host: String,
    /// The ports to try in order, before a free one.
    pub ports: Vec<u16>,
    /// The server accepts no other ports.
    pub fixed: bool,
    /// The path. `{random}` is replaced by a random text.
    pub path: String,
}

impl Default for Redirect {
    fn default() -> Self {
        Self {
            host: "127.0.0.1".to_owned(),
            ports: Vec::new(),
            fixed: false,
            path: "/callback".to_owned(),
        }
    }
}

/// The way in which a token is sent to the provider.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum TokenUse {
    /// As a bearer token.
    #[default]
    Bearer,
    /// As an API key of the wire format.
    ApiKey,
    /// In a header of this name.
    Header(String),
}

/// The secret of a confidential client, as configured. The caller of a login resolves references.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct ClientSecret(pub String);

/// Shows nothing.
impl fmt::Debug for ClientSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientSecret")
    }
}

impl Service {
    /// Returns this service with everything that `changes` sets.
    #[must_use]
    pub fn with(&self, changes: &Self) -> Self {
        let mut merged = serde_json::to_value(self).unwrap_or_default();
        let changes = serde_json::to_value(changes).unwrap_or_default();
        if let (Value::Object(merged), Value::Object(changes)) = (&mut merged, changes) {
            merged.extend(changes);
        }
        // Both parts were services, so the result is one.
        let merged: Self = serde_json::from_value(merged).unwrap_or_else(|_| self.clone());
        Self { closed: self.closed, ..merged }
    }

    /// Returns an error if the login is not open to this client.
    pub fn availability(&self) -> Result<(), OauthError> {
        match self.closed {
            Some(closed) if self.client_id.is_none() => Err(OauthError::Unavailable {
                reason: closed.reason.to_owned(),
                instead: closed.instead.to_owned(),
            }),
            _ => Ok(()),
        }
    }

    /// Returns the kinds of login that the service is known to offer. Discovery may find more.
    pub fn methods(&self) -> Vec<LoginMethod> {
        let is_discovered = self.issuer.is_some() && self.token_url.is_none();
        let mut methods = Vec::new();
        if self.authorize_url.is_some() || is_discovered {
            methods.extend([LoginMethod::Browser, LoginMethod::Paste]);
        }
        if self.device_url.is_some() || is_discovered {
            methods.push(LoginMethod::Device);
        }
        methods
    }

    /// Returns the name for people.
    pub fn label(&self) -> &str {
        let names = [&self.name, &self.provider, &self.issuer];
        names.into_iter().find_map(Option::as_deref).unwrap_or("the service")
    }

    /// Returns the encoding of token requests.
    pub(super) fn encoding(&self) -> TokenEncoding {
        self.token_encoding.unwrap_or_default()
    }

    /// Returns the time before the end of a token at which it counts as expired, in seconds.
    pub(super) fn margin(&self) -> f64 {
        const DEFAULT: u64 = 300;
        #[expect(clippy::cast_precision_loss, reason = "a margin has a few digits")]
        let margin = self.expiry_margin.unwrap_or(DEFAULT) as f64;
        margin
    }
}
