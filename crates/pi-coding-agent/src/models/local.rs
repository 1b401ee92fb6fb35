//! Model servers on this machine that nobody had to configure.
//!
//! Looked for only when somebody asks for one or nothing else is there, all at once, and for no
//! longer than a moment. Other programs use the same ports, so an answer counts only if it is what
//! such a server says; everything else is as if nothing were there.

mod http;
mod servers;

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use futures_util::future::join_all;
use pi_protocol::Model;

use http::Server;

/// How long a server may take to say what it has. One that runs on this machine and is not busy
/// needs a few milliseconds.
pub const PATIENCE: Duration = Duration::from_millis(150);

/// A kind of server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Ollama.
    Ollama,
    /// The server of llama.cpp.
    LlamaCpp,
    /// LM Studio.
    LmStudio,
    /// vLLM.
    Vllm,
}

/// A place to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Endpoint {
    /// What may be there.
    pub kind: Kind,
    /// Where.
    pub address: SocketAddr,
}

/// Where these servers are if nobody says otherwise.
pub const DEFAULT_ENDPOINTS: [Endpoint; 4] = [
    Endpoint { kind: Kind::Ollama, address: loopback(11434) },
    Endpoint { kind: Kind::LlamaCpp, address: loopback(8080) },
    Endpoint { kind: Kind::LmStudio, address: loopback(1234) },
    Endpoint { kind: Kind::Vllm, address: loopback(8000) },
];

/// A server that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct LocalServer {
    /// The id of the provider that it becomes.
    pub provider: &'static str,
    /// Its models.
    pub models: Vec<Model>,
}

const fn loopback(port: u16) -> SocketAddr {
    SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), port)
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Ollama, Self::LlamaCpp, Self::LmStudio, Self::Vllm];

    /// The id of the provider that such a server becomes.
    pub fn provider(self) -> &'static str {
        match self {
            Self::Ollama => "ollama",
            Self::LlamaCpp => "llama.cpp",
            Self::LmStudio => "lmstudio",
            Self::Vllm => "vllm",
        }
    }
}

/// The text names such a provider, alone or as `provider/id`.
pub fn is_named(text: &str) -> bool {
    let head = text.trim().split('/').next().unwrap_or_default();
    Kind::ALL.iter().any(|kind| head.eq_ignore_ascii_case(kind.provider()))
}

/// The servers among `endpoints` that say what models they have, in the order of `endpoints`. Each
/// may take `patience` for an answer; what is asked about single models is done without if late.
pub async fn discover(endpoints: &[Endpoint], patience: Duration) -> Vec<LocalServer> {
    let asked = endpoints.iter().map(|endpoint| async move {
        let server = Server { kind: endpoint.kind, address: endpoint.address, patience };
        let models = servers::models(server).await?;
        let provider = endpoint.kind.provider();
        (!models.is_empty()).then_some(LocalServer { provider, models })
    });
    join_all(asked).await.into_iter().flatten().collect()
}
