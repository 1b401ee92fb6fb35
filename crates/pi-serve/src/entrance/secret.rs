//! Random secrets, and their hashes, which are all that is stored of them.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};

/// Makes a secret of 256 random bits. Fails if the system has no randomness.
pub(super) fn generate() -> std::io::Result<SecretString> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes).into())
}

/// Returns the hash of a secret. A secret has 256 random bits, so it needs no slow hash.
pub(super) fn hash(secret: &str) -> String {
    hex(&Sha256::digest(secret.as_bytes()))
}

/// Returns the CSRF value of the cookie of a browser. It tells nothing about the cookie.
pub(super) fn csrf(cookie: &SecretString) -> String {
    let mut hasher = Sha256::new();
    hasher.update(b"pi-serve csrf\0");
    hasher.update(cookie.expose_secret().as_bytes());
    URL_SAFE_NO_PAD.encode(hasher.finalize())
}

/// Compares two texts without telling by the time how much of them is equal.
pub(super) fn is_equal(one: &str, other: &str) -> bool {
    let different = one.bytes().zip(other.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
    one.len() == other.len() && std::hint::black_box(different) == 0
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_long_and_differ() {
        let [one, other] = [generate().unwrap(), generate().unwrap()];
        assert_eq!(one.expose_secret().len(), 43);
        assert_ne!(one.expose_secret(), other.expose_secret());
        assert_eq!(hash("abc").len(), 64);
        assert_ne!(csrf(&one), csrf(&other));
        assert!(!csrf(&one).contains(one.expose_secret()));
    }

    #[test]
    fn texts_are_equal_as_a_whole() {
        assert!(is_equal("", "") && is_equal("abc", "abc"));
        for (one, other) in [("", "a"), ("ab", "abc"), ("abd", "abc")] {
            assert!(!is_equal(one, other), "{one} {other}");
        }
    }
}
