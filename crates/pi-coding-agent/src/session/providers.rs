//! The chain of providers behind a session: which code sees a request, in which order.
//!
//! Requests of runs: virtual models, cache warming, tap, providers of extensions, client. Requests
//! outside of runs (summaries, extensions) skip the cache warming and are charged to the meter; the
//! loop charges those of runs itself.

use std::sync::Arc;

use pi_protocol::Provider;

use super::cache_warming::{CacheWarmer, WarmedProvider};
use super::parts::SessionParts;
use super::provider_hooks::RoutingProvider;
use super::rate_limits::LimitLog;
use super::virtual_model::{RequestOrigin, VirtualProvider};

/// The two entries of the chain.
pub(super) struct Providers {
    /// For the requests of runs.
    pub(super) of_runs: Arc<dyn Provider>,
    /// For all other requests.
    pub(super) outside: Arc<dyn Provider>,
}

impl Providers {
    /// Builds the chain of a session.
    pub(super) fn new(parts: &SessionParts, warmer: &Arc<CacheWarmer>, limits: &LimitLog) -> Self {
        let client: Arc<dyn Provider> = Arc::new(RoutingProvider {
            client: Arc::clone(&parts.provider),
            registry: parts.extensions.registry().clone(),
            models: parts.models.clone(),
            limits: limits.clone(),
        });
        let tapped = match &parts.tap {
            Some(tap) => tap.provider(client),
            None => client,
        };
        let warmed = WarmedProvider { provider: Arc::clone(&tapped), warmer: Arc::clone(warmer) };
        let session = &parts.this;
        let of_runs = VirtualProvider {
            provider: Arc::new(warmed),
            session: session.clone(),
            origin: RequestOrigin::Run,
        };
        let outside = VirtualProvider {
            provider: tapped,
            session: session.clone(),
            origin: RequestOrigin::Outside,
        };
        Self { of_runs: Arc::new(of_runs), outside: parts.meter.provider(Arc::new(outside)) }
    }
}
