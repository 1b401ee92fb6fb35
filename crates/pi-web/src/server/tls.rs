//! TLS for a server: a certificate and a key of the user, read from PEM files.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use http::{Request, Response};
use hyper::body::Incoming;
use pi_protocol::CancelToken;
use rustls::ServerConfig;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::listen::{Transport, serve_over};
use super::{Body, Limits};

/// Reasons why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A file has no certificate or key.
    #[error("cannot use {}: {problem}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// Problem of its content.
        problem: String,
    },
    /// Certificate and key do not belong together, or are of an unsupported kind.
    #[error("cannot use the certificate with this key: {0}")]
    Mismatch(String),
}

/// The certificate of a server with its key.
#[derive(Clone)]
pub struct Tls(TlsAcceptor);

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tls").finish_non_exhaustive()
    }
}

impl Tls {
    /// Reads a chain of certificates, the server's own first, and its key.
    pub fn read(certificate: &Path, key: &Path) -> Result<Self, TlsError> {
        let chain = CertificateDer::pem_slice_iter(&read(certificate)?)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| invalid(certificate, &error))?;
        if chain.is_empty() {
            return Err(invalid(certificate, &"there is no certificate in it"));
        }
        let secret =
            PrivateKeyDer::from_pem_slice(&read(key)?).map_err(|error| invalid(key, &error))?;
        let mismatch = |error: rustls::Error| TlsError::Mismatch(error.to_string());
        let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(mismatch)?
            .with_no_client_auth()
            .with_single_cert(chain, secret)
            .map_err(mismatch)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self(TlsAcceptor::from(Arc::new(config))))
    }
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    std::fs::read(path).map_err(|source| TlsError::Read { path: path.to_owned(), source })
}

fn invalid(path: &Path, problem: &dyn std::fmt::Display) -> TlsError {
    TlsError::Invalid { path: path.to_owned(), problem: problem.to_string() }
}

impl Transport for Tls {
    type Stream = TlsStream<TcpStream>;

    async fn prepare(&self, stream: TcpStream) -> Option<Self::Stream> {
        // A client that speaks no TLS gets no answer: there is none that it could read.
        self.0.accept(stream).await.ok()
    }
}

/// Serves requests over TLS, like [`serve`](super::serve).
pub async fn serve_tls<H, F>(
    listener: TcpListener,
    tls: Tls,
    limits: Limits,
    stop: CancelToken,
    handler: H,
) where
    H: Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    serve_over(tls, listener, limits, stop, handler).await;
}
