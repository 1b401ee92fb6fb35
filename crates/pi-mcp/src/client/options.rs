//! Options of connections and calls of a client.

use std::sync::Arc;
use std::time::Duration;

use pi_protocol::CancelToken;

use super::Handler;
use crate::protocol::{ClientCapabilities, Era, Implementation, LoggingLevel, Progress};

/// Options of a connection.
#[derive(Clone)]
pub struct ClientOptions {
    /// Name and version of the client.
    pub info: Implementation,
    /// Features that the client offers to servers. Other questions are refused.
    pub capabilities: ClientCapabilities,
    /// Answers questions of the server.
    pub handler: Arc<dyn Handler>,
    /// Time for which a request waits for an answer or for progress.
    pub timeout: Duration,
    /// The era of the server, if it is known. A wrong one costs one request.
    pub known_era: Option<Era>,
    /// Silence of a server after which it is also asked in the manner of the legacy era.
    pub probe_wait: Duration,
    /// The level of log messages that modern servers are asked for. Legacy servers choose it
    /// themselves until [`Client::set_log_level`](super::Client::set_log_level).
    pub log_level: Option<LoggingLevel>,
}

impl ClientOptions {
    /// Offers nothing; requests wait 60 s.
    pub fn new(info: Implementation, handler: Arc<dyn Handler>) -> Self {
        Self {
            info,
            capabilities: ClientCapabilities::default(),
            handler,
            timeout: Duration::from_secs(60),
            known_era: None,
            probe_wait: Duration::from_secs(5),
            log_level: None,
        }
    }
}

pi_protocol::debug_fields!(ClientOptions, info, capabilities, timeout, known_era);

/// Options of one request.
#[derive(Clone, Default)]
pub struct CallOptions {
    /// Cancels the request.
    pub cancel: Option<CancelToken>,
    /// Gets the progress of the request. It must not block.
    pub on_progress: Option<Arc<dyn Fn(Progress) + Send + Sync>>,
    /// Time for which the request waits, if not as long as others.
    pub timeout: Option<Duration>,
}

impl CallOptions {
    /// Makes a request that `cancel` cancels.
    pub fn cancelled_by(cancel: CancelToken) -> Self {
        Self { cancel: Some(cancel), ..Self::default() }
    }
}

pi_protocol::debug_fields!(CallOptions, cancel, timeout);
