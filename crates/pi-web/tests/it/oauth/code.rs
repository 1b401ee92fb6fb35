//! The authorization code flow, by browser and by pasted code.

use base64::Engine as _;
use pi_web::oauth::{Cancelled, ClientSecret, LoginEvent, LoginMethod, LoginOptions, PromptKind};
use ring::digest::{SHA256, digest};
use secrecy::ExposeSecret as _;
use serde_json::json;

use super::env::{
    Answer, AuthServer, assert_expires_in, browse, ok, service_at, start, token_response,
};

async fn usual() -> AuthServer {
    AuthServer::start(|request| match request.path.as_str() {
        "/token" => ok(token_response()),
        _ => Answer::Json(404, json!({})),
    })
    .await
}

fn options(method: LoginMethod) -> LoginOptions {
    LoginOptions::new(Some(method))
}

#[tokio::test]
async fn a_browser_brings_the_code() {
    let server = usual().await;
    let mut service = service_at(&server);
    service.resource = Some("https://api.example.com/v1".to_owned());
    service.extra_params.insert("audience".to_owned(), "a b".to_owned());
    let mut login = start(&service, LoginOptions::default());
    let page = login.page().await;

    let params = page.params();
    assert_eq!(params["response_type"], "code");
    assert_eq!(params["client_id"], "client-1");
    assert_eq!(params["scope"], "read write");
    assert_eq!(params["code_challenge_method"], "S256");
    assert_eq!(params["resource"], "https://api.example.com/v1");
    assert_eq!(params["audience"], "a b");
    assert!(!params.contains_key("nonce"), "there is no openid scope");
    assert!(params["redirect_uri"].starts_with("http://127.0.0.1:"), "{params:?}");
    assert!(params["redirect_uri"].ends_with("/callback"), "{params:?}");

    let (status, text) = browse("GET", &page.consented()).await;
    assert_eq!(status, 200);
    assert!(text.contains("You can close this page"), "{text}");
    let mut events = login.events;
    login.events = tokio::sync::mpsc::unbounded_channel().1;
    let tokens = login.result().await.unwrap();
    assert_eq!(tokens.access.expose_secret(), "access-secret-1");
    assert_eq!(tokens.refresh.as_ref().unwrap().expose_secret(), "refresh-secret-1");
    assert_expires_in(&tokens, 3300.0);
    assert_eq!(tokens.extra.get("scopes"), Some(&json!(["read"])));
    assert!(!format!("{tokens:?}").contains("secret"));
    assert!(matches!(events.recv().await, Some(LoginEvent::Progress(_))));

    let [request] = &server.requests("/token")[..] else { panic!() };
    let form = request.form();
    assert_eq!(form["grant_type"], "authorization_code");
    assert_eq!(form["code"], "code-1");
    assert_eq!(form["client_id"], "client-1");
    assert_eq!(form["redirect_uri"], params["redirect_uri"]);
    assert_eq!(form["resource"], "https://api.example.com/v1");
    assert!(!form.contains_key("client_secret") && !form.contains_key("state"));
    let hash = digest(&SHA256, form["code_verifier"].as_bytes());
    let hash = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(hash);
    assert_eq!(hash, params["code_challenge"]);
    assert!(request.headers["user-agent"].starts_with("pi/"), "{request:?}");
    assert_eq!(request.headers["content-type"], "application/x-www-form-urlencoded");
    // The port is closed.
    assert!(page.connect().await.is_err());
}

#[tokio::test]
async fn peculiarities_of_a_service_are_data() {
    let server = AuthServer::start(|_| {
        ok(json!({"data_token": "access-secret-1", "renew": "refresh-secret-1", "lasts": "120"}))
    })
    .await;
    let mut service = service_at(&server);
    service.token_encoding = serde_json::from_value(json!("json")).unwrap();
    service.send_state = Some(true);
    service.pkce = Some(false);
    service.client_secret = Some(ClientSecret("s3cret-value".to_owned()));
    service.headers.insert("X-Team".to_owned(), "a".to_owned());
    service.expiry_margin = Some(20);
    service.scopes.clear();
    service.authorize_url = Some(server.url("/authorize?tenant=t"));
    for (field, name) in [("access", "data_token"), ("refresh", "renew"), ("expires", "lasts")] {
        service.fields.insert(field.to_owned(), name.to_owned());
    }
    service.redirect = serde_json::from_value(json!({"path": "/cb/{random}"})).unwrap();
    let mut login = start(&service, LoginOptions::default());
    let page = login.page().await;
    let params = page.params();
    assert_eq!(params["tenant"], "t");
    assert!(!params.contains_key("code_challenge") && !params.contains_key("scope"));
    let random = params["redirect_uri"].rsplit_once('/').unwrap().1;
    assert_eq!(random.len(), 36, "{params:?}");
    browse("GET", &page.consented()).await;
    let tokens = login.result().await.unwrap();
    assert_expires_in(&tokens, 100.0);
    let [request] = &server.requests("/token")[..] else { panic!() };
    let body = request.json();
    assert_eq!(body["state"], params["state"]);
    assert_eq!(body["client_secret"], "s3cret-value");
    assert_eq!(body.get("code_verifier"), None);
    assert_eq!(request.headers["x-team"], "a");
}

#[tokio::test]
async fn a_short_lifetime_leaves_time_to_use_the_token() {
    let server = AuthServer::start(|_| ok(json!({"access_token": "a", "expires_in": 200}))).await;
    let mut login = start(&service_at(&server), LoginOptions::default());
    let page = login.page().await;
    browse("GET", &page.consented()).await;
    let tokens = login.result().await.unwrap();
    assert_expires_in(&tokens, 100.0);
    assert!(tokens.refresh.is_none());
}

#[tokio::test]
async fn a_pasted_answer_counts_in_every_form() {
    let server = usual().await;
    type Form = fn(&str) -> String;
    let forms: [Form; 4] = [
        |state| format!("http://127.0.0.1:1/callback?state={state}&code=code-1"),
        |state| format!("code-1#{state}"),
        |state| format!("code=code-1&state={state}"),
        |_| " code-1\n".to_owned(),
    ];
    for method in [LoginMethod::Browser, LoginMethod::Paste] {
        for form in forms {
            let mut login = start(&service_at(&server), options(method));
            let page = login.page().await;
            let question = login.questions.recv().await.unwrap();
            assert_eq!(question.prompt.kind, PromptKind::ManualCode);
            question.answer.send(Ok(form(&page.param("state")))).unwrap();
            login.result().await.unwrap();
            assert!(page.connect().await.is_err(), "the port is closed");
        }
    }
    let codes: Vec<_> =
        server.requests("/token").iter().map(|one| one.form()["code"].clone()).collect();
    assert_eq!(codes, ["code-1"; 8]);
}

#[tokio::test]
async fn a_wrong_paste_is_asked_again() {
    let server = usual().await;
    let mut login = start(&service_at(&server), options(LoginMethod::Paste));
    let page = login.page().await;
    for (text, remark) in [
        ("", "neither a code nor an address"),
        ("two words", "neither a code nor an address"),
        ("https://example.com/", "neither a code nor an address"),
        ("code-1#another-state", "belongs to another login"),
    ] {
        let question = login.questions.recv().await.unwrap();
        question.answer.send(Ok(text.to_owned())).unwrap();
        let shown = login.remark().await;
        assert!(shown.contains(remark), "{text}: {shown}");
    }
    let question = login.questions.recv().await.unwrap();
    question.answer.send(Ok(page.consented().into())).unwrap();
    login.result().await.unwrap();
}

#[tokio::test]
async fn the_page_of_the_service_shows_the_code() {
    let server = usual().await;
    let mut service = service_at(&server);
    service.paste_redirect_url = Some("https://example.com/oauth/code".to_owned());
    let mut login = start(&service, options(LoginMethod::Paste));
    assert_eq!(login.page().await.param("redirect_uri"), "https://example.com/oauth/code");
    let question = login.questions.recv().await.unwrap();
    question.answer.send(Ok("code-1".to_owned())).unwrap();
    login.result().await.unwrap();
    let form = server.requests("/token")[0].form();
    assert_eq!(form["redirect_uri"], "https://example.com/oauth/code");
}

#[tokio::test]
async fn the_browser_wins_over_an_open_question() {
    let server = usual().await;
    let mut login = start(&service_at(&server), LoginOptions::default());
    let page = login.page().await;
    let mut question = login.questions.recv().await.unwrap();
    browse("GET", &page.consented()).await;
    login.result().await.unwrap();
    // The question was withdrawn.
    question.answer.closed().await;
}

#[tokio::test]
async fn a_login_without_pasting_asks_nothing() {
    let server = usual().await;
    let mut options = LoginOptions::default();
    options.no_paste = true;
    let mut login = start(&service_at(&server), options);
    let page = login.page().await;
    browse("GET", &page.consented()).await;
    let mut questions =
        std::mem::replace(&mut login.questions, tokio::sync::mpsc::unbounded_channel().1);
    login.result().await.unwrap();
    assert!(questions.recv().await.is_none());
}

#[tokio::test]
async fn the_user_ends_the_login() {
    let server = usual().await;
    let mut login = start(&service_at(&server), LoginOptions::default());
    let page = login.page().await;
    let question = login.questions.recv().await.unwrap();
    question.answer.send(Err(Cancelled)).unwrap();
    assert_eq!(login.error().await, "the login was cancelled");
    assert!(page.connect().await.is_err());
    assert!(server.requests("/token").is_empty());
}

#[tokio::test]
async fn a_refusal_is_reported() {
    let server = usual().await;
    for (params, expected) in [
        (
            [("error", "access_denied"), ("error_description", "Not <b>today</b>")],
            "the authorization server refused: Not <b>today</b> (access_denied)",
        ),
        (
            [("error", "server_error\u{1b}[2J"), ("x", "y")],
            "the authorization server refused: server_error[2J",
        ),
    ] {
        let mut login = start(&service_at(&server), LoginOptions::default());
        let page = login.page().await;
        let state = page.param("state");
        let mut all = params.to_vec();
        all.push(("state", &state));
        let (status, text) = browse("GET", &page.returned(&all)).await;
        assert_eq!(status, 400);
        assert!(!text.contains("<b>") && !text.contains('\u{1b}'), "{text}");
        assert_eq!(login.error().await, expected);
    }
    assert!(server.requests("/token").is_empty());
}

#[tokio::test]
async fn the_consent_has_a_time_limit() {
    let server = usual().await;
    let mut service = service_at(&server);
    service.login_timeout = Some(0);
    let login = start(&service, LoginOptions::default());
    let error = login.error().await;
    assert!(error.contains("was not completed"), "{error}");
}

#[tokio::test]
async fn required_scopes_must_be_granted() {
    let server = usual().await;
    let mut service = service_at(&server);
    service.required_scopes = vec!["read".to_owned(), "use".to_owned()];
    let mut login = start(&service, LoginOptions::default());
    let page = login.page().await;
    browse("GET", &page.consented()).await;
    let error = login.error().await;
    assert!(error.contains("`use` was not granted"), "{error}");
}

/// Cancels at every point at which a login waits for a server or the user.
#[tokio::test]
async fn a_login_can_be_cancelled_at_every_point() {
    for silent in ["/.well-known/oauth-authorization-server", "/register", "", "/token"] {
        let server = AuthServer::start(move |request| {
            let base = format!("http://{}", request.headers["host"]);
            match request.path.as_str() {
                path if path == silent => Answer::Silence,
                "/.well-known/oauth-authorization-server" => ok(json!({
                    "issuer": base,
                    "authorization_endpoint": format!("{base}/authorize"),
                    "token_endpoint": format!("{base}/token"),
                    "registration_endpoint": format!("{base}/register"),
                })),
                "/register" => ok(json!({"client_id": "client-1"})),
                _ => ok(token_response()),
            }
        })
        .await;
        let mut service = pi_web::oauth::Service::default();
        service.issuer = Some(server.base.clone());
        service.register = Some(true);
        let mut login = start(&service, LoginOptions::default());
        let mut page = None;
        if matches!(silent, "" | "/token") {
            page = Some(login.page().await);
        }
        if let (Some(page), "/token") = (&page, silent) {
            browse("GET", &page.consented()).await;
        }
        if !silent.is_empty() {
            while server.arrival().await.path != silent {}
        }
        login.cancel.cancel();
        assert_eq!(login.error().await, "the login was cancelled", "{silent}");
        if let Some(page) = &page {
            assert_closed(page).await;
        }
    }
}

/// Waits until the port of a login is closed: tasks that are dropped end a moment later.
async fn assert_closed(page: &super::env::Page) {
    while page.connect().await.is_ok() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_cancelled_login_does_not_begin() {
    let server = usual().await;
    let mut options = LoginOptions::default();
    options.method = Some(LoginMethod::Device);
    let login = start(&service_at(&server), options);
    login.cancel.cancel();
    assert_eq!(login.error().await, "the login was cancelled");
    assert!(server.requests("/device").is_empty());
}
