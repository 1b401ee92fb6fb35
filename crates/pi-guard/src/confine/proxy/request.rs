//! Parsing the head of a request to the proxy, and rewriting it for the server.
//!
//! The parser accepts only plain HTTP/1, because a request that the server understands differently
//! could hide a second one.

use std::net::IpAddr;

/// The greatest length of a head.
pub(super) const LONGEST_HEAD: usize = 64 * 1024;

/// A request to the proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Request {
    /// A name in lower case without a final dot, or an address in its canonical form.
    pub host: String,
    pub port: u16,
    pub kind: Kind,
}

/// The kind of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// A tunnel for bytes in both directions (`CONNECT`).
    Tunnel,
    /// A single HTTP request, with the head for the server.
    Plain { head: Vec<u8>, body: Body },
}

/// The length of the body of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    /// A number of bytes.
    Length(u64),
    /// Chunked encoding.
    Chunked,
}

/// Headers for this connection or for the proxy. `Host` and those about the length are rewritten.
const NOT_FORWARDED: [&str; 10] = [
    "connection",
    "content-length",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Returns the length of the head if it is complete. The first `seen` bytes were checked before.
pub(super) fn end_of_head(bytes: &[u8], seen: usize) -> Option<usize> {
    let from = seen.saturating_sub(3);
    let at = bytes.get(from..)?.windows(4).position(|four| four == b"\r\n\r\n")?;
    Some(from + at + 4)
}

/// Parses a complete head. The error describes the problem for the client.
pub(super) fn parse(head: &[u8]) -> Result<Request, &'static str> {
    let text = std::str::from_utf8(head).map_err(|_| "the head of the request is not UTF-8")?;
    let text = text.strip_suffix("\r\n\r\n").ok_or("the head of the request is incomplete")?;
    let mut lines = text.split("\r\n");
    let first = lines.next().unwrap_or_default();
    let mut words = first.split(' ');
    let (Some(method), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err("the request line is invalid");
    };
    let plain = first.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ');
    if !plain || !is_token(method) || !matches!(version, "HTTP/1.1" | "HTTP/1.0") {
        return Err("the request line is invalid");
    }
    let mut forwarded = Vec::new();
    let mut length = None;
    let mut chunked = false;
    for line in lines {
        let (name, value) = line.split_once(':').ok_or("a header is invalid")?;
        let value = value.trim_matches([' ', '\t']);
        if !is_token(name) || value.chars().any(|c| c.is_control() && c != '\t') {
            return Err("a header is invalid");
        }
        let lower = name.to_ascii_lowercase();
        match lower.as_str() {
            "content-length" => {
                let invalid = "the content length is not a number";
                // The parser of integers accepts a sign.
                if !value.bytes().all(|byte| byte.is_ascii_digit()) {
                    return Err(invalid);
                }
                let number: u64 = value.parse().map_err(|_| invalid)?;
                if length.is_some_and(|before| before != number) {
                    return Err("the request has two different content lengths");
                }
                length = Some(number);
            }
            "transfer-encoding" => {
                if chunked || !value.eq_ignore_ascii_case("chunked") {
                    return Err("the transfer encoding is not supported");
                }
                chunked = true;
            }
            _ => {}
        }
        if !NOT_FORWARDED.contains(&lower.as_str()) {
            forwarded.push((name, value));
        }
    }
    if method == "CONNECT" {
        let (host, port) = authority(target, None)?;
        return Ok(Request { host, port, kind: Kind::Tunnel });
    }
    let (scheme, rest) = target
        .split_once("://")
        .ok_or("the request is not for a proxy: its target must be an absolute URL")?;
    if !scheme.eq_ignore_ascii_case("http") {
        return Err("only http:// URLs are supported; use CONNECT for other protocols");
    }
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (named, path) = rest.split_at(end);
    let (host, port) = authority(named, Some(80))?;
    let path = path.split('#').next().unwrap_or_default();
    let slash = if path.starts_with('/') { "" } else { "/" };
    let body = match (length, chunked) {
        (Some(_), true) => return Err("the request has a content length and chunked encoding"),
        (_, true) if version == "HTTP/1.0" => {
            return Err("chunked encoding is not supported over HTTP/1.0");
        }
        (_, true) => Body::Chunked,
        (length, false) => Body::Length(length.unwrap_or(0)),
    };
    let mut head = format!("{method} {slash}{path} {version}\r\nHost: {named}\r\n");
    for (name, value) in forwarded {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    match (body, length) {
        (Body::Chunked, _) => head.push_str("Transfer-Encoding: chunked\r\n"),
        (_, Some(length)) => head.push_str(&format!("Content-Length: {length}\r\n")),
        _ => {}
    }
    head.push_str("Connection: close\r\n\r\n");
    Ok(Request { host, port, kind: Kind::Plain { head: head.into_bytes(), body } })
}

fn is_token(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(allowed)
}

/// Parses `host:port`, with brackets around an IPv6 address.
fn authority(text: &str, default_port: Option<u16>) -> Result<(String, u16), &'static str> {
    const INVALID: &str = "the host or the port is invalid";
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (address, port) = rest.split_once(']').ok_or(INVALID)?;
            let address: std::net::Ipv6Addr = address.parse().map_err(|_| INVALID)?;
            (IpAddr::V6(address).to_canonical().to_string(), port)
        }
        None => {
            let (host, port) = text.split_at(text.find(':').unwrap_or(text.len()));
            (normalize_host(host).ok_or(INVALID)?, port)
        }
    };
    let port = match port.strip_prefix(':') {
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits.parse().ok(),
        Some(_) => None,
        None if port.is_empty() => default_port,
        None => None,
    };
    let port = port.filter(|port| *port != 0).ok_or(INVALID)?;
    Ok((host, port))
}

/// Normalizes a name or an IPv4 address. Anything else that looks like a number (`127.1`,
/// `0x7f000001`) could be understood as an address and is refused.
fn normalize_host(host: &str) -> Option<String> {
    let lower = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    if let Ok(address) = lower.parse::<std::net::Ipv4Addr>() {
        return Some(address.to_string());
    }
    let label = |label: &str| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        (1..=63).contains(&label.len()) && label.bytes().all(plain)
    };
    let last = lower.rsplit('.').next().unwrap_or_default();
    let number = last.bytes().all(|byte| byte.is_ascii_digit()) || last.starts_with("0x");
    (lower.len() <= 253 && !number && lower.split('.').all(label)).then_some(lower)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(line: &str) -> Result<(String, u16), &'static str> {
        let read = parse(format!("{line} HTTP/1.1\r\nHost: other\r\n\r\n").as_bytes())?;
        Ok((read.host, read.port))
    }

    #[test]
    fn targets_are_normalized_or_refused() {
        let good = [
            ("CONNECT example.com:443", "example.com", 443),
            ("CONNECT EXAMPLE.com.:443", "example.com", 443),
            ("CONNECT [::1]:80", "::1", 80),
            ("CONNECT [::ffff:127.0.0.1]:80", "127.0.0.1", 80),
            ("CONNECT 127.0.0.1:80", "127.0.0.1", 80),
            ("GET http://example.com", "example.com", 80),
            ("GET HTTP://example.com:8080/a?b", "example.com", 8080),
            ("GET http://example.com?u=http://other/", "example.com", 80),
            ("GET http://[::1]:8080/", "::1", 8080),
        ];
        for (line, host, port) in good {
            assert_eq!(target(line), Ok((host.to_owned(), port)), "{line}");
        }
        let bad = [
            "CONNECT example.com",
            "CONNECT example.com:0",
            "CONNECT example.com:65536",
            "CONNECT example.com:+80",
            "CONNECT example.com:80:80",
            "CONNECT :80",
            "CONNECT a..b:80",
            "CONNECT me@example.com:80",
            "CONNECT 127.1:80",
            "CONNECT 0x7f000001:80",
            "CONNECT 2130706433:80",
            "CONNECT 0177.0.0.1:80",
            "CONNECT 127.0.0.1.:80x",
            "CONNECT [fe80::1%eth0]:80",
            "CONNECT exämple.com:80",
            "GET /",
            "GET example.com/",
            "GET https://example.com/",
            "GET http://allowed@other/",
            "GET http://allowed\\@other/",
            "GET http:///path",
            "GET http://example.com:/",
            "GET  http://example.com/",
            "GET http://example.com/ x",
            "G(T http://example.com/",
        ];
        for line in bad {
            assert!(target(line).is_err(), "{line}: {:?}", target(line));
        }
    }

    #[test]
    fn the_head_is_rewritten_for_one_request_to_one_host() {
        let head = "POST http://example.com:81?q HTTP/1.1\r\nHost: other\r\nAccept: */*\r\n\
                    Proxy-Authorization: x\r\nConnection: keep-alive\r\nContent-Length: 3\r\n\
                    Upgrade: h2c\r\n\r\n";
        let read = parse(head.as_bytes()).unwrap();
        let Kind::Plain { head, body } = read.kind else { panic!("not a tunnel") };
        let expected = "POST /?q HTTP/1.1\r\nHost: example.com:81\r\nAccept: */*\r\n\
                        Content-Length: 3\r\nConnection: close\r\n\r\n";
        assert_eq!(String::from_utf8(head).unwrap(), expected);
        assert_eq!(body, Body::Length(3));
    }

    #[test]
    fn ambiguous_heads_are_refused() {
        let headers = [
            "Content-Length: 3\r\nTransfer-Encoding: chunked",
            "Content-Length: 3\r\nContent-Length: 4",
            "Content-Length: +3",
            "Content-Length: 3, 3",
            "Content-Length:",
            "Transfer-Encoding: gzip, chunked",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
            "Transfer-Encoding : chunked",
            "A: b\r\n folded: c",
            "A: b\nTransfer-Encoding: chunked",
            "A: b\rTransfer-Encoding: chunked",
            "A: \0",
            "no colon",
            ": nameless",
        ];
        for header in headers {
            let head = format!("POST http://example.com/ HTTP/1.1\r\n{header}\r\n\r\n");
            assert!(parse(head.as_bytes()).is_err(), "{header:?}");
        }
        let old = "POST http://a/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n";
        assert!(parse(old.as_bytes()).is_err());
    }

    #[test]
    fn the_end_of_the_head_is_found() {
        assert_eq!(end_of_head(b"a\r\n\r\nrest", 0), Some(5));
        assert_eq!(end_of_head(b"a\r\n\r\nrest", 4), Some(5));
        assert_eq!(end_of_head(b"a\r\n\n", 0), None);
        assert_eq!(end_of_head(b"", 0), None);
    }
}
