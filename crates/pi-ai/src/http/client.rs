//! The connection pool, built when the first request is made.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::StatusCode;
use reqwest::redirect::{Attempt, Policy};

/// Connection pools by connect time-out, the one setting that belongs to a pool and not to a
/// request. In practice there is one.
#[derive(Clone, Default)]
pub(crate) struct HttpClient {
    pools: Arc<Mutex<HashMap<Option<Duration>, reqwest::Client>>>,
}

impl HttpClient {
    pub(crate) fn with_connect_timeout(
        &self,
        connect: Option<Duration>,
    ) -> Result<reqwest::Client, reqwest::Error> {
        let mut pools = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = pools.get(&connect) {
            return Ok(client.clone());
        }
        let client = build(connect)?;
        pools.insert(connect, client.clone());
        Ok(client)
    }
}

impl std::fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpClient").finish_non_exhaustive()
    }
}

fn build(connect: Option<Duration>) -> Result<reqwest::Client, reqwest::Error> {
    // Fails only if a provider is installed already, by us or by the program around us.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = reqwest::Client::builder()
        .redirect(Policy::custom(follow_same_origin))
        // Small deltas must not wait for a full packet.
        .tcp_nodelay(true)
        .tcp_keepalive(Duration::from_secs(30))
        .pool_idle_timeout(Duration::from_secs(90));
    if let Some(connect) = connect {
        builder = builder.connect_timeout(connect);
    }
    builder.build()
}

/// Follows a redirect that keeps the method and stays at the origin. Keys travel in headers that
/// an HTTP client does not know to be secret (`x-api-key`, `x-goog-api-key`), so any other
/// redirect is returned as the answer, and becomes an error there.
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
