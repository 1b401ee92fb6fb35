//! Host names and addresses, which have many spellings.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::paths;

/// Returns true if the pattern of a rule matches the host.
pub(super) fn matches(pattern: &str, host: &str) -> bool {
    let (pattern, host) = (plain(pattern), plain(host));
    if paths::glob(&pattern, &host) {
        return true;
    }
    if pattern == "localhost" && is_local_name(&host) {
        return true;
    }
    let Some(address) = address(&host) else { return false };
    // A connection to the unspecified address reaches this machine.
    let is_local = address.is_loopback() || address.is_unspecified();
    let loopback = is_local && pattern == "localhost";
    let text = address.to_string();
    loopback || self::address(&pattern) == Some(address) || paths::glob(&pattern, &text)
}

/// Returns true if a name means this machine.
fn is_local_name(host: &str) -> bool {
    matches!(host, "ip6-localhost" | "ip6-loopback" | "localhost.localdomain")
        || host.ends_with(".localhost")
}

/// Returns true if a word may be a host that the pattern matches. A word without a dot is more often
/// something else, so it must be in the rule literally.
pub(super) fn may_match(pattern: &str, word: &str) -> bool {
    (word.contains(['.', ':']) && word.len() > 3 || !pattern.contains('*'))
        && matches(pattern, word)
}

/// Returns true if the name may mean several hosts: it has parts that are expanded or encoded, or
/// characters with several spellings.
pub(super) fn is_ambiguous(host: &str) -> bool {
    !host.is_ascii() || host.contains(['%', '{', '}', '[', '*', '$', '`'])
}

/// Returns the name of a host in lower case, without a final dot and the other parts of a URL.
fn plain(host: &str) -> String {
    let url = paths::host_in(host);
    let host = url.as_deref().unwrap_or(host).trim();
    let host = host.rsplit('@').next().unwrap_or(host).split('/').next().unwrap_or(host);
    let port = host.rsplit_once(':').filter(|(name, _)| !name.contains(':') || name.ends_with(']'));
    let host = port.map_or(host, |(name, _)| name);
    host.trim_matches(['[', ']']).trim_end_matches('.').to_ascii_lowercase()
}

/// Returns the address of a host, in any spelling that programs accept.
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
            // The last number fills the remaining bytes.
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
    // Some programs read `08` as a decimal number; none accepts a sign.
    if digits.is_empty() || digits.starts_with('+') {
        return None;
    }
    u32::from_str_radix(digits, radix).or_else(|_| digits.parse()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_match_in_all_spellings() {
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
            ("localhost", "0", true),
            ("localhost", "0.0.0.0", true),
            ("localhost", "[::]:80", true),
            ("localhost", "::", true),
            ("localhost", "ip6-localhost", true),
            ("localhost", "a.localhost", true),
            ("localhost", "1.1.1.1", false),
            ("169.254.169.254", "2852039166", true),
            ("169.254.169.254", "169.254.43518", true),
            ("*", "example.com", true),
            ("*", "localhost", true),
            ("127.0.0.1", "1", false),
        ] {
            assert_eq!(matches(pattern, host), expected, "{pattern} {host}");
        }
        assert!(!may_match("*", "5432"));
        assert!(may_match("127.0.0.1", "2130706433"));
        assert!(may_match("*", "a.com"));
    }
}
