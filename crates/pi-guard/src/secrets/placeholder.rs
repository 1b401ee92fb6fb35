//! What stands in a text instead of a secret: `[masked:KIND:DIGEST]`.

use std::fmt::Write as _;
use std::ops::Range;

use sha2::{Digest as _, Sha256};

const OPEN: &str = "[masked:";
pub(super) const LEAST_DIGITS: usize = 6;
pub(super) const MOST_DIGITS: usize = 64;

/// The mask for a secret: the same in every process. Few digits, so that nobody can tell a short
/// secret from them by trying.
pub(super) fn new(kind: &str, secret: &str, digits: usize) -> String {
    let mut digest = String::new();
    for byte in Sha256::digest(secret) {
        // Writing to a string does not fail.
        let _ = write!(digest, "{byte:02x}");
    }
    format!("{OPEN}{kind}:{}]", &digest[..digits.min(digest.len())])
}

/// Where masks are.
pub(super) fn all(text: &str) -> impl Iterator<Item = Range<usize>> {
    memchr::memmem::find_iter(text.as_bytes(), OPEN)
        .filter_map(|start| Some(start..start + length(&text.as_bytes()[start..])?))
}

/// The length of the mask that begins here.
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
