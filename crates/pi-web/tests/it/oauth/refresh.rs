//! Renewal and revocation of tokens.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pi_web::oauth::{ClientSecret, OauthError, RefreshError, Tokens, refresh, revoke};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};

use super::env::{Answer, AuthServer, assert_expires_in, ok, refused, service_at, web};

fn tokens(extra: Value) -> Tokens {
    let Value::Object(extra) = extra else { panic!() };
    Tokens {
        access: SecretString::from("access-secret-0"),
        refresh: Some(SecretString::from("refresh-secret-0")),
        expires: Some(0.0),
        extra,
    }
}

#[tokio::test]
async fn a_refresh_replaces_the_tokens_and_keeps_the_rest() {
    let server = AuthServer::start(|_| {
        ok(json!({"access_token": "access-secret-1", "refresh_token": "refresh-secret-1", "expires_in": 3600}))
    })
    .await;
    let mut service = service_at(&server);
    service.client_secret = Some(ClientSecret("s".to_owned()));
    service.resource = Some("https://api.example.com".to_owned());
    service.required_scopes = vec!["read".to_owned()];
    let former = tokens(json!({"scopes": ["read"], "own": 1}));
    let renewed = refresh(&service, &web(), &former).await.unwrap();
    assert_eq!(renewed.access.expose_secret(), "access-secret-1");
    assert_eq!(renewed.refresh.as_ref().unwrap().expose_secret(), "refresh-secret-1");
    assert_expires_in(&renewed, 3300.0);
    assert_eq!(Value::Object(renewed.extra), json!({"scopes": ["read"], "own": 1}));
    let form = server.requests("/token")[0].form();
    let form: Vec<_> = form.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(
        form,
        [
            ("client_id", "client-1"),
            ("client_secret", "s"),
            ("grant_type", "refresh_token"),
            ("refresh_token", "refresh-secret-0"),
            ("resource", "https://api.example.com"),
        ]
    );
}

#[tokio::test]
async fn a_server_that_does_not_rotate_keeps_the_refresh_token() {
    let server = AuthServer::start(|_| ok(json!({"access_token": "access-secret-1"}))).await;
    let renewed = refresh(&service_at(&server), &web(), &tokens(json!({}))).await.unwrap();
    assert_eq!(renewed.refresh.unwrap().expose_secret(), "refresh-secret-0");
    assert_eq!(renewed.expires, None);
}

#[tokio::test]
async fn tokens_without_a_refresh_token_cannot_be_renewed() {
    let server = AuthServer::start(|_| ok(json!({}))).await;
    for refresh_token in [None, Some("")] {
        let mut tokens = tokens(json!({}));
        tokens.refresh = refresh_token.map(SecretString::from);
        let error = refresh(&service_at(&server), &web(), &tokens).await.unwrap_err();
        assert!(matches!(error, RefreshError::SignInAgain { .. }), "{error}");
    }
    assert!(server.requests("/token").is_empty());
}

#[tokio::test]
async fn busy_servers_are_asked_again_if_the_service_says_so() {
    for (retries, failures, succeeds) in [(1, 1, true), (0, 1, false)] {
        let count = Arc::new(AtomicUsize::new(0));
        let server = AuthServer::start(move |_| {
            if count.fetch_add(1, Ordering::Relaxed) < failures {
                Answer::Json(503, json!({}))
            } else {
                ok(json!({"access_token": "a"}))
            }
        })
        .await;
        let mut service = service_at(&server);
        service.refresh_retries = Some(retries);
        let result = refresh(&service, &web(), &tokens(json!({}))).await;
        assert_eq!(result.is_ok(), succeeds);
    }
    // A refusal is final.
    let server = AuthServer::start(|_| refused("invalid_grant")).await;
    let mut service = service_at(&server);
    service.refresh_retries = Some(3);
    refresh(&service, &web(), &tokens(json!({}))).await.unwrap_err();
    assert_eq!(server.requests("/token").len(), 1);
}

#[tokio::test]
async fn tokens_are_revoked() {
    let server = AuthServer::start(|_| {
        Answer::Raw(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_vec())
    })
    .await;
    assert!(
        revoke(&service_at(&server), &web(), &tokens(json!({"clientId": "issued"}))).await.unwrap()
    );
    let forms: Vec<_> = server.requests("/revoke").iter().map(super::env::Received::form).collect();
    assert_eq!(forms.len(), 2);
    assert_eq!(forms[0]["token"], "refresh-secret-0");
    assert_eq!(forms[0]["token_type_hint"], "refresh_token");
    assert_eq!(forms[0]["client_id"], "issued");
    assert_eq!(forms[1]["token"], "access-secret-0");
}

#[tokio::test]
async fn failed_revocations_are_reported() {
    let server = AuthServer::start(|request| {
        if request.body.contains("access_token") {
            refused("unsupported_token_type")
        } else {
            ok(json!({}))
        }
    })
    .await;
    assert!(revoke(&service_at(&server), &web(), &tokens(json!({}))).await.unwrap());
    let server = AuthServer::start(|_| refused("invalid_client")).await;
    let error = revoke(&service_at(&server), &web(), &tokens(json!({}))).await.unwrap_err();
    assert!(matches!(error, OauthError::Refused { .. }), "{error}");
    let mut service = service_at(&server);
    service.revoke_url = None;
    assert!(!revoke(&service, &web(), &tokens(json!({}))).await.unwrap());
}
