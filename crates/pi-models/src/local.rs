//! Model servers on this machine that need no configuration.
//!
//! They are probed only if a model of theirs is requested or no other model is available, all at
//! once and with a short timeout. Other programs use the same ports, so a response counts only if
//! it is that of such a server.

mod http;
mod servers;

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use futures_util::future::join_all;
use pi_protocol::Model;

use http::Server;

/// Time limit of a probe. An idle server on this machine responds within a few milliseconds.
pub(crate) const TIMEOUT: Duration = Duration::from_millis(150);

/// A kind of model server.
#[allow(missing_docs)] // the names of the products
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerKind {
    Ollama,
    LlamaCpp,
    LmStudio,
    Vllm,
}

/// An address to probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Endpoint {
    /// Expected kind of server.
    pub kind: ServerKind,
    /// Address of the server.
    pub address: SocketAddr,
}

/// Returns the addresses of the servers. `ollama` is the address that Ollama is configured to use;
/// it counts only if it is on this machine.
pub(crate) fn endpoints(ollama: Option<&str>) -> [Endpoint; 4] {
    let mut endpoints = DEFAULT_ENDPOINTS;
    let host = ollama.map(|host| host.strip_prefix("http://").unwrap_or(host));
    let address = host.and_then(|host| host.trim_end_matches('/').parse::<SocketAddr>().ok());
    if let Some(address) = address.filter(|address| address.ip().is_loopback()) {
        endpoints[0].address = address;
    }
    endpoints
}

/// The default addresses of these servers.
const DEFAULT_ENDPOINTS: [Endpoint; 4] = [
    Endpoint { kind: ServerKind::Ollama, address: loopback(11434) },
    Endpoint { kind: ServerKind::LlamaCpp, address: loopback(8080) },
    Endpoint { kind: ServerKind::LmStudio, address: loopback(1234) },
    Endpoint { kind: ServerKind::Vllm, address: loopback(8000) },
];

/// A running model server.
#[derive(Debug, Clone, PartialEq)]
pub struct LocalServer {
    /// Id of its provider.
    pub provider: &'static str,
    /// Models of the server.
    pub models: Vec<Model>,
}

const fn loopback(port: u16) -> SocketAddr {
    SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), port)
}

impl ServerKind {
    /// All kinds of servers.
    pub const ALL: [Self; 4] = [Self::Ollama, Self::LlamaCpp, Self::LmStudio, Self::Vllm];

    /// Returns the provider id of such a server.
    pub fn provider(self) -> &'static str {
        match self {
            Self::Ollama => "ollama",
            Self::LlamaCpp => "llama.cpp",
            Self::LmStudio => "lmstudio",
            Self::Vllm => "vllm",
        }
    }
}

/// Returns true if the text names a local provider, alone or as `provider/id`.
pub fn names_local_provider(text: &str) -> bool {
    let head = text.trim().split('/').next().unwrap_or_default();
    ServerKind::ALL.iter().any(|kind| head.eq_ignore_ascii_case(kind.provider()))
}

/// Probes the endpoints and returns the servers with their models, in the order of `endpoints`. The
/// timeout applies to each response; details of single models that arrive late are left out.
pub async fn discover(endpoints: &[Endpoint], timeout: Duration) -> Vec<LocalServer> {
    let asked = endpoints.iter().map(|endpoint| async move {
        let server = Server { kind: endpoint.kind, address: endpoint.address, timeout };
        let models = servers::models(server).await?;
        let provider = endpoint.kind.provider();
        (!models.is_empty()).then_some(LocalServer { provider, models })
    });
    join_all(asked).await.into_iter().flatten().collect()
}
