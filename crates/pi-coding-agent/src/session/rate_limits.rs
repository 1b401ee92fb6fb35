//! The limits that providers reported last, by credential.
//!
//! Every request of a session is watched: runs, summaries and those of successors. Limits belong to
//! an account, so they are kept under the name of the credential, `openai` or `openai@work`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use pi_base::lock;
use pi_protocol::{HttpResponseInfo, RateLimits, Request, now_ms};
use serde::Serialize;

use super::AgentSession;

/// Limits that a provider reported.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ReportedLimits {
    /// Time of the response, in milliseconds since 1970.
    #[serde(serialize_with = "pi_protocol::number::js::serialize")]
    pub time: f64,
    /// The limits.
    #[serde(flatten)]
    pub limits: RateLimits,
}

impl ReportedLimits {
    /// Creates the limits of a response at `time`, in milliseconds since 1970.
    pub fn new(time: f64, limits: RateLimits) -> Self {
        Self { time, limits }
    }
}

/// The limits so far.
#[derive(Debug, Clone, Default)]
pub(super) struct LimitLog(Arc<Mutex<BTreeMap<String, ReportedLimits>>>);

impl LimitLog {
    /// Records the limits in the responses to `request`, which uses this credential.
    pub(super) fn watch(&self, request: &mut Request, credential: String) {
        let log = self.clone();
        let next = request.options.hooks.on_response.take();
        request.options.hooks.on_response = Some(Arc::new(move |response: HttpResponseInfo| {
            if let Some(limits) = &response.rate_limits {
                log.record(&credential, limits.clone());
            }
            match &next {
                Some(next) => next(response),
                None => Box::pin(std::future::ready(())),
            }
        }));
    }

    fn record(&self, credential: &str, limits: RateLimits) {
        let mut log = lock(&self.0);
        log.insert(credential.to_owned(), ReportedLimits::new(now_ms(), limits));
    }

    fn latest(&self) -> BTreeMap<String, ReportedLimits> {
        lock(&self.0).clone()
    }
}

impl AgentSession {
    /// Returns the limits that providers reported last, by the name of the credential.
    pub fn rate_limits(&self) -> BTreeMap<String, ReportedLimits> {
        self.0.limits.latest()
    }

    /// Returns the limits that the provider of the current model reported last.
    pub fn current_rate_limits(&self) -> Option<ReportedLimits> {
        let provider = self.model()?.provider.clone();
        self.rate_limits().remove(&credential_name(self.0.models.as_deref(), &provider))
    }
}

/// Returns the name of the credential of a provider's requests.
pub(super) fn credential_name(models: Option<&pi_models::ModelRegistry>, provider: &str) -> String {
    match models {
        Some(models) => models.credential_name(provider).to_string(),
        None => provider.to_owned(),
    }
}
