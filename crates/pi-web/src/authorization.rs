//! The credentials of one request: a key, a token, or keys that sign it.

use std::collections::BTreeMap;

use pi_protocol::EnvOverrides;
use secrecy::{ExposeSecret, SecretString};

use crate::aws::AwsKeys;

/// Credentials for one request.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Authorization {
    /// The API key or token.
    pub key: Option<SecretString>,
    /// The way in which the key is sent.
    pub scheme: KeyScheme,
    /// Headers, which win over other headers of the request.
    pub headers: BTreeMap<String, String>,
    /// Variables of the provider, such as a region or a part of the base URL, which win over those of
    /// the process.
    pub env: EnvOverrides,
    /// Keys that sign the request instead of being sent.
    pub aws: Option<AwsKeys>,
    /// The base URL that belongs to the credentials, if it differs from that of the request.
    pub base_url: Option<String>,
    /// A credential that the server rejects can be replaced by a renewed one.
    pub is_renewable: bool,
}

impl Authorization {
    /// Creates credentials that consist of a key.
    pub fn new(key: impl Into<SecretString>) -> Self {
        Self { key: Some(key.into()), ..Self::default() }
    }

    /// Sets the way in which the key is sent.
    #[must_use]
    pub fn with_scheme(mut self, scheme: KeyScheme) -> Self {
        self.scheme = scheme;
        self
    }

    /// Returns true if both have the same key, token or signing keys.
    pub fn has_same_secret(&self, other: &Self) -> bool {
        fn text(secret: &Option<SecretString>) -> Option<&str> {
            secret.as_ref().map(ExposeSecret::expose_secret)
        }
        let same_aws = match (&self.aws, &other.aws) {
            (Some(one), Some(two)) => {
                one.access_key_id == two.access_key_id
                    && text(&one.session_token) == text(&two.session_token)
            }
            (None, None) => true,
            _ => false,
        };
        same_aws && text(&self.key) == text(&other.key)
    }
}

/// The way in which a key is sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyScheme {
    /// The header that the API uses for its keys.
    #[default]
    FormatDefault,
    /// A bearer token in the `Authorization` header.
    Bearer,
    /// A bearer token of a login or of a workload identity, which some APIs must be told.
    Oauth,
}
