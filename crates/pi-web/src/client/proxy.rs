//! The proxy of a request: from the variables of the environment, else the configured one.
//!
//! Chosen here and not by the HTTP client, so that an error can name the proxy that caused it.

use std::net::IpAddr;

use hyper_util::client::proxy::matcher::Matcher;

use super::host_of;

/// The route to the server of a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Route {
    /// Without a proxy.
    Direct,
    /// Through the proxy with this URL.
    Proxy(String),
    /// As the operating system is configured.
    System,
}

impl Route {
    /// Returns the route to `url`. A variable takes precedence over the configured proxy. Servers
    /// on this machine and its metadata server, and those that `NO_PROXY` lists, are connected to
    /// directly.
    pub(super) fn to(
        url: &str,
        configured: Option<&str>,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Self {
        if is_local(host_of(url)) {
            return Self::Direct;
        }
        let names: &[&str] = if url.starts_with("http://") {
            &["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"]
        } else {
            &["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
        };
        let proxy = match names.iter().find_map(|name| env(name)) {
            Some(proxy) => Some(proxy),
            None => configured.map(str::to_owned),
        };
        match proxy.as_deref().map(str::trim) {
            None => Self::System,
            // An empty variable disables the proxy.
            Some("") => Self::Direct,
            Some(_) if is_excluded(url, env) => Self::Direct,
            Some(proxy) => Self::Proxy(proxy.to_owned()),
        }
    }

    /// Returns the proxy for error texts, without credentials.
    pub(super) fn proxy_name(&self) -> Option<&str> {
        let Self::Proxy(proxy) = self else { return None };
        let host = host_of(proxy);
        Some(host.rsplit_once('@').map_or(host, |(_, host)| host))
    }
}

/// Returns true if `NO_PROXY` lists the host of the URL.
fn is_excluded(url: &str, env: &dyn Fn(&str) -> Option<String>) -> bool {
    let Some(list) = env("no_proxy").or_else(|| env("NO_PROXY")) else { return false };
    let list = list.split_whitespace().collect::<Vec<_>>().join(",");
    let matcher = Matcher::builder().all("http://proxy").no(list).build();
    url.parse().is_ok_and(|uri| matcher.intercept(&uri).is_none())
}

/// Returns true for this machine and for link-local addresses. The metadata servers of clouds have
/// such addresses: a proxy cannot reach them, or would get the credentials of its own machine.
fn is_local(host: &str) -> bool {
    let name = host.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let name = name.map_or_else(|| host.split(':').next().unwrap_or(host), |(name, _)| name);
    if matches!(name, "localhost" | "metadata.google.internal") {
        return true;
    }
    match name.parse() {
        Ok(IpAddr::V4(address)) => address.is_loopback() || address.is_link_local(),
        // Those of AWS are in its own part of the private addresses.
        Ok(IpAddr::V6(address)) => {
            address.is_loopback()
                || address.is_unicast_link_local()
                || address.segments().starts_with(&[0xfd00, 0xec2])
        }
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_hosts_are_recognized() {
        for local in [
            "localhost:8080",
            "localhost",
            "127.0.0.1:1",
            "127.1.2.3",
            "[::1]:80",
            "[::1]",
            "169.254.169.254",
            "169.254.170.2:80",
            "metadata.google.internal",
            "[fd00:ec2::254]",
            "[fe80::1]:80",
        ] {
            assert!(is_local(local), "{local}");
        }
        for other in ["api.openai.com", "localhost.example.com:80", "10.0.0.1", "[fd00::1]:80", ""]
        {
            assert!(!is_local(other), "{other}");
        }
    }

    #[test]
    fn variables_precede_the_configured_proxy() {
        let proxy = |url: &str| Route::Proxy(url.to_owned());
        let https = "https://api.example.com/v1";
        let http = "http://api.example.com/v1";
        type Row<'a> = (&'a str, Option<&'a str>, &'a [(&'a str, &'a str)], Route);
        let rows: &[Row<'_>] = &[
            (https, None, &[], Route::System),
            (https, Some("http://set:1"), &[], proxy("http://set:1")),
            (http, Some(" http://set:1 "), &[], proxy("http://set:1")),
            ("http://127.0.0.1:8/v1", Some("http://set:1"), &[], Route::Direct),
            (https, Some("http://set:1"), &[("HTTPS_PROXY", "http://e:2")], proxy("http://e:2")),
            (https, Some("http://set:1"), &[("HTTP_PROXY", "http://e:2")], proxy("http://set:1")),
            (http, None, &[("HTTP_PROXY", "e:2"), ("http_proxy", "e:3")], proxy("e:3")),
            (https, None, &[("ALL_PROXY", "e:2")], proxy("e:2")),
            (https, Some("http://set:1"), &[("HTTPS_PROXY", "")], Route::Direct),
            (https, Some("http://set:1"), &[("NO_PROXY", "example.com")], Route::Direct),
            (https, Some("http://set:1"), &[("NO_PROXY", "a b api.example.com")], Route::Direct),
            (https, Some("http://set:1"), &[("NO_PROXY", "*")], Route::Direct),
            (https, Some("http://set:1"), &[("NO_PROXY", "ample.com")], proxy("http://set:1")),
            ("http://10.1.2.3/", Some("p:1"), &[("no_proxy", "10.0.0.0/8")], Route::Direct),
        ];
        for (url, configured, variables, expected) in rows {
            let env = |name: &str| {
                variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(Route::to(url, *configured, &env), *expected, "{url} {variables:?}");
        }
    }

    #[test]
    fn the_name_of_a_proxy_has_no_credentials() {
        let route = Route::Proxy("http://user:secret@proxy.example:3128/".to_owned());
        assert_eq!(route.proxy_name(), Some("proxy.example:3128"));
        assert_eq!(Route::Direct.proxy_name(), None);
    }
}
