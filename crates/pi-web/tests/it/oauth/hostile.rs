//! Answers of broken and hostile servers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pi_web::oauth::{LoginOptions, RefreshError, Tokens, discover, refresh};
use secrecy::SecretString;
use serde_json::{Map, json};

use super::env::{Answer, AuthServer, browse, ok, refused, service_at, start, web};

const SECRETS: [&str; 3] = ["refresh-secret+/1", "refresh-secret%2B%2F1", "access-secret-1"];

fn tokens() -> Tokens {
    Tokens {
        access: SecretString::from("access-secret-1"),
        refresh: Some(SecretString::from("refresh-secret+/1")),
        expires: Some(0.0),
        extra: Map::new(),
    }
}

fn raw(status: &str, headers: &str, body: &str) -> Answer {
    Answer::Raw(
        format!(
            "HTTP/1.1 {status}\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        )
        .into_bytes(),
    )
}

#[tokio::test]
async fn broken_token_responses_are_errors_without_secrets() {
    let quoted = "your token refresh-secret+/1 (refresh-secret%2B%2F1)\u{1b}[31m is bad\r\n";
    for (answer, expected, is_fatal) in [
        (raw("200 OK", "", "<html>"), "it is not a JSON object", false),
        (raw("200 OK", "", ""), "it is not a JSON object", false),
        (raw("200 OK", "", "[1]"), "it is not a JSON object", false),
        (ok(json!({})), "it contains no access token", false),
        (ok(json!({"access_token": 7})), "it contains no access token", false),
        (ok(json!({"access_token": ""})), "it contains no access token", false),
        (ok(json!({"access_token": "a", "token_type": "DPoP"})), "type DPoP are not", false),
        (ok(json!({"error": "invalid_grant"})), "refused: invalid_grant", true),
        (refused("invalid_grant"), "refused: invalid_grant", true),
        (refused("temporarily_unavailable"), "refused: temporarily_unavailable", false),
        (
            Answer::Json(400, json!({"error": "invalid_grant", "error_description": quoted})),
            "your token [redacted] ([redacted])[31m is bad (invalid_grant)",
            true,
        ),
        (
            Answer::Json(401, json!({"error": {"code": "refresh_token_reused", "message": "no"}})),
            "refused: no (refresh_token_reused)",
            true,
        ),
        (Answer::Json(400, json!({"code": "token_expired"})), "refused: token_expired", true),
        (Answer::Json(503, json!({"error": "invalid_grant"})), "HTTP 503", false),
        (raw("500 X", "", quoted), "HTTP 500: your token [redacted]", false),
        (raw("403 Forbidden", "", "<h1>proxy</h1>"), "HTTP 403: <h1>proxy</h1>", false),
        (raw("401 X", "", ""), "HTTP 401", true),
        (raw("429 X", "", ""), "HTTP 429", false),
        (raw("302 Found", "location: /other\r\n", ""), "redirects to 127.0.0.1", false),
        (raw("302 Found", "", ""), "redirects to nowhere", false),
        (Answer::Raw(Vec::new()), "127.0.0.1", false),
        (Answer::Raw(b"nonsense".to_vec()), "127.0.0.1", false),
    ] {
        let one = answer.clone();
        let server = AuthServer::start(move |_| one.clone()).await;
        let error = refresh(&service_at(&server), &web(), &tokens()).await.unwrap_err();
        let text = error.to_string();
        assert!(text.contains(expected), "{expected}: {text}");
        let fatal = matches!(error, RefreshError::SignInAgain { .. });
        assert_eq!(fatal, is_fatal, "{text}");
        let debug = format!("{error:?}");
        for secret in SECRETS {
            assert!(!text.contains(secret) && !debug.contains(secret), "{debug}");
        }
        assert!(!text.contains(['\u{1b}', '\r', '\n']), "{text:?}");
    }
}

#[tokio::test]
async fn token_requests_follow_no_redirect() {
    let hits = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&hits);
    let other = AuthServer::start(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        ok(json!({"access_token": "stolen"}))
    })
    .await;
    for status in ["301 X", "302 X", "307 X", "308 X"] {
        let location = format!("location: {}\r\n", other.url("/token"));
        let server = AuthServer::start(move |_| raw(status, &location, "")).await;
        let mut login = start(&service_at(&server), LoginOptions::default());
        let page = login.page().await;
        browse("GET", &page.consented()).await;
        let error = login.error().await;
        assert!(error.contains("which is not followed"), "{error}");
        refresh(&service_at(&server), &web(), &tokens()).await.unwrap_err();
    }
    assert_eq!(hits.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn metadata_is_redirected_within_its_origin_only() {
    let server = AuthServer::start(|request| {
        let base = format!("http://{}", request.headers["host"]);
        match request.path.as_str() {
            "/moved" => ok(json!({"issuer": base, "token_endpoint": format!("{base}/token")})),
            "/.well-known/oauth-authorization-server" => raw("302 X", "location: /moved\r\n", ""),
            _ => Answer::Json(404, json!({})),
        }
    })
    .await;
    discover(&web(), &server.base).await.unwrap();

    let location = format!("location: {}\r\n", server.url("/moved"));
    let other = AuthServer::start(move |_| raw("302 X", &location, "")).await;
    let error = discover(&web(), &other.base).await.unwrap_err().to_string();
    assert!(error.contains("which is not followed"), "{error}");

    let looping = AuthServer::start(|_| raw("302 X", "location: /\r\n", "")).await;
    let error = discover(&web(), &looping.base).await.unwrap_err().to_string();
    assert!(error.contains("redirects too often"), "{error}");
}

#[tokio::test]
async fn answers_are_limited_in_size() {
    let body = format!(r#"{{"access_token":"{}"}}"#, "x".repeat(2 << 20));
    let server = AuthServer::start(move |_| raw("200 OK", "", &body)).await;
    let error = refresh(&service_at(&server), &web(), &tokens()).await.unwrap_err().to_string();
    assert!(error.contains("larger than"), "{error}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = AuthServer::start(|_| ok(json!({}))).await;
    let mut service = service_at(&server);
    drop(listener);
    service.token_url = Some(format!("http://{address}/token"));
    let error = refresh(&service, &web(), &tokens()).await.unwrap_err();
    assert!(matches!(error, RefreshError::Transient { .. }), "{error}");
    assert!(error.to_string().contains(&address.to_string()), "{error}");
}
