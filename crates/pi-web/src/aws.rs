//! Amazon Web Services: keys, and the signatures that they make.
//!
//! The sources of keys are in `cloud`; this module must not look for any.

#[cfg(feature = "sigv4")]
pub mod sigv4;

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

// Shows the public part only.
pi_protocol::debug_fields!(AwsKeys, access_key_id, expires);

/// The way in which a request is signed. The request is signed when it is sent, since a signature
/// covers the bytes and the time.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Signing {
    /// The keys.
    pub keys: AwsKeys,
    /// The region of the endpoint, such as `us-east-1`.
    pub region: String,
    /// The name of the service in signatures, such as `bedrock`.
    pub service: String,
    /// The rules of the service.
    pub rules: Rules,
}

impl Signing {
    /// Creates the data of a signature with the rules of most services.
    pub fn new(keys: AwsKeys, region: impl Into<String>, service: impl Into<String>) -> Self {
        Self { keys, region: region.into(), service: service.into(), rules: Rules::default() }
    }
}

/// The rules in which services differ. The default is right for all services but S3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// Relative and empty segments of the path are removed before signing.
    pub normalize_path: bool,
    /// The path is encoded once more for the signature: `v1%3A0` is signed as `v1%253A0`.
    pub encode_path_again: bool,
    /// The hash of the body is sent and signed as a header.
    pub send_body_hash: bool,
    /// The session token is signed, not only sent.
    pub sign_session_token: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            normalize_path: true,
            encode_path_again: true,
            send_body_hash: false,
            sign_session_token: true,
        }
    }
}
