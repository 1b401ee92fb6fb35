//! Keys in the JSON of metadata servers and programs.

use secrecy::SecretString;
use serde::Deserialize;

use crate::aws::AwsKeys;
use crate::cloud::{SourceError, timestamp};

/// The document of container and instance metadata servers, and of `credential_process`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct KeysDocument {
    pub(super) version: Option<u32>,
    /// `Success`, or the reason of the instance metadata server.
    pub(super) code: Option<String>,
    pub(super) access_key_id: Option<String>,
    pub(super) secret_access_key: Option<String>,
    #[serde(alias = "Token")]
    pub(super) session_token: Option<String>,
    pub(super) expiration: Option<String>,
}

impl KeysDocument {
    /// Returns the keys; `from` names the sender in errors.
    pub(super) fn keys(self, from: &str) -> Result<AwsKeys, SourceError> {
        let lacks = |what: &str| SourceError::new(format!("{from} sent no {what}"));
        let expires = match &self.expiration {
            None => None,
            Some(text) => Some(timestamp::parse(text).ok_or_else(|| {
                SourceError::new(format!("{from} sent an Expiration that is not a time"))
            })?),
        };
        Ok(AwsKeys {
            access_key_id: self.access_key_id.ok_or_else(|| lacks("AccessKeyId"))?,
            secret_access_key: self
                .secret_access_key
                .map(SecretString::from)
                .ok_or_else(|| lacks("SecretAccessKey"))?,
            session_token: self.session_token.map(SecretString::from),
            expires,
        })
    }
}
