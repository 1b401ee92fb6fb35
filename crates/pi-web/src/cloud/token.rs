//! The answer of a token endpoint, as Google, Microsoft and Anthropic send it.

use std::time::SystemTime;

use secrecy::SecretString;
use serde_json::Value;

use super::exchange::Reply;
use super::{SourceError, timestamp};

/// A token that is sent with requests.
#[derive(Debug, Clone)]
pub(super) struct Token {
    pub(super) secret: SecretString,
    pub(super) expires: Option<SystemTime>,
}

impl Token {
    /// Creates a token that can be sent in a header; `None` if the text cannot.
    pub(super) fn new(text: &str, expires: Option<SystemTime>) -> Option<Self> {
        let is_visible = !text.is_empty() && text.bytes().all(|one| one.is_ascii_graphic());
        if is_visible { Some(Self { secret: SecretString::from(text), expires }) } else { None }
    }

    /// Reads the token of an answer.
    pub(super) fn read(reply: &Reply) -> Result<Self, SourceError> {
        let answer: Value = reply.json()?;
        let number = |name: &str| match answer.get(name)? {
            // Managed identities of Azure send numbers as texts.
            Value::String(text) => text.parse().ok(),
            value => value.as_u64(),
        };
        let expires = match (number("expires_in"), number("expires_on")) {
            (Some(seconds), _) => Some(timestamp::after(seconds)),
            (None, Some(moment)) => timestamp::from_seconds(moment),
            (None, None) => None,
        };
        let token = answer.get("access_token").and_then(Value::as_str);
        token.and_then(|token| Self::new(token, expires)).ok_or_else(|| reply.unexpected())
    }
}
