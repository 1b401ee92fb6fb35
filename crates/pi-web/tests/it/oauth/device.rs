//! The device flow against a server. The timing is tested where it is implemented.

use std::time::Duration;

use pi_web::oauth::{LoginEvent, LoginMethod, LoginOptions};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use super::env::{
    Answer, AuthServer, Received, Running, ok, refused, service_at, start, token_response,
};

fn code(changes: &Value) -> Value {
    let mut code = json!({
        "device_code": "device-secret",
        "user_code": "ABCD-EFGH",
        "verification_uri": "https://example.com/device",
        "verification_uri_complete": "https://example.com/device?code=ABCD-EFGH",
        "expires_in": 600,
        "interval": 1,
    });
    for (name, value) in changes.as_object().unwrap() {
        code[name] = value.clone();
    }
    code
}

/// Starts a server that answers the polls in order.
async fn server(code: Value, polls: Vec<Answer>) -> AuthServer {
    let mut polls = polls.into_iter();
    AuthServer::start(move |request: &Received| match request.path.as_str() {
        "/device" => ok(code.clone()),
        _ => polls.next().unwrap_or(Answer::Json(500, json!({}))),
    })
    .await
}

fn run(server: &AuthServer) -> Running {
    let mut service = service_at(server);
    service.extra_params.insert("referrer".to_owned(), "pi".to_owned());
    start(&service, LoginOptions::new(Some(LoginMethod::Device)))
}

#[tokio::test]
async fn the_user_enters_a_code() {
    let server =
        server(code(&json!({})), vec![refused("authorization_pending"), ok(token_response())])
            .await;
    let mut login = run(&server);
    let shown = login.events.recv().await.unwrap();
    assert_eq!(
        shown,
        LoginEvent::DeviceCode {
            user_code: "ABCD-EFGH".to_owned(),
            verification_url: "https://example.com/device".to_owned(),
            complete_url: Some("https://example.com/device?code=ABCD-EFGH".to_owned()),
            expires_in: Duration::from_secs(600),
        }
    );
    let tokens = login.result().await.unwrap();
    assert_eq!(tokens.access.expose_secret(), "access-secret-1");
    let form = server.requests("/device")[0].form();
    assert_eq!(form["client_id"], "client-1");
    assert_eq!(form["scope"], "read write");
    assert_eq!(form["referrer"], "pi");
    let polls = server.requests("/token");
    assert_eq!(polls.len(), 2);
    let form = polls[0].form();
    assert_eq!(form["grant_type"], "urn:ietf:params:oauth:grant-type:device_code");
    assert_eq!(form["device_code"], "device-secret");
    assert_eq!(form["client_id"], "client-1");
}

#[tokio::test]
async fn the_device_flow_is_chosen_if_there_is_no_page() {
    let server = server(code(&json!({})), vec![ok(token_response())]).await;
    let mut service = service_at(&server);
    service.authorize_url = None;
    start(&service, LoginOptions::default()).result().await.unwrap();
}

#[tokio::test]
async fn a_refusal_ends_the_flow() {
    let mut logins = Vec::new();
    for (poll, expected) in [
        (refused("access_denied"), "the authorization server refused: access_denied"),
        (refused("expired_token"), "the login was not completed within 10 minutes"),
        (
            ok(json!({"error": "invalid_client"})),
            "the authorization server refused: invalid_client",
        ),
    ] {
        let server = server(code(&json!({})), vec![poll]).await;
        logins.push((run(&server), expected));
    }
    for (login, expected) in logins {
        assert_eq!(login.error().await, expected);
    }
}

#[tokio::test]
async fn addresses_and_codes_of_the_server_are_checked() {
    for (changes, expected) in [
        (json!({"verification_uri": "http://example.com/"}), "neither https nor on this machine"),
        (json!({"verification_uri": "javascript:alert(1)"}), "neither https nor on this machine"),
        (json!({"verification_uri": "x"}), "malformed"),
        (json!({"verification_uri": null}), "it contains no device code"),
        (json!({"device_code": 1}), "it contains no device code"),
        (json!({"error": "invalid_client"}), "refused: invalid_client"),
    ] {
        let server = server(code(&changes), Vec::new()).await;
        let error = run(&server).error().await;
        assert!(error.contains(expected), "{changes}: {error}");
        assert!(!error.contains("device-secret"));
    }
    let changes = json!({
        "user_code": "A\u{1b}[2J\nB",
        "verification_uri_complete": "file:///etc/passwd",
        "verification_url": "https://ignored.example",
        "expires_in": 1e12,
        "interval": "1",
    });
    let server = server(code(&changes), vec![ok(token_response())]).await;
    let mut login = run(&server);
    let Some(LoginEvent::DeviceCode { user_code, complete_url, expires_in, .. }) =
        login.events.recv().await
    else {
        panic!()
    };
    assert_eq!(user_code, "A[2J B");
    assert_eq!(complete_url, None);
    assert_eq!(expires_in, Duration::from_secs(3600));
    login.result().await.unwrap();
}

#[tokio::test]
async fn a_device_login_is_cancelled_while_it_waits() {
    let server = server(code(&json!({"interval": 600})), Vec::new()).await;
    let mut login = run(&server);
    login.events.recv().await.unwrap();
    login.cancel.cancel();
    assert_eq!(login.error().await, "the login was cancelled");
    assert!(server.requests("/token").is_empty());
}
