//! The server over TLS, with an independent client.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use pi_protocol::CancelToken;
use pi_web::http::{Request, StatusCode};
use pi_web::server::{Incoming, Limits, Peer, Tls, TlsError, serve_tls, whole};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tls").join(name)
}

fn connector() -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(fixture("authority.pem")).unwrap()).unwrap();
    let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    TlsConnector::from(Arc::new(config))
}

#[tokio::test]
async fn requests_are_encrypted_and_plain_ones_get_no_answer() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let tls = Tls::read(&fixture("certificate.pem"), &fixture("key.pem")).unwrap();
    let stop = CancelToken::new();
    let mut limits = Limits::default();
    limits.head_wait = Duration::from_millis(500);
    let serving =
        serve_tls(listener, tls, limits, stop.clone(), |request: Request<Incoming>| async move {
            let peer = request.extensions().get::<Peer>().unwrap().0;
            whole(StatusCode::OK, "text/plain", format!("from {}", peer.ip()))
        });
    let serving = tokio::spawn(serving);
    let request = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    for name in ["localhost", "127.0.0.1"] {
        let stream = TcpStream::connect(address).await.unwrap();
        let name = ServerName::try_from(name).unwrap();
        let mut stream = connector().connect(name, stream).await.unwrap();
        stream.write_all(request).await.unwrap();
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer).await;
        assert!(
            answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("from 127.0.0.1"),
            "{answer}"
        );
    }
    // Another name than those of the certificate.
    let stream = TcpStream::connect(address).await.unwrap();
    let name = ServerName::try_from("pi.example").unwrap();
    assert!(connector().connect(name, stream).await.is_err());
    // No TLS, and nothing at all: neither gets an answer, and neither holds a connection.
    for bytes in [&request[..], b""] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        assert!(!String::from_utf8_lossy(&answer).contains("HTTP"), "{answer:?}");
    }
    stop.cancel();
    serving.await.unwrap();
}

#[test]
fn files_without_a_certificate_are_refused_by_name() {
    let directory = tempfile::tempdir().unwrap();
    let empty = directory.path().join("empty.pem");
    std::fs::write(&empty, "nothing").unwrap();
    let (certificate, key) = (fixture("certificate.pem"), fixture("key.pem"));
    let missing = Tls::read(&directory.path().join("missing.pem"), &key).unwrap_err();
    assert!(matches!(missing, TlsError::Read { .. }), "{missing}");
    for (certificate, key) in [(&empty, &key), (&certificate, &empty), (&key, &key)] {
        let error = Tls::read(certificate, key).unwrap_err();
        assert!(matches!(error, TlsError::Invalid { .. }), "{error}");
    }
    let error = Tls::read(&fixture("authority.pem"), &key).unwrap_err();
    assert!(matches!(error, TlsError::Mismatch(_)), "{error}");
}
