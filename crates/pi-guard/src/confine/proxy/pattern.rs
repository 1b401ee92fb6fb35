//! Patterns for hosts.

use std::net::IpAddr;

/// Returns true if one of the patterns matches the host: `*.example.com` matches every name below
/// `example.com` (not `example.com` itself), `*` matches every name except `localhost`, and any
/// other pattern matches exactly that name or address.
pub fn host_matches(patterns: &[String], host: &str) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host);
    let address: Option<IpAddr> = host.parse().ok();
    patterns.iter().any(|pattern| match (pattern.strip_prefix('*'), address) {
        (None, Some(address)) => pattern.parse() == Ok(address),
        (Some(_), Some(_)) => false,
        (Some(""), None) => !host.eq_ignore_ascii_case("localhost"),
        (Some(suffix), None) => {
            let at = host.len().saturating_sub(suffix.len());
            let same = host.get(at..).is_some_and(|end| end.eq_ignore_ascii_case(suffix));
            at > 0 && same && suffix.starts_with('.')
        }
        (None, None) => pattern.eq_ignore_ascii_case(host),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_names_below_a_domain_or_exactly() {
        let patterns: Vec<String> =
            ["*.example.com", "Exact.org", "127.0.0.1", "::1"].map(str::to_owned).into();
        for host in ["a.example.com", "A.B.EXAMPLE.com.", "exact.org", "127.0.0.1", "::1", "0:0::1"]
        {
            assert!(host_matches(&patterns, host), "{host}");
        }
        let others = [
            "example.com",
            ".example.com",
            "badexample.com",
            "a.example.com.evil",
            "an.exact.org",
            "127.0.0.2",
            "localhost",
            "",
        ];
        for host in others {
            assert!(!host_matches(&patterns, host), "{host}");
        }
        let every_name = ["*".to_owned()];
        assert!(host_matches(&every_name, "example.com"));
        // A wildcard stands for names: addresses and `localhost` must be listed.
        assert!(!host_matches(&every_name, "127.0.0.1") && !host_matches(&every_name, "localhost"));
        assert!(!host_matches(&["*.0.0.1".to_owned(), "*x".to_owned()], "127.0.0.1"));
    }
}
