//! Logins and accounts of the registry: renewal, rejection, abortion, and no fall-through.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pi_config::Environment;
use pi_config::{AuthStore, SettingsStore};
use pi_models::{CredentialName, ModelRegistry, ModelsFile, Revocation, SourceOutcome};
use pi_protocol::{Context, StopReason, StreamOptions};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use crate::socket::{Reply, Server};

const ANSWER: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
const REFUSED: &str =
    "HTTP/1.1 401 Unauthorized\r\nContent-Length: 26\r\n\r\n{\"error\":\"token is old 1\"}\n";

/// A user with stored credentials.
struct User {
    directory: tempfile::TempDir,
    registry: ModelRegistry,
}

impl User {
    /// Creates a user whose provider `mock` and its token server are at this address.
    fn new(address: &str, stored: &Value, settings: &Value, variables: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("auth.json"), stored.to_string()).unwrap();
        let file = json!({"providers": {"mock": {"baseUrl": format!("http://{address}/v1"),
            "api": "openai-completions", "apiKey": "configured", "models": [{"id": "m"}]}}});
        let (file, problems) = ModelsFile::parse(&file.to_string(), Path::new("models.json"));
        assert_eq!(problems, []);
        let mut environment = Environment::new("/", directory.path());
        let variables = variables.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        environment.variables = Arc::new(variables.collect());
        let mut all = json!({"oauth": {"mock": {"authorizeUrl": format!("http://{address}/page"),
            "tokenUrl": format!("http://{address}/token"), "clientId": "c",
            "revokeUrl": format!("http://{address}/revoke")}}});
        all.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
        let settings = SettingsStore::in_memory(all.as_object().unwrap().clone());
        let auth = Arc::new(AuthStore::new(directory.path()));
        let registry =
            ModelRegistry::new(environment, file, auth).with_settings(settings.settings());
        Self { directory, registry }
    }

    fn stored(&self) -> Value {
        let path = self.directory.path().join("auth.json");
        serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
    }

    async fn key(&self, provider: &str) -> Result<String, String> {
        let key = self.registry.api_key(provider).await;
        key.map(|key| key.expose_secret().to_owned()).map_err(|error| error.to_string())
    }
}

/// Returns the time in some minutes, in milliseconds since 1970.
fn in_minutes(minutes: f64) -> f64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    now.as_secs_f64() * 1000.0 + minutes * 60_000.0
}

fn login(access: &str, minutes: f64) -> Value {
    json!({"mock": {"type": "oauth", "access": access, "refresh": format!("{access}-refresh"),
        "expires": in_minutes(minutes), "extra": 1}})
}

/// Answers requests for tokens with `new-1`, `new-2` and so on, and other requests with `other`.
async fn server(
    other: impl Fn(&str) -> Reply + Send + Sync + 'static,
) -> (Server, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let server = Server::start(move |line, body| {
        if !line.starts_with("POST /token ") {
            return other(line);
        }
        assert!(body.contains("grant_type=refresh_token"), "{body}");
        let number = counted.fetch_add(1, Ordering::SeqCst) + 1;
        Reply::Json(
            json!({"access_token": format!("new-{number}"), "expires_in": 3600,
            "refresh_token": format!("new-{number}-refresh"), "token_type": "Bearer"})
            .to_string(),
        )
    });
    (server.await, count)
}

#[tokio::test]
async fn a_login_is_renewed_before_it_ends() {
    for (minutes, expected, renewals) in [(60.0, "old", 0), (4.0, "new-1", 1), (-1.0, "new-1", 1)] {
        let (server, count) = server(|_| Reply::Silence).await;
        let user = User::new(&server.address.to_string(), &login("old", minutes), &json!({}), &[]);
        for _ in 0..3 {
            assert_eq!(user.key("mock").await.unwrap(), expected, "{minutes}");
        }
        assert_eq!(count.load(Ordering::SeqCst), renewals, "{minutes}");
        assert_eq!(user.stored()["mock"]["refresh"], format!("{expected}-refresh"));
        assert_eq!(user.stored()["mock"]["extra"], 1);
    }
}

#[tokio::test]
async fn a_token_can_be_required_to_last() {
    let (server, count) = server(|_| Reply::Silence).await;
    let user = User::new(&server.address.to_string(), &login("old", 20.0), &json!({}), &[]);
    let minutes = |minutes: u64| Duration::from_secs(minutes * 60);
    let token = async |least| user.registry.bearer_token("mock", minutes(least)).await.unwrap();
    assert_eq!(token(10).await.expose_secret(), "old");
    assert_eq!(token(30).await.expose_secret(), "new-1");
    assert_eq!(token(30).await.expose_secret(), "new-1");
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn requests_of_a_process_share_a_renewal() {
    let (server, count) = server(|_| Reply::Silence).await;
    let user = User::new(&server.address.to_string(), &login("old", -1.0), &json!({}), &[]);
    let keys = (0..20).map(|_| user.key("mock"));
    for key in futures_util::future::join_all(keys).await {
        assert_eq!(key.unwrap(), "new-1");
    }
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_rejected_token_is_renewed_once() {
    for (is_accepted, stop, requests) in
        [(true, StopReason::Stop, 3), (false, StopReason::Error, 3)]
    {
        let answered = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&answered);
        let (server, count) = server(move |_| {
            let is_first = counted.fetch_add(1, Ordering::SeqCst) == 0;
            let answer = if is_first || !is_accepted { REFUSED } else { ANSWER };
            Reply::Raw(answer.as_bytes().to_vec())
        })
        .await;
        let user = User::new(&server.address.to_string(), &login("old", 60.0), &json!({}), &[]);
        let model = user.registry.find("mock", "m").unwrap();
        let context = Context::new().user("hi");
        let message = user.registry.client().complete(&model, context, StreamOptions::default());
        assert_eq!(message.await.stop_reason, stop);
        assert_eq!((server.requests().len(), count.load(Ordering::SeqCst)), (requests, 1));
        assert!(server.requests()[0].contains("Bearer old\r\n"), "{:?}", server.requests());
        assert!(server.requests()[2].contains("Bearer new-1\r\n"), "{:?}", server.requests());
    }
}

#[tokio::test]
async fn a_token_that_another_process_renewed_is_taken_over() {
    let path = Arc::new(Mutex::new(None::<std::path::PathBuf>));
    let (shared, answered) = (Arc::clone(&path), AtomicUsize::new(0));
    let (server, count) = server(move |_| {
        if answered.fetch_add(1, Ordering::SeqCst) == 0 {
            let path = shared.lock().unwrap().clone().unwrap();
            std::fs::write(path, login("theirs", 60.0).to_string()).unwrap();
            return Reply::Raw(REFUSED.as_bytes().to_vec());
        }
        Reply::Raw(ANSWER.as_bytes().to_vec())
    })
    .await;
    let user = User::new(&server.address.to_string(), &login("old", 60.0), &json!({}), &[]);
    *path.lock().unwrap() = Some(user.directory.path().join("auth.json"));
    let model = user.registry.find("mock", "m").unwrap();
    let message = user.registry.client().complete(
        &model,
        Context::new().user("hi"),
        StreamOptions::default(),
    );
    assert_eq!(message.await.stop_reason, StopReason::Stop);
    assert!(server.requests()[1].contains("Bearer theirs\r\n"));
    assert_eq!(count.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_request_that_waits_for_the_lock_can_be_given_up() {
    let (server, count) = server(|_| Reply::Silence).await;
    let user = User::new(&server.address.to_string(), &login("old", -1.0), &json!({}), &[]);
    let other = AuthStore::new(user.directory.path());
    let edit = other.edit().unwrap();
    let waited = tokio::time::timeout(Duration::from_millis(200), user.key("mock")).await;
    assert!(waited.is_err());
    drop(edit);
    user.registry.finish_renewal().await;
    assert_eq!(count.load(Ordering::SeqCst), 0, "nothing was sent");
    assert_eq!(user.key("mock").await.unwrap(), "new-1");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renewal_that_has_begun_is_finished() {
    let (asked, is_asked) = mpsc::channel();
    let (release, is_released) = mpsc::channel::<()>();
    let (asked, is_released) = (Mutex::new(asked), Mutex::new(is_released));
    let server = Server::start(move |_, _| {
        asked.lock().unwrap().send(()).unwrap();
        is_released.lock().unwrap().recv().unwrap();
        Reply::Json(
            json!({"access_token": "new", "refresh_token": "r2", "expires_in": 3600,
            "token_type": "Bearer"})
            .to_string(),
        )
    })
    .await;
    let user = User::new(&server.address.to_string(), &login("old", -1.0), &json!({}), &[]);
    let registry = user.registry.clone();
    let waiting = tokio::spawn(async move { registry.api_key("mock").await.map(drop) });
    tokio::task::spawn_blocking(move || is_asked.recv().unwrap()).await.unwrap();
    waiting.abort();
    assert!(waiting.await.unwrap_err().is_cancelled());
    assert_eq!(user.stored()["mock"]["access"], "old");
    release.send(()).unwrap();
    user.registry.finish_renewal().await;
    assert_eq!(user.stored()["mock"]["access"], "new");
    assert_eq!(user.stored()["mock"]["refresh"], "r2");
}

#[tokio::test]
async fn a_failed_renewal_is_an_error_and_no_other_source_replaces_it() {
    let raw = |status: &str, body: &str| {
        let length = body.len();
        format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n{body}").into_bytes()
    };
    let ended = raw(
        "400 Bad Request",
        r#"{"error":"invalid_grant","error_description":"old-refresh was used"}"#,
    );
    let broken = raw("503 Service Unavailable", "the token old-refresh is not served");
    for (case, answer, minutes, expected) in [
        (
            "ended",
            &ended,
            -1.0,
            Err(("The login of mock has ended: ", "Sign in again with `pi auth login mock`.")),
        ),
        ("ended early", &ended, 4.0, Err(("The login of mock has ended: ", "Sign in again"))),
        ("broken", &broken, -1.0, Err(("The login of mock could not be renewed: ", "503"))),
        ("broken early", &broken, 4.0, Ok("old")),
    ] {
        let answer = answer.clone();
        let server = Server::start(move |_, _| Reply::Raw(answer.clone())).await;
        let variables = [("MOCK_API_KEY", "variable"), ("OPENAI_API_KEY", "variable")];
        let user =
            User::new(&server.address.to_string(), &login("old", minutes), &json!({}), &variables);
        match (user.key("mock").await, expected) {
            (Ok(key), Ok(expected)) => assert_eq!(key, expected, "{case}"),
            (Err(error), Err((start, part))) => {
                assert!(error.starts_with(start) && error.contains(part), "{case}: {error}");
                assert!(!error.contains("old-refresh"), "{case}: {error}");
            }
            (found, _) => panic!("{case}: {found:?}"),
        }
        assert_eq!(user.stored()["mock"]["refresh"], "old-refresh", "{case}: nothing is removed");
    }
}

#[tokio::test]
async fn a_login_that_another_program_made_is_used_until_it_ends() {
    let stored = |minutes: f64| {
        json!({"anthropic": {"type": "oauth", "access": "theirs", "refresh": "r",
            "expires": in_minutes(minutes)}})
    };
    let variables = [("ANTHROPIC_API_KEY", "variable")];
    let user = User::new("127.0.0.1:1", &stored(2.0), &json!({}), &variables);
    assert_eq!(user.key("anthropic").await.unwrap(), "theirs");
    let user = User::new("127.0.0.1:1", &stored(-2.0), &json!({}), &variables);
    let error = user.key("anthropic").await.unwrap_err();
    assert!(error.starts_with("The login of anthropic has ended: Anthropic opens"), "{error}");
    assert!(error.contains("a configured `clientId`"), "{error}");
    let ended = user.registry.auth_status("anthropic");
    assert!(!ended.is_renewable, "{ended:?}");
    assert_eq!(ended.problem.unwrap().to_string(), error);
    // A login without a refresh token has the same alternatives.
    let mut stored = stored(-2.0);
    stored["anthropic"]["refresh"] = "".into();
    let user = User::new("127.0.0.1:1", &stored, &json!({}), &variables);
    let error = user.key("anthropic").await.unwrap_err();
    assert!(error.contains("cannot be renewed. Use an API key (ANTHROPIC_API_KEY)"), "{error}");
    assert!(!error.contains("pi auth login"), "{error}");
    // A configured client makes the login renewable.
    let settings = json!({"oauth": {"anthropic": {"clientId": "ours"}}});
    stored["anthropic"]["refresh"] = "r".into();
    let user = User::new("127.0.0.1:1", &stored, &settings, &variables);
    let status = user.registry.auth_status("anthropic");
    assert!(status.is_renewable && status.problem.is_none(), "{status:?}");
}

#[tokio::test]
async fn the_secret_of_a_registered_client_is_redacted() {
    let body = r#"{"error":"invalid_grant","error_description":"not for issued-client-secret"}"#;
    let length = body.len();
    let answer = format!("HTTP/1.1 400 Bad Request\r\nContent-Length: {length}\r\n\r\n{body}");
    let server = Server::start(move |_, _| Reply::Raw(answer.clone().into_bytes())).await;
    let mut stored = login("old-access-token", -1.0);
    stored["mock"]["clientId"] = "registered".into();
    stored["mock"]["clientSecret"] = "issued-client-secret".into();
    let user = User::new(&server.address.to_string(), &stored, &json!({}), &[]);
    let error = user.key("mock").await.unwrap_err();
    assert!(error.contains("has ended: ") && error.contains("not for "), "{error}");
    assert!(!error.contains("issued-client-secret"), "{error}");
}

#[tokio::test]
async fn a_profile_that_does_not_exist_makes_the_provider_unusable() {
    let user = User::new("127.0.0.1:1", &json!({}), &json!({}), &[("AWS_PROFILE", "nope")]);
    let status = user.registry.auth_status("amazon-bedrock");
    let problem = status.problem.unwrap().to_string();
    let expected =
        "No credentials for amazon-bedrock: AWS profile: profile \"nope\" does not exist";
    assert!(problem.starts_with(expected), "{problem}");
    assert!(!user.registry.is_available("amazon-bedrock"));
    let sources = user.registry.explain("amazon-bedrock");
    let profile = sources.iter().find(|source| source.name == "AWS profile").unwrap();
    assert!(matches!(&profile.outcome, SourceOutcome::Failed(why) if why.contains("nope")));
}

#[tokio::test]
async fn an_account_is_chosen_and_never_replaced() {
    let stored = json!({
        "openai": {"type": "api_key", "key": "default"},
        "openai@work": {"type": "api_key", "key": "work"},
        "groq@team": {"type": "api_key", "key": "team"},
    });
    let variables = [("GROQ_API_KEY", "variable")];
    let given = |text: &str| Some(text.parse::<CredentialName>().unwrap());
    for (provider, settings, given, expected) in [
        ("openai", json!({}), None, Ok("default")),
        ("openai", json!({"accounts": {"openai": "work"}}), None, Ok("work")),
        ("openai", json!({"accounts": {"openai": "work"}}), given("openai@default"), Ok("default")),
        ("openai", json!({}), given("openai@work"), Ok("work")),
        ("openai", json!({}), given("groq@work"), Ok("default")),
        ("groq", json!({}), None, Ok("variable")),
        ("groq", json!({"accounts": {"groq": "team"}}), None, Ok("team")),
        (
            "groq",
            json!({"accounts": {"groq": "other"}}),
            None,
            Err(
                "There is no account \"other\" of groq in auth.json. Add it with `pi auth login groq --account other`, or choose another account.",
            ),
        ),
        (
            "groq",
            json!({"accounts": {"groq": "a b"}}),
            None,
            Err(
                "invalid account \"groq@a b\": expected PROVIDER@NAME, with a name of letters, digits, dots, hyphens and underscores",
            ),
        ),
    ] {
        let user = User::new("127.0.0.1:1", &stored, &settings, &variables);
        let case = format!("{provider} {settings} {given:?}");
        if let Some(given) = given {
            user.registry.choose_account(given);
        }
        assert_eq!(
            user.key(provider).await,
            expected.map(str::to_owned).map_err(str::to_owned),
            "{case}"
        );
        assert_eq!(user.registry.is_available(provider), expected.is_ok(), "{case}");
        let status = user.registry.auth_status(provider);
        assert_eq!(status.problem.is_none(), expected.is_ok(), "{case}");
    }
}

#[tokio::test]
async fn signing_out_revokes_and_removes_only_one_entry() {
    for (status, revocation) in
        [("200 OK", Revocation::Revoked), ("503 Busy", Revocation::Failed(String::new()))]
    {
        let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 2\r\n\r\n{{}}").into_bytes();
        let server = Server::start(move |_, _| Reply::Raw(answer.clone())).await;
        let mut stored = login("old", 60.0);
        stored["mock@work"] = json!({"type": "api_key", "key": "k"});
        let user = User::new(&server.address.to_string(), &stored, &json!({}), &[]);
        let name = CredentialName::new("mock");
        let done = user.registry.logout(&name).await.unwrap();
        assert!(done.was_stored);
        match (&done.revocation, &revocation) {
            (Revocation::Failed(why), Revocation::Failed(_)) => {
                assert!(!why.contains("old-refresh"), "{why}");
            }
            (found, expected) => assert_eq!(found, expected),
        }
        assert!(server.requests()[0].contains("token=old-refresh"), "{:?}", server.requests());
        assert!(user.stored().get("mock").is_none());
        assert_eq!(user.stored()["mock@work"]["key"], "k");
        let again = user.registry.logout(&name).await.unwrap();
        assert!(!again.was_stored && again.revocation == Revocation::NotOffered);
    }
}

#[test]
fn every_source_is_explained() {
    let stored = json!({"openai": {"type": "api_key", "key": "$KEY"}});
    let variables = [("OPENAI_API_KEY", "variable"), ("GROQ_API_KEY", "g"), ("KEY", "k")];
    let user = User::new("127.0.0.1:1", &stored, &json!({}), &variables);
    let explained = |provider: &str| -> Vec<String> {
        let sources = user.registry.explain(provider).into_iter();
        sources
            .map(|source| match source.outcome {
                SourceOutcome::Used(what) => format!("{}: used, {what}", source.name),
                SourceOutcome::Absent(why) => format!("{}: {why}", source.name),
                SourceOutcome::NotReached => format!("{}: not reached", source.name),
                other => format!("{}: {other:?}", source.name),
            })
            .collect()
    };
    assert_eq!(
        explained("openai"),
        [
            "--api-key: not given",
            "auth.json (openai): used, key in a variable",
            "models.json: not reached",
            "OPENAI_API_KEY: not reached",
        ]
    );
    assert_eq!(
        explained("groq"),
        [
            "--api-key: not given",
            "auth.json (groq): no entry",
            "models.json: no apiKey",
            "GROQ_API_KEY: used, set",
        ]
    );
    assert_eq!(explained("mock")[2], "models.json: used, apiKey");
}

#[test]
fn providers_of_clouds_are_available_with_their_own_credentials() {
    let none = json!({});
    for (provider, variables, stored, available, usable) in [
        ("amazon-bedrock", &[][..], none.clone(), false, true),
        (
            "amazon-bedrock",
            &[("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "s")],
            none.clone(),
            true,
            true,
        ),
        ("amazon-bedrock", &[("AWS_BEARER_TOKEN_BEDROCK", "b")], none.clone(), true, true),
        ("amazon-bedrock", &[("AWS_EC2_METADATA_DISABLED", "true")], none.clone(), false, false),
        (
            "amazon-bedrock",
            &[],
            json!({"amazon-bedrock": {"type": "api_key",
            "env": {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "s"}}}),
            true,
            true,
        ),
        ("azure", &[("AZURE_OPENAI_API_KEY", "k")], none.clone(), false, false),
        (
            "azure",
            &[("AZURE_OPENAI_API_KEY", "k"), ("AZURE_OPENAI_RESOURCE_NAME", "r")],
            none.clone(),
            true,
            true,
        ),
        ("google-vertex", &[("GOOGLE_CLOUD_API_KEY", "k")], none.clone(), true, true),
        ("mistral", &[("MISTRAL_API_KEY", "k")], none.clone(), true, true),
        ("openai-codex", &[], none, false, false),
        (
            "openai-codex",
            &[],
            json!({"openai-codex": {"type": "api_key", "key": "k"}}),
            false,
            false,
        ),
    ] {
        let case = format!("{provider} {variables:?} {stored}");
        let user = User::new("127.0.0.1:1", &stored, &json!({}), variables);
        assert_eq!(user.registry.is_available(provider), available, "{case}");
        let problem = user.registry.check_provider(provider).err();
        assert_eq!(problem.is_none(), usable, "{case}: {problem:?}");
        if let Some(problem) = problem {
            // A key is not what is missing.
            assert!(!problem.to_string().starts_with("No API key"), "{case}: {problem}");
        }
    }
}
