//! Amazon Web Services: the keys that sign requests.
//!
//! The sources of keys are in `cloud`; this module must not look for any.

use std::fmt;
use std::time::SystemTime;

use secrecy::SecretString;

/// Keys that sign requests.
#[derive(Clone)]
pub struct AwsKeys {
    /// The public part, which is sent with the signature.
    pub access_key_id: String,
    /// The secret part, which is never sent.
    pub secret_access_key: SecretString,
    /// The token that is sent with temporary keys.
    pub session_token: Option<SecretString>,
    /// The end of temporary keys.
    pub expires: Option<SystemTime>,
}

/// Shows the public part only.
impl fmt::Debug for AwsKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AwsKeys")
            .field("access_key_id", &self.access_key_id)
            .field("expires", &self.expires)
            .finish_non_exhaustive()
    }
}
