//! Random values.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom as _, SystemRandom};

use super::error::OauthError;

/// Returns 32 random bytes in base64url.
pub(super) fn token() -> Result<String, OauthError> {
    Ok(URL_SAFE_NO_PAD.encode(bytes::<32>()?))
}

/// Returns a random UUID.
pub(super) fn uuid() -> Result<String, OauthError> {
    let bytes = bytes::<16>()?;
    let number = u128::from_be_bytes(bytes);
    // The version and variant bits of a random UUID.
    let number = number & !(0xf << 76) & !(0x3 << 62) | (0x4 << 76) | (0x2 << 62);
    let hex = format!("{number:032x}");
    let part = |from, to| hex.get(from..to).unwrap_or_default();
    Ok([part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-"))
}

fn bytes<const N: usize>() -> Result<[u8; N], OauthError> {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).map_err(|_| OauthError::Random)?;
    Ok(bytes)
}

/// A proof key of an authorization request (RFC 7636).
pub(super) struct Pkce {
    pub(super) verifier: String,
    pub(super) challenge: String,
}

impl Pkce {
    pub(super) fn new() -> Result<Self, OauthError> {
        let verifier = token()?;
        let challenge = URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()));
        Ok(Self { verifier, challenge })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_differ_and_have_their_forms() {
        assert_ne!(token().unwrap(), token().unwrap());
        assert_eq!(token().unwrap().len(), 43);
        let id = uuid().unwrap();
        assert_eq!(id.len(), 36);
        assert_eq!(id.split('-').map(str::len).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
        assert_eq!(id.chars().nth(14), Some('4'));
        assert!(matches!(id.chars().nth(19), Some('8' | '9' | 'a' | 'b')), "{id}");
        let pkce = Pkce::new().unwrap();
        assert_eq!(pkce.verifier.len(), 43);
        assert_ne!(pkce.verifier, pkce.challenge);
    }
}
