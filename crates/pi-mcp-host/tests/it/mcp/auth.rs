//! Stored sign-ins: renewal by one process at a time, refusals, and what is sent where.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use pi_coding_agent::extension::{Ui, UiUpdate};
use pi_config::mcp::{HttpServer, ServerConfig, Transport};
use pi_mcp::transport::{Authorization, Challenge, Verdict};
use pi_mcp_host::ServerState;
use pi_mcp_host::auth::McpAuth;
use serde_json::{Value, json};

use super::{McpTest, text};
use crate::env::TestEnv;
use crate::socket::{Reply, Server};

/// A server of the user with a stored sign-in, and its authorization server.
struct AuthTest {
    env: TestEnv,
    issuer: Server,
    url: String,
}

impl AuthTest {
    /// Creates a test whose authorization server renews tokens with `answer`.
    async fn new(answer: impl Fn(usize) -> Reply + Send + Sync + 'static) -> Self {
        let count = AtomicUsize::new(0);
        let issuer =
            Server::start(move |_, _| answer(count.fetch_add(1, Ordering::SeqCst) + 1)).await;
        let url = "https://mcp.example/mcp".to_owned();
        Self { env: TestEnv::new(), issuer, url }
    }

    /// Stores a sign-in whose token ended at `expires`, under a key.
    fn store(&self, key: &str, expires: f64) {
        let issuer = format!("http://{}", self.issuer.address);
        let entry = json!({
            "clientInformation": { "client_id": "c", "redirect_uris": ["http://127.0.0.1:1/callback"] },
            "tokens": { "access_token": "old", "refresh_token": "r0", "token_type": "Bearer" },
            "tokensExpireAt": expires,
            "discovery": { "authorizationServerUrl": issuer,
                "tokenEndpoint": format!("{issuer}/token") },
        });
        self.env.write("home/.pi/agent/mcp-auth.json", json!({ key: entry }).to_string());
    }

    fn key(&self) -> String {
        format!("mcp__docs|{}", self.url)
    }

    fn stored(&self) -> Value {
        let path = self.env.path("home/.pi/agent/mcp-auth.json");
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
    }

    fn http(&self) -> Box<HttpServer> {
        let config = ServerConfig::parse("docs", &json!({ "url": self.url })).unwrap();
        let Transport::Http(http) = config.transport else { panic!("no URL") };
        http
    }

    /// Returns the tokens as another process would have them.
    fn authorization(&self) -> Arc<dyn Authorization> {
        let auth = McpAuth::new(&self.env.environment("home/proj"), None);
        auth.authorization("docs", &self.http()).unwrap()
    }
}

fn renewed(number: usize) -> Reply {
    let tokens = json!({ "access_token": format!("new{number}"), "token_type": "Bearer",
        "refresh_token": format!("r{number}"), "expires_in": 3600 });
    Reply::Json(tokens.to_string())
}

fn refusal(token: Option<&str>, status: u16, header: &str) -> Challenge {
    let www_authenticate = vec![header.to_owned()];
    Challenge { status, www_authenticate, token: token.map(str::to_owned) }
}

#[tokio::test]
async fn an_ended_token_is_renewed_once_for_all() {
    let test = AuthTest::new(renewed).await;
    test.store(&test.key(), 1.0);
    let processes: Vec<_> = (0..8).map(|_| test.authorization()).collect();
    let tokens = futures_util::future::join_all(processes.iter().map(|one| one.token())).await;
    for token in tokens {
        assert_eq!(token.unwrap().as_deref(), Some("new1"));
    }
    let requests = test.issuer.requests();
    assert_eq!(requests.len(), 1, "{requests:?}");
    assert!(requests[0].contains("refresh_token=r0"), "{requests:?}");
    let stored = test.stored();
    let entry = &stored[test.key()];
    assert_eq!(entry["tokens"]["refresh_token"], "r1");
    assert_eq!(entry["clientInformation"]["client_id"], "c");
    assert!(entry["tokensExpireAt"].as_f64().unwrap() > 1.0);
}

#[tokio::test]
async fn a_refused_token_is_renewed_and_the_request_repeated() {
    let test = AuthTest::new(renewed).await;
    test.store(&test.key(), 9e15);
    let authorization = test.authorization();
    assert_eq!(authorization.token().await.unwrap().as_deref(), Some("old"));
    let verdict = authorization.challenged(refusal(Some("old"), 401, "Bearer")).await;
    assert_eq!(verdict, Verdict::Retry);
    assert_eq!(authorization.token().await.unwrap().as_deref(), Some("new1"));
    // Another process has renewed it meanwhile, so the new token is used without a request.
    let other = test.authorization();
    let verdict = other.challenged(refusal(Some("old"), 401, "Bearer")).await;
    assert_eq!(verdict, Verdict::Retry);
    assert_eq!(test.issuer.requests().len(), 1);
}

#[tokio::test]
async fn a_sign_in_that_has_ended_is_not_renewed_again() {
    let refused = |_| {
        let body = json!({ "error": "invalid_grant" }).to_string();
        let length = body.len();
        let head = format!("HTTP/1.1 400 Bad Request\r\nContent-Length: {length}\r\n\r\n{body}");
        Reply::Raw(head.into_bytes())
    };
    let test = AuthTest::new(refused).await;
    test.store(&test.key(), 1.0);
    let authorization = test.authorization();
    // The old token is sent, and the server decides.
    assert_eq!(authorization.token().await.unwrap().as_deref(), Some("old"));
    for _ in 0..3 {
        let verdict = authorization.challenged(refusal(Some("old"), 401, "Bearer")).await;
        let Verdict::GiveUp(text) = verdict else { panic!("{verdict:?}") };
        assert!(text.contains("sign in"), "{text}");
    }
    assert_eq!(test.issuer.requests().len(), 1);
    assert_eq!(test.stored()[test.key()]["tokens"]["refresh_token"], "r0");
}

#[tokio::test]
async fn some_refusals_need_the_user() {
    let test = AuthTest::new(renewed).await;
    test.store(&test.key(), 9e15);
    let authorization = test.authorization();
    let scope = "Bearer error=\"insufficient_scope\", scope=\"files:write\"";
    for (challenge, expected) in [
        (refusal(None, 401, "Bearer"), "requires that you sign in"),
        (refusal(Some("old"), 403, scope), "more permissions (files:write)"),
        (refusal(Some("old"), 403, ""), "HTTP 403"),
    ] {
        let verdict = authorization.challenged(challenge).await;
        let Verdict::GiveUp(text) = verdict else { panic!("{verdict:?}") };
        assert!(text.contains(expected), "{text}");
    }
    assert_eq!(test.issuer.requests().len(), 0);
}

#[tokio::test]
async fn an_old_entry_belongs_to_the_first_server_and_to_no_other_url() {
    let test = AuthTest::new(renewed).await;
    test.store(&test.url, 9e15);
    assert_eq!(test.authorization().token().await.unwrap().as_deref(), Some("old"));
    let stored = test.stored();
    assert!(stored.get(&test.url).is_none() && stored.get(test.key()).is_some(), "{stored}");
    let auth = McpAuth::new(&test.env.environment("home/proj"), None);
    for (name, url) in [("other", test.url.as_str()), ("docs", "https://evil.example/mcp")] {
        let config = ServerConfig::parse(name, &json!({ "url": url })).unwrap();
        let Transport::Http(http) = config.transport else { panic!("no URL") };
        let token = auth.authorization(name, &http).unwrap().token().await.unwrap();
        assert_eq!(token, None, "{name} {url}");
    }
}

/// A renewal that ends after the user signed out or in does not undo that.
#[tokio::test]
async fn a_renewal_undoes_no_sign_out_and_no_sign_in() {
    for (stored, expected) in [(None, None), (Some("mine"), Some("mine"))] {
        let file: Arc<OnceLock<PathBuf>> = Arc::default();
        let written = Arc::clone(&file);
        let test = AuthTest::new(move |number| {
            // While the authorization server answers.
            let path = written.get().unwrap();
            let text = std::fs::read_to_string(path).unwrap();
            let text = match stored {
                Some(token) => text.replace("\"old\"", &json!(token).to_string()),
                None => "{}".to_owned(),
            };
            std::fs::write(path, text).unwrap();
            renewed(number)
        })
        .await;
        test.store(&test.key(), 1.0);
        file.set(test.env.path("home/.pi/agent/mcp-auth.json")).unwrap();
        let token = test.authorization().token().await.unwrap();
        assert_eq!(token.as_deref(), expected);
        assert_eq!(test.issuer.requests().len(), 1);
        let now = test.stored()[test.key()]["tokens"]["access_token"].clone();
        assert_eq!(now.as_str(), expected);
    }
}

/// Records what the user is told.
#[derive(Default)]
struct Told(Mutex<Vec<String>>);

impl Ui for Told {
    fn is_present(&self) -> bool {
        true
    }

    fn update(&self, update: UiUpdate) {
        if let UiUpdate::Notify { message, .. } = update {
            self.0.lock().unwrap().push(message);
        }
    }
}

/// A call that needs more permissions says how to get them.
#[tokio::test]
async fn the_user_is_told_to_sign_in_again() {
    let server = Server::start(|_, body| {
        let request: Value = serde_json::from_str(body).unwrap_or_default();
        let result = match request["method"].as_str() {
            Some("server/discover") => {
                json!({ "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} } })
            }
            Some("tools/list") => json!({ "tools": [{ "name": "t", "inputSchema": {} }] }),
            _ => {
                let head = "HTTP/1.1 403 X\r\ncontent-length: 0\r\nwww-authenticate: Bearer \
                            error=\"insufficient_scope\", scope=\"write\"\r\n\r\n";
                return Reply::Raw(head.as_bytes().to_vec());
            }
        };
        let answer = json!({ "jsonrpc": "2.0", "id": request["id"], "result": result });
        Reply::Json(answer.to_string())
    })
    .await;
    let told = Arc::new(Told::default());
    let mut test = McpTest::new(&[]);
    test.ui = Some(Arc::clone(&told) as Arc<dyn Ui>);
    let url = format!("http://{}/mcp", server.address);
    test.configure(&json!({"mcpServers": {"docs": {"url": url, "exposure": "direct"}}}));
    let running = test.start().await;
    let result = test.call(&running, "mcp__docs__t", json!({})).await;
    let shown = text(&result);
    assert!(result.is_error && shown.contains("requires more permissions (write)"), "{shown}");
    let told = told.0.lock().unwrap().clone();
    assert!(told.iter().any(|text| text.ends_with("/mcp login docs")), "{told:?}");
    let state = pi_mcp_host::servers_of(&running.session).unwrap().states().remove(0).state;
    assert!(matches!(state, ServerState::NeedsSignIn(_)), "{state:?}");
    running.runtime.shut_down().await;
}
