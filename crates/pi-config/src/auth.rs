//! `auth.json`: API keys and login tokens, by provider.

mod store;

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use store::{AuthEdit, AuthLock, AuthStore};

/// The stored credential of a provider.
#[derive(Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum StoredCredential {
    /// An API key.
    ApiKey {
        /// The key itself, `$NAME` for a variable, or `!command` for the output of a command.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
        /// Variables that the provider needs in addition.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        env: BTreeMap<String, String>,
        /// Unknown fields.
        #[serde(flatten)]
        extra: Map<String, Value>,
    },
    /// The tokens of a login.
    Oauth {
        /// Token that is sent with requests.
        access: String,
        /// Token that renews `access`.
        refresh: String,
        /// Expiry of `access` in milliseconds since 1970.
        expires: f64,
        /// Unknown fields, and data of the provider's login.
        #[serde(flatten)]
        extra: Map<String, Value>,
    },
}

/// Shows which fields are set, but no secret.
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
    /// Creates a credential from an API key.
    pub fn api_key(key: impl Into<String>) -> Self {
        Self::ApiKey { key: Some(key.into()), env: BTreeMap::new(), extra: Map::new() }
    }
}
