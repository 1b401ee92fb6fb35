//! The result of a login.

use secrecy::SecretString;
use serde_json::{Map, Value};

/// The tokens of a login.
#[derive(Clone)]
pub struct Tokens {
    /// The token that is sent with requests.
    pub access: SecretString,
    /// The token that renews `access`; `None` if `access` cannot be renewed.
    pub refresh: Option<SecretString>,
    /// The end of `access` in milliseconds since 1970, earlier by the margin of the service; `None`
    /// if it does not expire.
    pub expires: Option<f64>,
    /// Further data of the login that is stored with the tokens: an issued client id, scopes, an
    /// account. An issued client secret is in `clientSecret`.
    pub extra: Map<String, Value>,
}

// Shows the end only.
pi_protocol::debug_fields!(Tokens, expires);
