//! Placeholders for secrets: `[masked:KIND:DIGEST]`.

use std::ops::Range;

use sha2::{Digest as _, Sha256};

const OPEN: &str = "[masked:";
pub(super) const LEAST_DIGITS: usize = 6;
pub(super) const MOST_DIGITS: usize = 64;

/// Returns the placeholder for a secret, the same in every process. It has few digits, so that a
/// short secret cannot be found by trying.
pub(super) fn new(kind: &str, secret: &str, digits: usize) -> String {
    let digest = pi_base::text::hex(&Sha256::digest(secret));
    format!("{OPEN}{kind}:{}]", &digest[..digits.min(digest.len())])
}

/// Returns the positions of all placeholders.
pub(super) fn all(text: &str) -> impl Iterator<Item = Range<usize>> {
    memchr::memmem::find_iter(text.as_bytes(), OPEN)
        .filter_map(|start| Some(start..start + length(&text.as_bytes()[start..])?))
}

/// Returns the length of the placeholder at the beginning of `bytes`.
fn length(bytes: &[u8]) -> Option<usize> {
    let rest = bytes.get(OPEN.len()..)?;
    let kind = rest.iter().take(40).take_while(|b| b.is_ascii_lowercase() || **b == b'-').count();
    let rest = rest.get(kind..)?.strip_prefix(b":")?;
    let digits = rest
        .iter()
        .take(MOST_DIGITS)
        .take_while(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        .count();
    let whole = kind > 0 && digits >= LEAST_DIGITS && rest.get(digits) == Some(&b']');
    whole.then_some(OPEN.len() + kind + 1 + digits + 1)
}
