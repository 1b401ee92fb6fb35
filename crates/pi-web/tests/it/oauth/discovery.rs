//! Discovery of servers and resources, and the client that a login uses.

use pi_web::oauth::{
    Challenge, ClientSecret, LoginMethod, LoginOptions, Service, discover, discover_resource,
    refresh,
};
use serde_json::{Value, json};

use super::env::{Answer, AuthServer, Received, browse, ok, start, token_response, web};

fn base(request: &Received) -> String {
    format!("http://{}", request.headers["host"])
}

fn metadata(base: &str) -> Value {
    json!({
        "issuer": base,
        "authorization_endpoint": format!("{base}/authorize"),
        "token_endpoint": format!("{base}/token"),
        "device_authorization_endpoint": format!("{base}/device"),
        "registration_endpoint": format!("{base}/register"),
        "revocation_endpoint": format!("{base}/revoke"),
        "code_challenge_methods_supported": ["plain", "S256"],
    })
}

/// Starts a server with these changes to its metadata.
async fn server(changes: Value) -> AuthServer {
    AuthServer::start(move |request| match request.path.as_str() {
        "/.well-known/oauth-authorization-server" => {
            let mut metadata = metadata(&base(request));
            for (name, value) in changes.as_object().unwrap() {
                metadata[name] = value.clone();
            }
            ok(metadata)
        }
        "/register" => Answer::Json(201, json!({"client_id": "issued-1"})),
        "/token" => ok(token_response()),
        _ => Answer::Json(404, json!({})),
    })
    .await
}

fn service(server: &AuthServer) -> Service {
    let mut service = Service::default();
    service.issuer = Some(server.base.clone());
    service
}

#[tokio::test]
async fn endpoints_are_discovered() {
    let server = server(json!({})).await;
    let found = discover(&web(), &server.base).await.unwrap();
    assert_eq!(found.issuer, server.base);
    assert_eq!(found.token_url, Some(server.url("/token")));
    assert_eq!(found.device_url, Some(server.url("/device")));
    assert_eq!(found.revoke_url, Some(server.url("/revoke")));
    assert_eq!(found.challenge_methods.unwrap(), ["plain", "S256"]);
    assert!(!found.sends_issuer && !found.accepts_metadata_documents);
}

#[tokio::test]
async fn every_address_of_metadata_is_tried() {
    for path in [
        "/.well-known/oauth-authorization-server/tenant",
        "/.well-known/openid-configuration/tenant",
        "/tenant/.well-known/openid-configuration",
    ] {
        let server = AuthServer::start(move |request| {
            if request.path == path {
                let mut metadata = metadata(&base(request));
                metadata["issuer"] = format!("{}/tenant", base(request)).into();
                ok(metadata)
            } else {
                Answer::Json(404, json!({}))
            }
        })
        .await;
        let found = discover(&web(), &server.url("/tenant")).await.unwrap();
        assert_eq!(found.token_url, Some(server.url("/token")), "{path}");
    }
}

#[tokio::test]
async fn metadata_must_be_that_of_the_issuer_and_safe() {
    for (changes, expected) in [
        (json!({"issuer": "https://evil.example"}), "that of another issuer"),
        (json!({"issuer": null}), "that of another issuer"),
        (json!({"token_endpoint": "http://evil.example/token"}), "neither https nor"),
        (json!({"authorization_endpoint": "javascript:alert(1)"}), "neither https nor"),
        (json!({"jwks_uri": "file:///etc/passwd"}), "neither https nor"),
    ] {
        let server = server(changes.clone()).await;
        let error = discover(&web(), &server.base).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{changes}: {error}");
    }
    let empty = AuthServer::start(|_| Answer::Json(404, json!({}))).await;
    let error = discover(&web(), &empty.base).await.unwrap_err().to_string();
    assert!(error.contains("publishes no metadata"), "{error}");
    for issuer in ["http://auth.example.com", "ftp://x", "nonsense"] {
        discover(&web(), issuer).await.unwrap_err();
    }
}

#[tokio::test]
async fn a_client_is_registered_and_kept() {
    let server = server(json!({})).await;
    let mut service = service(&server);
    service.register = Some(true);
    service.scopes = vec!["files".to_owned()];
    let mut login = start(&service, LoginOptions::default());
    let page = login.page().await;
    assert_eq!(page.param("client_id"), "issued-1");
    browse("GET", &page.consented()).await;
    let tokens = login.result().await.unwrap();
    assert_eq!(tokens.extra["clientId"], "issued-1");

    let request = server.requests("/register")[0].json();
    assert_eq!(request["client_name"], "pi");
    assert_eq!(request["redirect_uris"], json!([page.param("redirect_uri")]));
    assert_eq!(request["grant_types"], json!(["refresh_token", "authorization_code"]));
    assert_eq!(request["token_endpoint_auth_method"], "none");
    assert_eq!(request["scope"], "files");

    let renewed = refresh(&service, &web(), &tokens).await.unwrap();
    assert_eq!(renewed.extra["clientId"], "issued-1");
    assert_eq!(server.requests("/token")[1].form()["client_id"], "issued-1");
}

#[tokio::test]
async fn a_server_may_insist_on_a_secret() {
    let server = AuthServer::start(|request| match request.path.as_str() {
        "/.well-known/oauth-authorization-server" => ok(metadata(&base(request))),
        "/register" => ok(json!({
            "client_id": "a:b",
            "client_secret": "issued/secret",
            "token_endpoint_auth_method": "client_secret_basic",
        })),
        _ => ok(token_response()),
    })
    .await;
    let mut service = service(&server);
    service.register = Some(true);
    let mut login = start(&service, LoginOptions::default());
    let page = login.page().await;
    browse("GET", &page.consented()).await;
    let tokens = login.result().await.unwrap();
    refresh(&service, &web(), &tokens).await.unwrap();
    let requests = server.requests("/token");
    assert_eq!(requests.len(), 2);
    for request in requests {
        // a%3Ab:issued%2Fsecret
        assert_eq!(request.headers["authorization"], "Basic YSUzQWI6aXNzdWVkJTJGc2VjcmV0");
        assert!(!request.form().contains_key("client_secret"));
    }
}

#[tokio::test]
async fn a_configured_secret_is_sent_as_the_server_wants_it() {
    for (methods, is_header) in [
        (json!(["client_secret_basic"]), true),
        (json!(["client_secret_basic", "client_secret_post"]), false),
        (Value::Null, false),
    ] {
        let server = server(json!({"token_endpoint_auth_methods_supported": methods})).await;
        let mut service = service(&server);
        service.client_id = Some("c".to_owned());
        service.client_secret = Some(ClientSecret("s".to_owned()));
        let mut login = start(&service, LoginOptions::default());
        let page = login.page().await;
        browse("GET", &page.consented()).await;
        let tokens = login.result().await.unwrap();
        assert!(!tokens.extra.contains_key("clientSecret"), "configured secrets are not copied");
        let request = &server.requests("/token")[0];
        assert_eq!(request.headers.contains_key("authorization"), is_header, "{methods}");
        assert_eq!(request.form().contains_key("client_secret"), !is_header, "{methods}");
    }
}

#[tokio::test]
async fn a_metadata_document_serves_as_client_id() {
    let document = "https://example.com/client.json";
    for (accepts, expected) in [(true, document), (false, "issued-1")] {
        let server = server(json!({"client_id_metadata_document_supported": accepts})).await;
        let mut service = service(&server);
        service.client_metadata_url = Some(document.to_owned());
        service.register = Some(true);
        let mut login = start(&service, LoginOptions::default());
        assert_eq!(login.page().await.param("client_id"), expected);
        login.cancel.cancel();
    }
}

#[tokio::test]
async fn a_login_without_a_client_says_what_is_missing() {
    let with = server(json!({})).await;
    let error = start(&service(&with), LoginOptions::default()).error().await;
    assert_eq!(error, "the service needs a `clientId`");
    let without = server(json!({"registration_endpoint": null})).await;
    let mut service = service(&without);
    service.register = Some(true);
    let error = start(&service, LoginOptions::default()).error().await;
    assert_eq!(error, "the service does not register clients: configure a `clientId`");
}

#[tokio::test]
async fn the_answer_must_come_from_the_issuer() {
    let server = server(json!({"authorization_response_iss_parameter_supported": true})).await;
    let mut service = service(&server);
    service.client_id = Some("c".to_owned());
    for (issuer, expected) in [
        (Some(server.base.as_str()), None),
        (Some("https://evil.example"), Some("not from")),
        (None, Some("does not name its issuer")),
    ] {
        let mut login = start(&service, LoginOptions::default());
        let page = login.page().await;
        let state = page.param("state");
        let mut params = vec![("code", "code-1"), ("state", state.as_str())];
        params.extend(issuer.map(|issuer| ("iss", issuer)));
        browse("GET", &page.returned(&params)).await;
        match (login.result().await, expected) {
            (Ok(_), None) => {}
            (Err(error), Some(expected)) => {
                assert!(error.to_string().contains(expected), "{error}");
            }
            (result, _) => panic!("{issuer:?}: {result:?}"),
        }
    }
    assert_eq!(server.requests("/token").len(), 1, "other answers are not exchanged");
}

#[tokio::test]
async fn flows_that_a_server_lacks_are_refused() {
    let server = server(json!({
        "device_authorization_endpoint": null,
        "code_challenge_methods_supported": ["plain"],
    }))
    .await;
    let mut service = service(&server);
    service.client_id = Some("c".to_owned());
    service.name = Some("Example".to_owned());
    for (method, expected) in [
        (LoginMethod::Device, "Example does not support a device code"),
        (LoginMethod::Browser, "Example does not support proof keys with SHA-256"),
    ] {
        let error = start(&service, LoginOptions::new(Some(method))).error().await;
        assert_eq!(error, expected);
    }
}

/// Starts a protected resource with its authorization server.
async fn resource(resource: &'static str) -> AuthServer {
    AuthServer::start(move |request| match request.path.as_str() {
        "/.well-known/oauth-protected-resource/mcp" | "/elsewhere" => ok(json!({
            "resource": resource.replace("BASE", &base(request)),
            "authorization_servers": [base(request)],
            "scopes_supported": ["files:read"],
        })),
        "/.well-known/oauth-authorization-server" => ok(metadata(&base(request))),
        "/register" => ok(json!({"client_id": "issued-1"})),
        "/token" => ok(token_response()),
        _ => Answer::Json(404, json!({})),
    })
    .await
}

/// Returns the login to a protected resource.
async fn login_of(resource: &str, challenge: Option<&Challenge>) -> Service {
    let metadata = discover_resource(&web(), resource, challenge).await.unwrap();
    let challenged = challenge.map(|challenge| challenge.scopes.clone()).unwrap_or_default();
    let mut service = Service::default();
    service.issuer = metadata.authorization_servers.into_iter().next();
    service.resource = Some(metadata.resource);
    service.scopes = if challenged.is_empty() { metadata.scopes } else { challenged };
    service.register = Some(true);
    service
}

#[tokio::test]
async fn a_protected_resource_leads_to_its_server() {
    let server = resource("BASE/mcp").await;
    let service = login_of(&server.url("/mcp"), None).await;
    let mut login = start(&service, LoginOptions::default());
    let page = login.page().await;
    assert_eq!(page.param("resource"), server.url("/mcp"));
    assert_eq!(page.param("scope"), "files:read");
    browse("GET", &page.consented()).await;
    let tokens = login.result().await.unwrap();
    refresh(&service, &web(), &tokens).await.unwrap();
    for request in server.requests("/token") {
        assert_eq!(request.form()["resource"], server.url("/mcp"));
    }

    // A challenge names the metadata and the scopes of a step up.
    let header = format!(
        r#"Bearer error="insufficient_scope", scope="files:write", resource_metadata="{}""#,
        server.url("/elsewhere")
    );
    let challenge = Challenge::read(&header).unwrap();
    let service = login_of(&server.url("/mcp"), Some(&challenge)).await;
    assert_eq!(service.scopes, ["files:write"]);
    assert_eq!(server.requests("/elsewhere").len(), 1);
}

#[tokio::test]
async fn metadata_of_another_resource_is_rejected() {
    let server = resource("https://evil.example/mcp").await;
    let error = discover_resource(&web(), &server.url("/mcp"), None).await.unwrap_err();
    assert!(error.to_string().contains("that of another resource"), "{error}");
    let error = discover_resource(&web(), &server.url("/other"), None).await.unwrap_err();
    assert!(error.to_string().contains("publishes no metadata"), "{error}");
}
