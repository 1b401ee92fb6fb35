//! Tool-call ids that every provider accepts.
//!
//! Providers restrict ids in different ways, and histories travel between providers. A rewritten
//! id must be stable (the call and its result are rewritten separately) and distinct.

/// Replaces every character outside `A-Z a-z 0-9 _ -`.
pub(crate) fn sanitize(id: &str) -> String {
    id.chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' })
        .collect()
}

/// Shortens a sanitized id to `max` characters. A shortened id ends in a hash of the whole, so that
/// two long ids with the same beginning stay distinct.
pub(crate) fn shorten(id: String, max: usize) -> String {
    if id.len() <= max {
        return id;
    }
    let hash: String = short_hash(&id).chars().take(HASH_LENGTH).collect();
    let head: String = id.chars().take(max.saturating_sub(hash.len() + 1)).collect();
    format!("{head}_{hash}")
}

const HASH_LENGTH: usize = 8;

/// Returns a short stable hash over UTF-16 units, in base 36. It is equal to that of the TypeScript
/// pi, so that both programs rewrite a history to the same ids and share prompt caches.
pub(crate) fn short_hash(text: &str) -> String {
    let (mut h1, mut h2) = (0xdead_beef_u32, 0x41c6_ce57_u32);
    for unit in text.encode_utf16() {
        let unit = u32::from(unit);
        h1 = (h1 ^ unit).wrapping_mul(2_654_435_761);
        h2 = (h2 ^ unit).wrapping_mul(1_597_334_677);
    }
    let mix = |a: u32, b: u32| {
        (a ^ (a >> 16)).wrapping_mul(2_246_822_507) ^ (b ^ (b >> 13)).wrapping_mul(3_266_489_909)
    };
    h1 = mix(h1, h2);
    h2 = mix(h2, h1);
    format!("{}{}", base36(h2), base36(h1))
}

fn base36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        let digit = number % 36;
        digits.push(char::from_digit(digit, 36).unwrap_or('0'));
        number /= 36;
        if number == 0 {
            return digits.iter().rev().collect();
        }
    }
}
