//! Names of hosts: the same machine may be written in many ways.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::paths;

/// Whether a pattern of a rule is about the host.
pub(super) fn fits(pattern: &str, host: &str) -> bool {
    let (pattern, host) = (plain(pattern), plain(host));
    if paths::glob(&pattern, &host) {
        return true;
    }
    let Some(address) = address(&host) else { return false };
    let loopback = address.is_loopback() && pattern == "localhost";
    let text = address.to_string();
    loopback || self::address(&pattern) == Some(address) || paths::glob(&pattern, &text)
}

/// Whether a word among others may be a host by this pattern. A word without a dot is more often
/// something else, so it must be written in the rule.
pub(super) fn may_fit(pattern: &str, word: &str) -> bool {
    (word.contains(['.', ':']) && word.len() > 3 || !pattern.contains('*')) && fits(pattern, word)
}

/// Whether it cannot be told which host is meant: other alphabets have several spellings.
pub(super) fn is_unclear(host: &str) -> bool {
    !host.is_ascii() || host.contains(['%', '{', '}', '[', '*', '$', '`'])
}

/// Lower case, without the dot at the end, and without what a URL has around it.
fn plain(host: &str) -> String {
    let url = paths::host_in(host);
    let host = url.as_deref().unwrap_or(host).trim();
    let host = host.rsplit('@').next().unwrap_or(host).split('/').next().unwrap_or(host);
    let port = host.rsplit_once(':').filter(|(name, _)| !name.contains(':') || name.ends_with(']'));
    let host = port.map_or(host, |(name, _)| name);
    host.trim_matches(['[', ']']).trim_end_matches('.').to_ascii_lowercase()
}

/// The address that a host is, in any of the spellings that programs take.
fn address(host: &str) -> Option<IpAddr> {
    if let Ok(six) = host.split('%').next().unwrap_or(host).parse::<Ipv6Addr>() {
        return Some(six.to_ipv4_mapped().map_or(IpAddr::V6(six), IpAddr::V4));
    }
    four(host).map(IpAddr::V4)
}

/// `127.0.0.1` is also `127.1`, `0x7f.1`, `0177.0.0.1` and `2130706433`.
fn four(host: &str) -> Option<Ipv4Addr> {
    let parts: Vec<&str> = host.split('.').collect();
    if parts.len() > 4 {
        return None;
    }
    let mut value: u32 = 0;
    for (at, part) in parts.iter().enumerate() {
        let number = number(part)?;
        let left = 4 - at;
        if at + 1 == parts.len() {
            // The last one fills what is left.
            if left < 4 && number >> (8 * left) != 0 {
                return None;
            }
            value |= number;
        } else {
            if number > 255 {
                return None;
            }
            value |= number << (8 * (left - 1));
        }
    }
    Some(Ipv4Addr::from(value))
}

fn number(text: &str) -> Option<u32> {
    let (digits, radix) = match text.strip_prefix("0x") {
        Some(digits) => (digits, 16),
        None if text.len() > 1 && text.starts_with('0') => (&text[1..], 8),
        None => (text, 10),
    };
    // Some read `08` as ten-based; nobody reads a sign.
    if digits.is_empty() || digits.starts_with('+') {
        return None;
    }
    u32::from_str_radix(digits, radix).or_else(|_| digits.parse()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_host_in_many_spellings() {
        for (pattern, host, expected) in [
            ("evil.example", "EVIL.example.", true),
            ("evil.example", "https://u:p@evil.example:80/x", true),
            ("evil.example", "u@evil.example", true),
            ("evil.example", "evil.example:80", true),
            ("::1", "[::1]:80", true),
            ("*.evil.example", "a.b.evil.example", true),
            ("evil.example", "notevil.example", false),
            ("evil.example", "evil.example.com", false),
            ("127.0.0.1", "127.1", true),
            ("127.0.0.1", "0x7f.1", true),
            ("127.0.0.1", "0x7F000001", true),
            ("127.0.0.1", "2130706433", true),
            ("127.0.0.1", "017700000001", true),
            ("127.0.0.1", "0177.0.0.1", true),
            ("127.0.0.1", "127.000.000.001", true),
            ("127.0.0.1", "::ffff:7f00:1", true),
            ("127.0.0.1", "0:0:0:0:0:ffff:127.0.0.1", true),
            ("127.0.0.1", "127.0.0.2", false),
            ("127.0.0.1", "127.256", false),
            ("127.*", "0x7f.1", true),
            ("::1", "0:0:0:0:0:0:0:1", true),
            ("::1", "[::1]", true),
            ("localhost", "127.3.2.1", true),
            ("localhost", "::1", true),
            ("localhost", "LOCALHOST", true),
            ("169.254.169.254", "2852039166", true),
            ("169.254.169.254", "169.254.43518", true),
            ("*", "example.com", true),
            ("*", "localhost", true),
            ("127.0.0.1", "1", false),
        ] {
            assert_eq!(fits(pattern, host), expected, "{pattern} {host}");
        }
        assert!(!may_fit("*", "5432"));
        assert!(may_fit("127.0.0.1", "2130706433"));
        assert!(may_fit("*", "a.com"));
    }
}
