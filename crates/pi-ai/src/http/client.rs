//! The connection pool, built for the first request.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::StatusCode;
use reqwest::redirect::{Attempt, Policy};

/// Connection pools by the settings that belong to a pool, not to a request. In practice there is
/// one.
#[derive(Clone, Default)]
pub(crate) struct HttpClient {
    pools: Arc<Mutex<HashMap<PoolKey, reqwest::Client>>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct PoolKey {
    connect: Option<Duration>,
    /// False for plain HTTP, which must also work without installed certificates.
    tls: bool,
    /// True for a server on this machine, which is not reached through a proxy.
    local: bool,
}

impl HttpClient {
    /// Returns the pool for requests to `url`. The error text includes a hint.
    pub(crate) fn pool(
        &self,
        url: &str,
        connect: Option<Duration>,
    ) -> Result<reqwest::Client, String> {
        let key = PoolKey {
            connect,
            tls: !url.starts_with("http://"),
            local: is_loopback(super::connect::host_of(url)),
        };
        let mut pools = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = pools.get(&key) {
            return Ok(client.clone());
        }
        let client = build(key).map_err(|error| {
            let cause = super::connect::cause(&error);
            format!(
                "Could not set up TLS: {cause}. Install the CA certificates of the system \
                 (often the package ca-certificates), or set SSL_CERT_FILE."
            )
        })?;
        pools.insert(key, client.clone());
        Ok(client)
    }
}

impl std::fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpClient").finish_non_exhaustive()
    }
}

fn is_loopback(host: &str) -> bool {
    let name = host.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let name = name.map_or_else(|| host.split(':').next().unwrap_or(host), |(name, _)| name);
    name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn build(key: PoolKey) -> Result<reqwest::Client, reqwest::Error> {
    // Fails only if a provider is already installed, by this crate or by the application.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = reqwest::Client::builder()
        .redirect(Policy::custom(follow_same_origin))
        // Small deltas must not wait for a full packet.
        .tcp_nodelay(true)
        .tcp_keepalive(Duration::from_secs(30))
        .pool_idle_timeout(Duration::from_secs(90));
    if !key.tls {
        builder = builder.tls_certs_only([]);
    }
    if key.local {
        builder = builder.no_proxy();
    }
    if let Some(connect) = key.connect {
        builder = builder.connect_timeout(connect);
    }
    builder.build()
}

/// Follows a redirect that keeps the method and stays at the origin. Keys are in headers that an
/// HTTP client does not treat as secret (`x-api-key`, `x-goog-api-key`), so every other redirect is
/// returned as the response and becomes an error.
fn follow_same_origin(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let keeps_method =
        matches!(attempt.status(), StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
    let same_origin =
        attempt.previous().last().is_some_and(|from| from.origin() == attempt.url().origin());
    if keeps_method && same_origin && attempt.previous().len() < 5 {
        attempt.follow()
    } else {
        attempt.stop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_hosts_are_recognized() {
        for local in
            ["localhost:8080", "localhost", "127.0.0.1:1", "127.1.2.3", "[::1]:80", "[::1]"]
        {
            assert!(is_loopback(local), "{local}");
        }
        for other in ["api.openai.com", "localhost.example.com:80", "10.0.0.1", "[fe80::1]:80", ""]
        {
            assert!(!is_loopback(other), "{other}");
        }
    }
}
