//! The peculiarities of providers, against scripted servers.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pi_web::oauth::{
    LoginEvent, LoginMethod, LoginOptions, RefreshError, Service, base_url, builtin, refresh,
};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use url::Url;

use super::env::{Answer, AuthServer, Received, assert_expires_in, browse, ok, start, web};

/// Moves the endpoints of a built-in service to a server.
fn moved(name: &str, server: &AuthServer) -> Service {
    let mut service = builtin::service(name).unwrap();
    let urls = [
        &mut service.issuer,
        &mut service.authorize_url,
        &mut service.token_url,
        &mut service.device_url,
        &mut service.exchange_url,
    ];
    for url in urls.into_iter().flatten() {
        let path = Url::parse(url).unwrap().path().trim_end_matches('/').to_owned();
        *url = server.url(&path);
    }
    service.jwks_url = None;
    if let Some(redirect) = &mut service.redirect {
        redirect.ports.clear();
        redirect.fixed = false;
    }
    service
}

fn device_code(interval: u64) -> Value {
    json!({
        "device_code": "device-secret", "user_code": "AB-12", "interval": interval,
        "verification_uri": "https://example.com/device", "expires_in": 600,
    })
}

fn jwt(claims: &Value) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}.c2ln", part(&json!({"alg": "RS256"})), part(claims))
}

#[tokio::test]
async fn openrouter_gives_a_key() {
    let server = AuthServer::start(|_| ok(json!({"key": "sk-or-secret", "user_id": "u"}))).await;
    let mut login = start(&moved("openrouter", &server), LoginOptions::default());
    let page = login.page().await;
    let callback = Url::parse(&page.param("callback_url")).unwrap();
    assert_eq!(callback.host_str(), Some("127.0.0.1"));
    assert!(callback.path().starts_with("/oauth/callback/"), "{callback}");
    assert!(!page.params().contains_key("client_id") && !page.params().contains_key("state"));
    // The path is the secret of the callback.
    let mut wrong = callback.clone();
    wrong.set_path("/oauth/callback/x");
    wrong.set_query(Some("code=c"));
    assert_eq!(browse("GET", &wrong).await.0, 404);
    let mut right = callback;
    right.set_query(Some("code=code-1"));
    assert_eq!(browse("GET", &right).await.0, 200);
    let tokens = login.result().await.unwrap();
    assert_eq!(tokens.access.expose_secret(), "sk-or-secret");
    assert!(tokens.refresh.is_none() && tokens.expires.is_none());
    let body = server.requests("/api/v1/auth/keys")[0].json();
    assert_eq!(body["code"], "code-1");
    assert_eq!(body["code_challenge_method"], "S256");
    assert_eq!(body["code_verifier"].as_str().unwrap().len(), 43);
}

/// A token endpoint like that of "Sign in with ChatGPT".
async fn chatgpt_server(scope: &'static str, earliest: Value) -> AuthServer {
    AuthServer::start(move |_: &Received| {
        ok(json!({
            "access_token": "access-secret-1", "refresh_token": "refresh-secret-1",
            "expires_in": 3600, "scope": scope, "earliest_refresh_at": earliest,
        }))
    })
    .await
}

const PLAN: &str = "openid resource.invoke chatgpt.tokens.use.direct";

#[tokio::test]
async fn chatgpt_issues_a_client_id_that_is_reused() {
    let server = chatgpt_server(PLAN, Value::Null).await;
    let service = moved("openai", &server);
    let mut options = LoginOptions::default();
    options.host_id = Some("7d1e6a34-9a53-4b8e-9d53-2f4f0a6f5a11".to_owned());
    let mut login = start(&service, options);
    let page = login.page().await;
    let params = page.params();
    assert_eq!(params["client_id"], "dynamic_agent_client");
    assert_eq!(params["agent_name_hint"], "pi");
    assert_eq!(params["ext_agent_host_id"], "urn:uuid:7d1e6a34-9a53-4b8e-9d53-2f4f0a6f5a11");
    assert_eq!(params["resource"], "https://api.openai.com/v1");
    assert!(params["redirect_uri"].ends_with("/auth/callback"));
    assert!(params.contains_key("nonce") && params.contains_key("code_challenge"));
    let state = params["state"].clone();
    let back = page.returned(&[("code", "c"), ("state", &state), ("client_id", "oaiapp_1")]);
    browse("GET", &back).await;
    let tokens = login.result().await.unwrap();
    assert_eq!(tokens.extra["clientId"], "oaiapp_1");
    assert_eq!(tokens.extra["hostId"], "7d1e6a34-9a53-4b8e-9d53-2f4f0a6f5a11");
    assert_expires_in(&tokens, 3600.0 - 180.0);
    let form = server.requests("/api/accounts/oauth/token")[0].form();
    assert_eq!(form["client_id"], "oaiapp_1");
    assert_eq!(form["resource"], "https://api.openai.com/v1");

    let renewed = refresh(&service, &web(), &tokens).await.unwrap();
    assert_eq!(renewed.extra["clientId"], "oaiapp_1");
    let form = server.requests("/api/accounts/oauth/token")[1].form();
    assert_eq!(form["client_id"], "oaiapp_1");
    assert_eq!(form["resource"], "https://api.openai.com/v1");

    // The next login uses the issued id and the same host.
    let mut options = LoginOptions::default();
    options.previous = Some(renewed);
    let mut login = start(&service, options);
    let page = login.page().await;
    assert_eq!(page.param("client_id"), "oaiapp_1");
    assert!(!page.params().contains_key("agent_name_hint"));
    assert!(page.param("ext_agent_host_id").contains("7d1e6a34"));
    browse("GET", &page.consented()).await;
    assert_eq!(login.result().await.unwrap().extra["clientId"], "oaiapp_1");
}

#[tokio::test]
async fn chatgpt_needs_the_issued_id_and_the_permission() {
    let server = chatgpt_server("openid", Value::Null).await;
    let service = moved("openai", &server);
    let mut login = start(&service, LoginOptions::default());
    let page = login.page().await;
    browse("GET", &page.consented()).await;
    let error = login.error().await;
    assert!(error.contains("no issued client id"), "{error}");

    let mut login = start(&service, LoginOptions::default());
    let page = login.page().await;
    let question = login.questions.recv().await.unwrap();
    question.answer.send(Ok("code-1".to_owned())).unwrap();
    assert!(login.remark().await.contains("whole address"));
    let question = login.questions.recv().await.unwrap();
    let state = page.param("state");
    let back = page.returned(&[("code", "c"), ("state", &state), ("client_id", "oaiapp_1")]);
    question.answer.send(Ok(back.into())).unwrap();
    let error = login.error().await;
    assert!(error.contains("`chatgpt.tokens.use.direct` was not granted"), "{error}");
}

#[tokio::test]
async fn chatgpt_says_when_a_refresh_is_allowed() {
    for (earliest, is_early) in [
        (json!("2999-01-01T00:00:00Z"), true),
        (json!(32_472_144_000_u64), true),
        (json!("2020-01-01T00:00:00+01:00"), false),
        (json!("nonsense"), false),
        (Value::Null, false),
    ] {
        let server = chatgpt_server(PLAN, earliest.clone()).await;
        let service = moved("openai", &server);
        let mut login = start(&service, LoginOptions::default());
        let page = login.page().await;
        let state = page.param("state");
        browse(
            "GET",
            &page.returned(&[("code", "c"), ("state", &state), ("client_id", "oaiapp_1")]),
        )
        .await;
        let tokens = login.result().await.unwrap();
        match refresh(&service, &web(), &tokens).await {
            Err(RefreshError::TooEarly { at }) => assert!(is_early && at > 3e13, "{earliest}"),
            Ok(_) => assert!(!is_early, "{earliest}"),
            Err(error) => panic!("{earliest}: {error}"),
        }
    }
}

#[tokio::test]
async fn codex_names_the_account() {
    let claims = json!({"https://api.openai.com/auth": {"chatgpt_account_id": "account-1"}});
    let server = AuthServer::start(move |_| {
        ok(json!({"access_token": jwt(&claims), "refresh_token": "r", "expires_in": 3600}))
    })
    .await;
    let mut service = moved("openai-codex", &server);
    service.client_id = Some("mine".to_owned());
    let mut login = start(&service, LoginOptions::default());
    let page = login.page().await;
    assert_eq!(page.param("originator"), "pi");
    assert!(page.param("redirect_uri").starts_with("http://localhost:"));
    browse("GET", &page.consented()).await;
    assert_eq!(login.result().await.unwrap().extra["accountId"], "account-1");
}

#[tokio::test]
async fn codex_has_its_own_device_flow() {
    let mut polls = vec![
        Answer::Json(403, json!({"error": {"code": "deviceauth_authorization_pending"}})),
        ok(json!({"authorization_code": "code-1", "code_verifier": "verifier-1"})),
    ]
    .into_iter();
    let server = AuthServer::start(move |request| match request.path.as_str() {
        "/api/accounts/deviceauth/usercode" => {
            ok(json!({"device_auth_id": "id-1", "user_code": "AB-12", "interval": "1"}))
        }
        "/api/accounts/deviceauth/token" => polls.next().unwrap(),
        _ => ok(json!({"access_token": "a", "refresh_token": "r", "expires_in": 3600})),
    })
    .await;
    let mut service = moved("openai-codex", &server);
    service.client_id = Some("mine".to_owned());
    let mut login = start(&service, LoginOptions::new(Some(LoginMethod::Device)));
    let Some(LoginEvent::DeviceCode { user_code, verification_url, .. }) =
        login.events.recv().await
    else {
        panic!()
    };
    assert_eq!((user_code.as_str(), verification_url), ("AB-12", server.url("/codex/device")));
    login.result().await.unwrap();
    let poll = server.requests("/api/accounts/deviceauth/token")[0].json();
    assert_eq!(poll, json!({"device_auth_id": "id-1", "user_code": "AB-12"}));
    let form = server.requests("/oauth/token")[0].form();
    assert_eq!(form["code"], "code-1");
    assert_eq!(form["code_verifier"], "verifier-1");
    assert_eq!(form["redirect_uri"], server.url("/deviceauth/callback"));
}

#[tokio::test]
async fn copilot_exchanges_the_github_token() {
    let server = AuthServer::start(|request| match request.path.as_str() {
        "/login/device/code" => ok(device_code(1)),
        "/login/oauth/access_token" => {
            ok(json!({"access_token": "gho-secret", "token_type": "bearer"}))
        }
        "/copilot_internal/v2/token" if request.headers["authorization"] == "Bearer gho-secret" => {
            // No server is there: the list of models is optional.
            ok(json!({"token": "tid=1;proxy-ep=127.0.0.1", "expires_at": 4_000_000_000_u64}))
        }
        _ => Answer::Json(401, json!({"message": "Bad credentials gho-secret"})),
    })
    .await;
    let mut service = moved("github-copilot", &server);
    service.client_id = Some("mine".to_owned());
    let login = start(&service, LoginOptions::default());
    let tokens = login.result().await.unwrap();
    assert_eq!(tokens.refresh.as_ref().unwrap().expose_secret(), "gho-secret");
    assert_eq!(tokens.expires, Some(4_000_000_000_000.0 - 300_000.0));
    assert_eq!(base_url(&service, &tokens).as_deref(), Some("https://127.0.0.1"));
    assert_eq!(server.requests("/login/device/code")[0].form()["scope"], "read:user");
    let request = &server.requests("/copilot_internal/v2/token")[0];
    assert_eq!(request.method, "GET");
    assert_eq!(request.headers["accept"], "application/json");
    assert!(request.headers["user-agent"].starts_with("pi/"));

    refresh(&service, &web(), &tokens).await.unwrap();
    let mut revoked = tokens;
    revoked.refresh = Some("gho-revoked-secret".into());
    let error = refresh(&service, &web(), &revoked).await.unwrap_err();
    assert!(matches!(error, RefreshError::SignInAgain { .. }), "{error}");
    assert!(!error.to_string().contains("revoked-secret"), "{error}");
}

#[tokio::test]
async fn meta_mints_keys() {
    let server = AuthServer::start(|request| match request.path.as_str() {
        "/oidc/device/authorization" => ok(device_code(1)),
        "/oidc/device/token" => ok(json!({"access_token": "a", "id_token": "identity-secret"})),
        _ => ok(json!({"api_key": format!("key-{}", request.headers["authorization"].len())})),
    })
    .await;
    let mut service = moved("meta", &server);
    service.client_id = Some("mine".to_owned());
    let tokens = start(&service, LoginOptions::default()).result().await.unwrap();
    assert_eq!(tokens.refresh.as_ref().unwrap().expose_secret(), "identity-secret");
    assert_expires_in(&tokens, 86_400.0);
    refresh(&service, &web(), &tokens).await.unwrap();
    let mints = server.requests("/muse-code/key");
    assert_eq!(mints.len(), 2);
    assert_eq!(mints[1].method, "POST");
    assert_eq!(mints[1].headers["x-api-version"], "1.0.0");
    assert_eq!(mints[1].headers["authorization"], "Bearer identity-secret");
}

#[tokio::test]
async fn a_gateway_names_its_page() {
    let server = AuthServer::start(|request| match request.path.as_str() {
        "/v1/oauth" => {
            let base = format!("http://{}", request.headers["host"]);
            ok(json!({"authorizationEndpoint": format!("{base}/consent")}))
        }
        "/v1/oauth/device" => ok(device_code(1)),
        _ => ok(json!({"access_token": "a", "refresh_token": "r", "expires_in": 3600})),
    })
    .await;
    let mut service = moved("radius", &server);
    service.client_id = Some("mine".to_owned());
    let mut login = start(&service, LoginOptions::default());
    let page = login.page().await;
    assert_eq!(page.url.path(), "/consent");
    assert_eq!(page.param("scope"), "gateway offline_access");
    browse("GET", &page.consented()).await;
    let tokens = login.result().await.unwrap();
    refresh(&service, &web(), &tokens).await.unwrap();
    assert_eq!(server.requests("/v1/oauth/token").len(), 2);
    start(&service, LoginOptions::new(Some(LoginMethod::Device))).result().await.unwrap();

    let silent = AuthServer::start(|_| ok(json!({}))).await;
    let mut service = moved("radius", &silent);
    service.client_id = Some("mine".to_owned());
    let error = start(&service, LoginOptions::default()).error().await;
    assert!(error.contains("names no `authorizationEndpoint`"), "{error}");
}

#[tokio::test]
async fn closed_logins_are_refused_before_any_request() {
    for name in
        ["anthropic", "github-copilot", "kimi-coding", "meta", "openai-codex", "radius", "xai"]
    {
        let service = builtin::service(name).unwrap();
        let error = start(&service, LoginOptions::default()).error().await;
        assert!(error.contains("configure"), "{name}: {error}");
    }
}
