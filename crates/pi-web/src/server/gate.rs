//! The gate of a server: the hosts, origins and tokens of requests that may pass.
//!
//! A page of another site can make a browser send requests to this machine, and can make its own
//! name resolve to it (DNS rebinding). Both are recognized by what the browser cannot be made to
//! hide: `Host` has the name of the page's site, `Origin` the site itself.

use std::net::SocketAddr;

use http::header::{AUTHORIZATION, HOST, HeaderMap, HeaderValue, ORIGIN, WWW_AUTHENTICATE};
use http::{StatusCode, Uri};

use super::{Refusal, single};
use crate::secret;

/// Decides by the headers of a request whether the request may pass.
#[derive(Debug)]
pub struct Gate {
    hosts: Vec<String>,
    origins: Vec<String>,
    token: Option<String>,
}

impl Gate {
    /// Creates the gate of a server at an address. Requests may name the hosts of this machine's
    /// loopback and the address itself. Pages of this server may send requests; with a token, those
    /// of other servers of these hosts, too.
    pub fn new(address: SocketAddr) -> Self {
        let mut hosts: Vec<String> =
            ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned).to_vec();
        if !address.ip().is_unspecified() {
            hosts.push(match address {
                SocketAddr::V4(address) => address.ip().to_string(),
                SocketAddr::V6(address) => format!("[{}]", address.ip()),
            });
        }
        Self { hosts, origins: Vec::new(), token: None }
    }

    /// Adds hosts that requests may name, such as `pi.example.org`.
    #[must_use]
    pub fn with_hosts<'a>(mut self, hosts: impl IntoIterator<Item = &'a str>) -> Self {
        self.hosts.extend(hosts.into_iter().map(str::to_ascii_lowercase));
        self
    }

    /// Adds an origin whose pages may send requests, such as `https://app.example.org`.
    #[must_use]
    pub fn with_origin(mut self, origin: impl Into<String>) -> Self {
        self.origins.push(origin.into());
        self
    }

    /// Sets the token that requests must have.
    #[must_use]
    pub fn with_token(mut self, token: Option<String>) -> Self {
        self.token = token;
        self
    }

    /// Refuses pages of other sites, other names of this machine, and clients without the token.
    pub fn check(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let host = single(headers, HOST.as_str());
        if !host.is_some_and(|host| self.knows(host)) {
            return Err(Refusal::new(StatusCode::MISDIRECTED_REQUEST, "Unknown host"));
        }
        if headers.contains_key(ORIGIN) {
            let origin = single(headers, ORIGIN.as_str());
            if !origin.is_some_and(|origin| self.trusts(origin, host.unwrap_or_default())) {
                let message = "Requests of this origin are refused";
                return Err(Refusal::new(StatusCode::FORBIDDEN, message));
            }
        }
        let Some(token) = &self.token else { return Ok(()) };
        let given = single(headers, AUTHORIZATION.as_str()).and_then(bearer);
        if !given.is_some_and(|given| secret::is_equal(given, token)) {
            let refusal = Refusal::new(StatusCode::UNAUTHORIZED, "The token is missing or wrong");
            return Err(refusal.with_header(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer")));
        }
        Ok(())
    }

    fn knows(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        // An address of IPv6 has colons, but inside of brackets.
        let name = match host.rsplit_once(':') {
            Some((name, port)) if !port.contains(']') => name,
            _ => &host,
        };
        self.hosts.iter().any(|known| known == name)
    }

    /// Returns true if pages of an origin may send requests that name `host`.
    fn trusts(&self, origin: &str, host: &str) -> bool {
        if self.origins.iter().any(|known| known.eq_ignore_ascii_case(origin)) {
            return true;
        }
        // `null`, the origin of sandboxed pages and files, has no scheme and so no host.
        let uri = origin.parse::<Uri>().ok().filter(|uri| uri.scheme().is_some());
        let Some(uri) = uri else { return false };
        let name = uri.host().map(str::to_ascii_lowercase);
        // Another port of this machine is another site: nothing but the token tells its pages from
        // those of this server.
        let is_own = || is_same_authority(&uri, host);
        name.is_some_and(|name| self.hosts.contains(&name)) && (self.token.is_some() || is_own())
    }
}

/// Returns true if an origin names the host and port of a `Host` header.
fn is_same_authority(origin: &Uri, host: &str) -> bool {
    let Some(authority) = origin.authority() else { return false };
    let default = if origin.scheme_str() == Some("https") { ":443" } else { ":80" };
    let short = |authority: &str| {
        let authority = authority.to_ascii_lowercase();
        authority.strip_suffix(default).map_or(authority.clone(), str::to_owned)
    };
    short(authority.as_str()) == short(host)
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate() -> Gate {
        Gate::new(([127, 0, 0, 1], 8000).into())
            .with_hosts(["Pi.Example"])
            .with_origin("https://app.example")
    }

    fn status(gate: &Gate, fields: &[(&str, &str)]) -> u16 {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            let name: http::HeaderName = name.parse().unwrap();
            headers.append(name, HeaderValue::from_str(value).unwrap());
        }
        gate.check(&headers).map_or_else(|refusal| refusal.status.as_u16(), |()| 200)
    }

    #[test]
    fn hosts_are_compared_without_their_port() {
        let gate = gate();
        for host in ["localhost", "LOCALHOST:8000", "127.0.0.1:9", "[::1]", "[::1]:8", "pi.example"]
        {
            assert_eq!(status(&gate, &[("host", host)]), 200, "{host}");
        }
        for host in ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", ""] {
            assert_eq!(status(&gate, &[("host", host)]), 421, "{host}");
        }
        assert_eq!(status(&gate, &[]), 421, "no host");
        assert_eq!(
            status(&gate, &[("host", "localhost"), ("host", "localhost")]),
            421,
            "two hosts"
        );
    }

    #[test]
    fn without_a_token_pages_of_other_servers_are_refused() {
        let gate = gate();
        let cases = [
            ("localhost:8000", "http://localhost:8000", 200),
            ("LOCALHOST:8000", "http://localhost:8000", 200),
            ("127.0.0.1:8000", "http://127.0.0.1:8000", 200),
            ("[::1]:8000", "http://[::1]:8000", 200),
            ("localhost", "http://localhost", 200),
            ("localhost:80", "http://localhost", 200),
            ("pi.example", "https://pi.example", 200),
            ("pi.example", "https://pi.example:443", 200),
            ("localhost:8000", "https://app.example", 200),
            ("localhost:8000", "http://localhost:3000", 403),
            ("localhost:8000", "http://localhost", 403),
            ("localhost:8000", "http://127.0.0.1:8000", 403),
            ("localhost", "http://localhost:3000", 403),
            ("localhost:8000", "http://me@localhost:8000", 403),
            ("pi.example", "https://pi.example:8443", 403),
        ];
        for (host, origin, expected) in cases {
            let fields = [("host", host), ("origin", origin)];
            assert_eq!(status(&gate, &fields), expected, "{host}, {origin}");
        }
    }

    #[test]
    fn origins_are_those_of_known_hosts() {
        let token = ("authorization", "Bearer t");
        let gate = gate().with_token(Some("t".to_owned()));
        for origin in [
            "http://localhost:3000",
            "http://LOCALHOST",
            "https://127.0.0.1",
            "http://[::1]:9",
            "https://pi.example",
            "https://app.example",
        ] {
            assert_eq!(
                status(&gate, &[token, ("host", "localhost"), ("origin", origin)]),
                200,
                "{origin}"
            );
        }
        for origin in [
            "https://evil.example",
            "http://localhost.evil.example",
            "http://localhost@evil.example",
            "http://app.example",
            "https://app.example.evil.example",
            "null",
            "localhost",
            "file://",
            "",
        ] {
            assert_eq!(
                status(&gate, &[token, ("host", "localhost"), ("origin", origin)]),
                403,
                "{origin}"
            );
        }
        let twice = [("host", "localhost"), ("origin", "http://localhost"), ("origin", "null")];
        assert_eq!(status(&gate, &twice), 403, "two origins");
    }

    #[test]
    fn a_token_is_required_as_a_whole() {
        let gate = gate().with_token(Some("secret".to_owned()));
        let with = |value| status(&gate, &[("host", "localhost"), ("authorization", value)]);
        assert_eq!(with("Bearer secret"), 200);
        assert_eq!(with("bearer  secret "), 200);
        for value in ["Bearer secre", "Bearer secrets", "Bearer ", "Basic secret", "secret", ""] {
            assert_eq!(with(value), 401, "{value}");
        }
        let refused =
            gate.check(&HeaderMap::from_iter([(HOST, HeaderValue::from_static("[::1]"))]));
        let challenge = refused.unwrap_err().header.unwrap();
        assert_eq!(challenge, (WWW_AUTHENTICATE, HeaderValue::from_static("Bearer")));
    }
}
