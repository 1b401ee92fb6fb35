//! The port to which the browser returns.

use pi_web::oauth::{LoginMethod, LoginOptions};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::env::{Answer, AuthServer, browse, ok, service_at, start, token_response};

#[tokio::test]
async fn only_the_right_request_counts_and_only_once() {
    // The token endpoint is silent, so the login stays open.
    let server = AuthServer::start(|_| Answer::Silence).await;
    let mut login = start(&service_at(&server), LoginOptions::default());
    let page = login.page().await;
    let state = page.param("state");
    let at = |path: &str| {
        let mut url = page.consented();
        url.set_path(path);
        url
    };
    for (method, url, expected) in [
        ("GET", at("/"), 404),
        ("GET", at("/callback/"), 404),
        ("GET", at("/Callback"), 404),
        ("GET", at("/favicon.ico"), 404),
        ("POST", page.consented(), 405),
        ("HEAD", page.consented(), 405),
        ("get", page.consented(), 405),
        ("GET", page.returned(&[("code", "c")]), 400),
        ("GET", page.returned(&[("code", "c"), ("state", "")]), 400),
        ("GET", page.returned(&[("code", "c"), ("state", &state[1..])]), 400),
        ("GET", page.returned(&[("state", &state)]), 400),
        ("GET", page.returned(&[("code", ""), ("state", &state)]), 400),
        ("GET", page.returned(&[("error", "access_denied"), ("state", "other")]), 400),
        ("GET", page.consented(), 200),
        ("GET", page.consented(), 409),
    ] {
        let (status, text) = browse(method, &url).await;
        assert_eq!(status, expected, "{method} {url}");
        let text = text.to_ascii_lowercase();
        assert!(text.contains("connection: close") && text.contains("no-store"), "{text}");
    }
    assert_eq!(server.arrival().await.path, "/token");
    login.cancel.cancel();
    login.result().await.unwrap_err();
}

#[tokio::test]
async fn nonsense_and_spare_connections_do_no_harm() {
    let server = AuthServer::start(|_| ok(token_response())).await;
    let mut login = start(&service_at(&server), LoginOptions::default());
    let page = login.page().await;
    // A browser opens connections that it does not use.
    let mut spares = vec![page.connect().await.unwrap(), page.connect().await.unwrap()];
    // Empty lines before a request are not one.
    spares[1].write_all(b"\r\n\r\n").await.unwrap();
    for bytes in [
        b"GET\r\n\r\n".as_slice(),
        b"GET  HTTP/1.1\r\n\r\n",
        b"\xff\xfe\x00\r\n\r\n",
        b"GET /callback?state=%ff%zz&code HTTP/1.1\r\n\r\n",
    ] {
        let mut socket = page.connect().await.unwrap();
        socket.write_all(bytes).await.unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 40"), "{bytes:?}: {answer}");
    }
    // A head without an end is cut off.
    let mut socket = page.connect().await.unwrap();
    let long = vec![b'x'; 64 * 1024];
    let _ = socket.write_all(&long).await;
    let mut answer = Vec::new();
    let _ = socket.read_to_end(&mut answer).await;
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 431"), "{answer:?}");

    browse("GET", &page.consented()).await;
    login.result().await.unwrap();
    for spare in &mut spares {
        // Closed, not left for the next login.
        assert!(matches!(spare.read(&mut [0; 1]).await, Ok(0) | Err(_)));
    }
    assert!(page.connect().await.is_err());
}

#[tokio::test]
async fn many_silent_connections_do_not_stop_the_login() {
    let server = AuthServer::start(|_| ok(token_response())).await;
    let mut login = start(&service_at(&server), LoginOptions::default());
    let page = login.page().await;
    let mut silent = Vec::new();
    for _ in 0..20 {
        silent.push(page.connect().await.unwrap());
    }
    let (status, _) = browse("GET", &page.consented()).await;
    assert_eq!(status, 200);
    login.result().await.unwrap();
}

#[tokio::test]
async fn a_taken_port_is_skipped() {
    let server = AuthServer::start(|_| ok(token_response())).await;
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let taken_port = taken.local_addr().unwrap().port();
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let free_port = free.local_addr().unwrap().port();
    drop(free);

    let mut service = service_at(&server);
    service.redirect =
        serde_json::from_value(json!({"host": "localhost", "ports": [taken_port, free_port]}))
            .unwrap();
    let mut login = start(&service, LoginOptions::default());
    let page = login.page().await;
    let uri = page.param("redirect_uri");
    assert!(
        uri.starts_with("http://localhost:") && !uri.contains(&taken_port.to_string()),
        "{uri}"
    );
    browse("GET", &page.consented()).await;
    login.result().await.unwrap();

    service.redirect = serde_json::from_value(json!({"ports": [taken_port]})).unwrap();
    let mut login = start(&service, LoginOptions::default());
    let page = login.page().await;
    browse("GET", &page.consented()).await;
    login.result().await.unwrap();

    service.redirect =
        serde_json::from_value(json!({"ports": [taken_port], "fixed": true})).unwrap();
    let error = start(&service, LoginOptions::default()).error().await;
    assert!(error.contains(&format!("127.0.0.1, port {taken_port}")), "{error}");
    // A pasted answer does not need the port.
    let mut login = start(&service, LoginOptions::new(Some(LoginMethod::Paste)));
    let page = login.page().await;
    let question = login.questions.recv().await.unwrap();
    question.answer.send(Ok(page.consented().into())).unwrap();
    login.result().await.unwrap();
}

#[tokio::test]
async fn the_address_to_listen_on_can_be_chosen() {
    let server = AuthServer::start(|_| ok(token_response())).await;
    let mut options = LoginOptions::default();
    options.callback_host = Some("0.0.0.0".to_owned());
    let mut login = start(&service_at(&server), options);
    let page = login.page().await;
    assert!(page.param("redirect_uri").starts_with("http://127.0.0.1:"));
    browse("GET", &page.consented()).await;
    login.result().await.unwrap();

    let mut options = LoginOptions::default();
    options.callback_host = Some("192.0.2.1".to_owned());
    let error = start(&service_at(&server), options).error().await;
    assert!(error.starts_with("cannot listen for the browser on 192.0.2.1"), "{error}");
}
