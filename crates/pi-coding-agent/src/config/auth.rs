//! `auth.json`: keys and tokens, by provider.

mod store;

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub(super) use store::legacy_path;
pub use store::{AuthEdit, AuthStore};

/// What is stored for a provider.
#[derive(Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum StoredCredential {
    /// A key, or how to get one: `$NAME` is a variable, `!command` is what a command prints.
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

/// Whether there is a secret, not which.
impl fmt::Debug for StoredCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ApiKey { key, env, .. } => f
                .debug_struct("ApiKey")
                .field("key", &key.as_ref().map(|_| "[secret]"))
                .field("env", &env.keys())
                .finish_non_exhaustive(),
            Self::Oauth { expires, .. } => {
                f.debug_struct("Oauth").field("expires", expires).finish_non_exhaustive()
            }
        }
    }
}

impl StoredCredential {
    /// A plain key.
    pub fn api_key(key: impl Into<String>) -> Self {
        Self::ApiKey { key: Some(key.into()), env: BTreeMap::new(), extra: Map::new() }
    }
}
