//! The description of an authorization server, which users can write in their settings.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// An authorization server and our client there.
///
/// Either `issuer` is given and the endpoints are discovered, or the endpoints are given.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Service {
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
    /// The id of the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// The secret of a confidential client: a value, `$NAME` or `!command`, resolved by the caller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<String>,
    /// The address of the metadata document that serves as client id, for servers that accept one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_metadata_url: Option<String>,
    /// Registers a client if there is no id and the server offers it.
    pub register: bool,
    /// The requested scopes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// The resource for which tokens are requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// The encoding of token requests.
    pub token_encoding: TokenEncoding,
    /// The address to which the browser returns.
    pub redirect: Redirect,
    /// Further parameters of the authorization page.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub extra_params: BTreeMap<String, String>,
    /// Leaves out the proof key, for servers that reject it.
    pub no_pkce: bool,
    /// Time before the end of a token at which it counts as expired, in seconds; 300 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expiry_margin: Option<u64>,
    /// Names of the fields of a token response, where they differ from the standard: `access`,
    /// `refresh`, `expires`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub fields: BTreeMap<String, String>,
    /// The way in which the token is sent to the provider.
    pub token_use: TokenUse,
}

/// The encoding of token requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
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
pub struct Redirect {
    /// The host in the address.
    pub host: String,
    /// The ports to try in order; a free one if there is none.
    pub ports: Vec<u16>,
    /// The path.
    pub path: String,
}

impl Default for Redirect {
    fn default() -> Self {
        Self { host: "127.0.0.1".to_owned(), ports: Vec::new(), path: "/callback".to_owned() }
    }
}

/// The way in which a token is sent to the provider.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TokenUse {
    /// As a bearer token.
    #[default]
    Bearer,
    /// As an API key of the wire format.
    ApiKey,
    /// In a header of this name.
    Header(String),
}
