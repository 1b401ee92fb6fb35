//! `auth.json`: keys and tokens, by provider.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What is stored for a provider.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum StoredCredential {
    /// A key, or how to get one (see [`resolve_value`](super::resolve_value)).
    ApiKey {
        /// The key.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
        /// Variables that the provider needs besides.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        env: BTreeMap<String, String>,
        /// Fields unknown to this crate.
        #[serde(flatten)]
        extra: Map<String, Value>,
    },
    /// Tokens of a login.
    Oauth {
        /// Sent with requests.
        access: String,
        /// Buys the next one.
        refresh: String,
        /// When `access` ends, in milliseconds since 1970.
        expires: f64,
        /// What the provider's login keeps besides.
        #[serde(flatten)]
        extra: Map<String, Value>,
    },
}
