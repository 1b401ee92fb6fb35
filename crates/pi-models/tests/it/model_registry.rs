//! Models with credentials, and the keys of requests.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_config::AuthStore;
use pi_config::Environment;
use pi_models::{CredentialSource, ModelRegistry, ModelsFile};
use pi_protocol::{Context, StopReason, StreamOptions};
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use crate::socket::{Reply, Server};

const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

fn environment(cwd: &Path, variables: &[(&str, &str)]) -> Environment {
    let path = std::iter::once(&("PATH", PATH));
    let variables = path.chain(variables).map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
    Environment {
        system_directory: None,
        cwd: cwd.to_owned(),
        home: None,
        agent_directory: PathBuf::from("/nowhere"),
        variables: Arc::new(variables.collect()),
    }
}

/// A registry with its directory of credentials.
struct TestRegistry {
    registry: ModelRegistry,
    _directory: tempfile::TempDir,
}

impl Deref for TestRegistry {
    type Target = ModelRegistry;

    fn deref(&self) -> &ModelRegistry {
        &self.registry
    }
}

fn registry(variables: &[(&str, &str)], file: &Value, stored: &Value) -> TestRegistry {
    registry_in(Path::new("/"), variables, file, stored)
}

fn registry_in(
    cwd: &Path,
    variables: &[(&str, &str)],
    file: &Value,
    stored: &Value,
) -> TestRegistry {
    let file = json!({ "providers": file });
    let (file, diagnostics) = ModelsFile::parse(&file.to_string(), Path::new("models.json"));
    assert_eq!(diagnostics, []);
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("auth.json"), stored.to_string()).unwrap();
    let auth = Arc::new(AuthStore::new(directory.path()));
    let registry = ModelRegistry::new(environment(cwd, variables), file, auth);
    TestRegistry { registry, _directory: directory }
}

#[tokio::test]
async fn the_first_source_of_a_key_applies() {
    let variable: &[(&str, &str)] = &[("GROQ_API_KEY", "variable"), ("MINE", "mine")];
    let key = |text: &str| json!({"groq": {"apiKey": text}});
    let stored = |text: &str| json!({"groq": {"type": "api_key", "key": text}});
    let none = json!({});
    let login =
        json!({"groq": {"type": "oauth", "access": "token", "refresh": "r", "expires": 9e15}});
    for (case, variables, file, auth, given, available, expected) in [
        (
            "nothing",
            &[][..],
            none.clone(),
            none.clone(),
            None,
            false,
            Err("No API key found for groq. Set GROQ_API_KEY"),
        ),
        (
            "empty",
            &[("GROQ_API_KEY", "")],
            none.clone(),
            none.clone(),
            None,
            false,
            Err("No API key found"),
        ),
        ("variable", variable, none.clone(), none.clone(), None, true, Ok("variable")),
        ("configured", variable, key("configured"), none.clone(), None, true, Ok("configured")),
        ("template", variable, key("x-${MINE}"), none.clone(), None, true, Ok("x-mine")),
        (
            "unset",
            variable,
            key("$NOPE"),
            none.clone(),
            None,
            false,
            Err(
                "The apiKey of groq cannot be resolved: the variable NOPE is not set. Correct it in models.json.",
            ),
        ),
        (
            "command",
            variable,
            key("!echo ' from-command '"),
            none.clone(),
            None,
            true,
            Ok("from-command"),
        ),
        (
            "failing",
            variable,
            key("!echo oops >&2; exit 3"),
            none.clone(),
            None,
            true,
            Err("exit status: 3: oops"),
        ),
        (
            "silent",
            variable,
            key("!true"),
            none.clone(),
            None,
            true,
            Err("the command printed nothing"),
        ),
        ("stored", variable, key("configured"), stored("stored"), None, true, Ok("stored")),
        ("stored template", variable, key("configured"), stored("$MINE"), None, true, Ok("mine")),
        (
            "stored unset",
            variable,
            key("configured"),
            stored("$NOPE"),
            None,
            false,
            Err(
                "The stored key of groq cannot be resolved: the variable NOPE is not set. Correct it in auth.json.",
            ),
        ),
        (
            "stored variables",
            &[],
            none.clone(),
            json!({"groq": {"type": "api_key", "key": "a-$X", "env": {"X": "own"}}}),
            None,
            true,
            Ok("a-own"),
        ),
        (
            "variables alone",
            &[],
            none.clone(),
            json!({"groq": {"type": "api_key", "env": {"GROQ_API_KEY": "own"}}}),
            None,
            true,
            Ok("own"),
        ),
        ("stored empty", variable, none.clone(), stored(""), None, true, Ok("variable")),
        (
            "stored empty and configured",
            variable,
            key("configured"),
            stored(""),
            None,
            true,
            Ok("variable"),
        ),
        (
            "type that the provider lacks",
            variable,
            key("configured"),
            login,
            None,
            false,
            Err("The stored credential of groq is a login, which groq does not have."),
        ),
        ("given", variable, key("configured"), stored("stored"), Some("given"), true, Ok("given")),
    ] {
        let registry = registry(variables, &file, &auth);
        if let Some(given) = given {
            registry.set_key("groq", given.to_owned());
        }
        assert_eq!(registry.is_available("groq"), available, "{case}");
        let listed = registry.available().iter().any(|model| model.provider == "groq");
        assert_eq!(listed, available, "{case}");
        // The source of a key is known before the key is resolved.
        let missing = expected.is_err_and(|error| error.starts_with("No API key"));
        assert_eq!(registry.credential_source("groq").is_none(), missing, "{case}");
        let found = registry.api_key("groq").await;
        match (found, expected) {
            (Ok(key), Ok(expected)) => assert_eq!(key.expose_secret(), expected, "{case}"),
            (Err(error), Err(expected)) => {
                assert!(error.to_string().contains(expected), "{case}: {error}");
            }
            (found, _) => panic!("{case}: {:?}", found.map(|key| key.expose_secret().to_owned())),
        }
    }
}

#[test]
fn some_providers_need_no_key_or_additional_variables() {
    let own = |more: Value| {
        let mut own = json!({"api": "openai-completions", "models": [{"id": "m"}]});
        own.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "own": own })
    };
    for (file, available) in [
        (own(json!({"baseUrl": "http://localhost:1/v1"})), true),
        (own(json!({"baseUrl": "http://127.0.0.1:1/v1"})), true),
        (own(json!({"baseUrl": "http://[::1]:1/v1"})), true),
        (own(json!({"baseUrl": "https://api.example/v1"})), false),
        (own(json!({"baseUrl": "https://localhost.example/v1"})), false),
        (own(json!({"baseUrl": "https://localhost@evil.example/v1"})), false),
        (own(json!({"baseUrl": "https://api.example/v1", "apiKey": "k"})), true),
        (
            own(json!({"baseUrl": "https://api.example/v1", "headers": {"authorization": "x"}})),
            true,
        ),
        (own(json!({"baseUrl": "https://api.example/v1", "headers": {"x-team": "x"}})), false),
    ] {
        assert_eq!(registry(&[], &file, &json!({})).is_available("own"), available, "{file}");
    }
    let key = ("CLOUDFLARE_API_KEY", "k");
    let account = ("CLOUDFLARE_ACCOUNT_ID", "a");
    let none = json!({});
    assert!(!registry(&[key], &none, &none).is_available("cloudflare-workers-ai"));
    assert!(registry(&[key, account], &none, &none).is_available("cloudflare-workers-ai"));
    assert!(!registry(&[key, account], &none, &none).is_available("cloudflare-ai-gateway"));
    let stored = json!({"cloudflare-workers-ai": {"type": "api_key",
        "env": {"CLOUDFLARE_API_KEY": "k", "CLOUDFLARE_ACCOUNT_ID": "a"}}});
    assert!(registry(&[], &none, &stored).is_available("cloudflare-workers-ai"));
    assert!(!registry(&[], &none, &none).is_available("unknown"));
}

const ANSWER: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

fn headers(request: &str, names: &[&str]) -> Vec<Option<String>> {
    let value = |name: &&str| {
        let lines = request.lines().filter_map(|line| line.split_once(": "));
        let mut found = lines.filter(|(key, _)| key.eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value.to_owned())
    };
    names.iter().map(value).collect()
}

#[tokio::test]
async fn a_request_has_the_key_and_headers_of_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(|_, _| Reply::Raw(ANSWER.as_bytes().to_vec())).await;
    let url = format!("http://{}/v1", server.address);
    let file = json!({
        "corp": {"baseUrl": url, "api": "openai-completions",
            "apiKey": "!echo key >> keys; wc -l < keys",
            "headers": {"x-team": "$TEAM", "x-a": "provider"},
            "models": [{"id": "m", "headers": {"x-a": "model", "x-b": "!echo b"}}],
            "modelOverrides": {"m": {"headers": {"x-c": "override"}}}},
        "claude": {"baseUrl": url, "api": "anthropic-messages", "apiKey": "k", "authHeader": true,
            "models": [{"id": "m"}]},
        "lost": {"baseUrl": url, "api": "openai-completions", "apiKey": "k",
            "headers": {"x-team": "$NOPE"}, "models": [{"id": "m"}]},
    });
    let registry = registry_in(directory.path(), &[("TEAM", "blue")], &file, &json!({}));
    let ask = |provider: &'static str| {
        let registry = registry.clone();
        async move {
            let model = registry.find(provider, "m").unwrap();
            assert!(model.headers.is_empty(), "secrets stay out of the record");
            let context = Context::new().user("hi");
            registry.client().complete(&model, context, StreamOptions::default()).await
        }
    };
    assert_eq!(ask("corp").await.stop_reason, StopReason::Stop);
    assert_eq!(ask("corp").await.stop_reason, StopReason::Stop);
    let names = ["authorization", "x-team", "x-a", "x-b", "x-c"];
    let expected = |key: &str| {
        [key, "blue", "model", "b", "override"].map(|value| Some(value.to_owned())).to_vec()
    };
    let requests = server.requests();
    // The command runs for every request.
    assert_eq!(headers(&requests[0], &names), expected("Bearer 1"));
    assert_eq!(headers(&requests[1], &names), expected("Bearer 2"));
    ask("claude").await;
    let both = headers(&server.requests()[2], &["authorization", "x-api-key"]);
    assert_eq!(both, [Some("Bearer k".to_owned()), Some("k".to_owned())]);
    let answer = ask("lost").await;
    assert_eq!(answer.stop_reason, StopReason::Error);
    let error = answer.error_message.clone().unwrap();
    assert!(error.starts_with("The header x-team of lost cannot be resolved"), "{error}");
    assert_eq!(server.requests().len(), 3, "nothing was sent");
}

#[tokio::test]
async fn the_command_of_a_stored_key_runs_once() {
    let directory = tempfile::tempdir().unwrap();
    let stored = json!({"groq": {"type": "api_key", "key": "!echo x >> runs; wc -l < runs"},
        "xai": {"type": "api_key", "key": "!echo x >> fails; exit 1"}});
    let registry = registry_in(directory.path(), &[], &json!({}), &stored);
    assert_eq!(registry.credential_source("groq"), Some(CredentialSource::StoredKey));
    for _ in 0..3 {
        assert_eq!(registry.api_key("groq").await.unwrap().expose_secret(), "1");
        assert!(registry.api_key("xai").await.is_err());
    }
    assert_eq!(std::fs::read_to_string(directory.path().join("fails")).unwrap(), "x\n");
}

#[test]
fn names_and_records_of_all_models_agree() {
    let registry = registry(&[("GROQ_API_KEY", "k")], &json!({}), &json!({}));
    let models = registry.models();
    let all = registry.all();
    assert!(all.len() > 1400, "{}", all.len());
    assert!(models.names().iter().zip(&all).all(|(name, model)| {
        (name.provider, name.id, name.name) == (&*model.provider, &*model.id, &*model.name)
    }));
    assert_eq!(models.names().len(), all.len());
    let available = registry.available();
    assert!(!available.is_empty() && available.iter().all(|model| model.provider == "groq"));
}

#[test]
fn a_reload_replaces_the_file() {
    let file = |id: &str| json!({"own": {"baseUrl": "http://localhost:1", "api": "openai-completions", "models": [{"id": id}]}});
    let registry = registry(&[], &file("first"), &json!({}));
    assert!(registry.find("own", "first").is_some());
    let text = json!({"providers": file("second")}).to_string();
    registry.reload(ModelsFile::parse(&text, Path::new("models.json")).0);
    assert!(registry.find("own", "first").is_none() && registry.find("own", "second").is_some());
}

#[tokio::test]
async fn an_invalid_stored_credential_is_not_replaced_by_another_source() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("auth.json"), r#"{"groq": {"type": "magic"}}"#).unwrap();
    let auth = Arc::new(AuthStore::new(directory.path()));
    let variables: &[(&str, &str)] = &[("GROQ_API_KEY", "variable"), ("OPENAI_API_KEY", "other")];
    let registry =
        ModelRegistry::new(environment(directory.path(), variables), ModelsFile::default(), auth);
    assert!(!registry.is_available("groq") && registry.is_available("openai"));
    let error = registry.api_key("groq").await.unwrap_err().to_string();
    assert!(error.contains("The stored credential of groq cannot be used"), "{error}");
}
