//! `pi models`: records from a scripted server, the store, and what is shown about models.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::test_env::TestEnv;

/// A response: status line, headers and body.
struct Answer {
    status: &'static str,
    headers: &'static str,
    body: String,
}

/// A server of model records. It stops with the test process.
struct Catalog {
    url: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Catalog {
    fn start(answer: impl Fn(&str) -> Answer + Send + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = Arc::clone(&requests);
        std::thread::spawn(move || {
            for mut socket in listener.incoming().map_while(Result::ok) {
                let lines = BufReader::new(&socket).lines().map_while(Result::ok);
                let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
                let head = head.join("\n").to_lowercase();
                seen.lock().unwrap().push(head.clone());
                let Answer { status, headers, body } = answer(&head);
                let length = body.len();
                // A client that refuses the body closes the connection.
                let _ = write!(
                    socket,
                    "HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\n\
                     Connection: close\r\n\r\n{body}"
                );
            }
        });
        Self { url, requests }
    }

    /// Starts a server that always has this document.
    fn of(document: &Value) -> Self {
        let body = document.to_string();
        Self::start(move |_| Answer { status: "200 OK", headers: NEW, body: body.clone() })
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

const NEW: &str = "ETag: \"v1\"\r\nLast-Modified: Fri, 01 Jan 2100 00:00:00 GMT\r\n";

fn record(id: &str) -> Value {
    json!({ "id": id, "name": "Probe", "api": "anthropic-messages", "provider": "anthropic",
        "baseUrl": "https://api.anthropic.com", "input": ["text"], "contextWindow": 1000,
        "cost": { "input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0 }, "maxTokens": 100 })
}

fn show(env: &TestEnv, model: &str) -> Value {
    serde_json::from_str(&env.out(&["models", "show", model, "--json"])).unwrap()
}

fn store(env: &TestEnv) -> Value {
    let text = fs::read_to_string(env.agent().join("models-store.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Updates `anthropic` from a document; returns the exit code, stdout and stderr.
fn update(env: &TestEnv, url: &str) -> (Option<i32>, String, String) {
    let output = env.pi(&["models", "update", "--url", url, "anthropic"]);
    let text = |bytes| env.stable(&String::from_utf8(bytes).unwrap());
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn newer_records_are_stored_and_used() {
    let env = TestEnv::new();
    let documents = Catalog::start(|head| {
        if head.contains("if-none-match: \"v1\"") {
            return Answer { status: "304 Not Modified", headers: NEW, body: String::new() };
        }
        let changed = json!({ "name": "Changed", "contextWindow": 77 });
        let mut known = record("claude-opus-4-5");
        known.as_object_mut().unwrap().extend(changed.as_object().unwrap().clone());
        let body = json!({ "models": [record("probe-1"), known] }).to_string();
        Answer { status: "200 OK", headers: NEW, body }
    });
    let url = format!("{}/api/{{provider}}?types=chat", documents.url);
    let (code, out, errors) = update(&env, &url);
    assert_eq!((code, &*errors), (Some(0), ""));
    assert_eq!(out, "anthropic: 2 models, 1 new: probe-1\n");
    let request = &documents.requests()[0];
    assert!(request.starts_with("get /api/anthropic?types=chat http/1.1"), "{request}");
    assert!(request.contains(&format!("user-agent: pi/{} (", env!("CARGO_PKG_VERSION"))));
    let entry = &store(&env)["anthropic"];
    assert_eq!(entry["lastModified"], 4_102_444_800_000_u64);
    assert_eq!((entry["etag"].as_str(), entry["url"].as_str()), (Some("\"v1\""), Some(&*url)));
    assert!(entry["checkedAt"].is_u64());

    let (new, changed) = (show(&env, "probe-1"), show(&env, "anthropic/claude-opus-4-5"));
    assert_eq!((&new["source"], &new["contextWindow"]), (&json!("update"), &json!(1000)));
    assert_eq!((&changed["name"], &changed["contextWindow"]), (&json!("Changed"), &json!(77)));
    let same = show(&env, "anthropic/claude-sonnet-4-5");
    assert_eq!(same["source"], "built-in");
    // Names and lists know the records, too.
    let list = env.out(&["models", "list", "probe", "--provider", "anthropic"]);
    assert!(list.contains("anthropic  probe-1"), "{list}");

    assert_eq!(update(&env, &url).1, "anthropic: unchanged\n");
    assert_eq!(show(&env, "probe-1")["source"], "update");
    // Another URL has other versions.
    let all = format!("{}/all", documents.url);
    assert_eq!(update(&env, &all).0, Some(1));
    assert!(!documents.requests()[2].contains("if-none-match"));
}

#[test]
fn one_document_may_have_all_providers() {
    let env = TestEnv::new();
    let other = json!({ "id": "o-1", "api": "openai-responses", "provider": "openai",
        "baseUrl": "https://api.openai.com/v1" });
    let forms = [
        json!({ "anthropic": { "models": [record("a-1")] }, "openai": { "models": [other] } }),
        json!({ "providers": { "anthropic": [record("a-1")], "openai": [other] } }),
        json!({ "anthropic": { "anthropic-messages": { "chat:a-1": record("a-1") } },
            "openai": { "o-1": other } }),
    ];
    for document in forms {
        let documents = Catalog::of(&document);
        let out = env.out(&["models", "update", "--url", &documents.url, "anthropic", "openai"]);
        assert_eq!(out, "anthropic: 1 model, 1 new: a-1\nopenai: 1 model, 1 new: o-1\n");
        assert_eq!(documents.requests().len(), 1);
        assert_eq!(show(&env, "openai/o-1")["name"], "o-1");
    }
    let mut command = env.command(&["models", "update", "--json"]);
    let documents = Catalog::of(&json!({ "anthropic": [record("a-2")] }));
    command.env("PI_MODELS_URL", &documents.url).env("ANTHROPIC_API_KEY", "k");
    let output = command.output().unwrap();
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    let expected = json!({ "anthropic": { "status": "updated", "models": 1, "added": ["a-2"],
        "refused": [] } });
    assert_eq!(result, expected);
    assert_eq!(show(&env, "openai/o-1")["source"], "update");
}

#[test]
fn records_that_cannot_be_trusted_are_left_out() {
    let changed = |field: &str, value: Value| {
        let mut record = record("bad");
        record[field] = value;
        record
    };
    let cases = [
        (
            changed("baseUrl", json!("https://evil.example/v1")),
            "its address https://evil.example/v1",
        ),
        (changed("baseUrl", json!("https://api.anthropic.com.evil.example")), "its address"),
        (changed("baseUrl", json!("http://api.anthropic.com")), "its address"),
        (changed("baseUrl", json!("https://u:p@api.anthropic.com/v1")), "its address"),
        (changed("provider", json!("openai")), "belongs to the provider \"openai\""),
        (changed("api", json!("")), "has no \"api\""),
        (changed("api", json!(5)), "invalid type"),
        (changed("cost", json!({ "input": -1 })), "price below zero"),
        (changed("contextWindow", json!("large")), "invalid"),
        (changed("id", json!("a\u{1b}[31m")), "control characters"),
    ];
    for (bad, reason) in cases {
        let env = TestEnv::new();
        let documents = Catalog::of(&json!([record("good"), bad]));
        let (code, out, errors) = update(&env, &format!("{}/{{provider}}", documents.url));
        assert_eq!((code, &*out), (Some(0), "anthropic: 1 model, 1 new: good\n"), "{bad}");
        assert!(errors.contains("a record was left out") && errors.contains(reason), "{errors}");
        assert!(!errors.contains('\u{1b}'));
        assert_eq!(store(&env)["anthropic"]["models"].as_array().unwrap().len(), 1);
    }
    // The same check applies to a store that another program wrote.
    let env = TestEnv::new();
    fs::create_dir_all(env.agent()).unwrap();
    let evil = changed("baseUrl", json!("https://evil.example/v1"));
    let mut tagged = record("tagged");
    tagged["headers"] = json!({ "User-Agent": "Other/1.0", "NVCF-POLL-SECONDS": "1" });
    let image = json!({ "id": "image-1", "type": "image", "provider": "anthropic", "api": "x" });
    let entry = json!({ "models": [evil, tagged, image], "lastModified": 4_102_444_800_000_u64 });
    let content = json!({ "anthropic": entry, "gone": { "models": [] }, "odd": 5 });
    fs::write(env.agent().join("models-store.json"), content.to_string()).unwrap();
    let list = env.out(&["models", "list", "--provider", "anthropic", "--json"]);
    let list: Vec<Value> = serde_json::from_str(&list).unwrap();
    let ids: Vec<&str> = list.iter().filter_map(|model| model["id"].as_str()).collect();
    assert!(ids.contains(&"tagged") && !ids.contains(&"bad") && !ids.contains(&"image-1"));
    assert_eq!(show(&env, "anthropic/tagged")["headers"], json!({ "NVCF-POLL-SECONDS": "1" }));
}

#[test]
fn a_failed_update_changes_nothing() {
    let env = TestEnv::new();
    let good = Catalog::of(&json!([record("good")]));
    update(&env, &format!("{}/{{provider}}", good.url));
    let before = store(&env);
    let cases: [(&'static str, &str, String, &str); 5] = [
        ("404 Not Found", "", "gone".to_owned(), "HTTP 404 (gone)"),
        ("200 OK", "", "<html>".to_owned(), "the answer is not JSON"),
        ("200 OK", "", "{}".to_owned(), "the answer has no usable model of anthropic"),
        ("200 OK", "", "[{\"id\":\"x\"}]".to_owned(), "no usable model of anthropic: x: missing"),
        ("200 OK", "", " ".repeat(17 << 20), "is larger than 16777216 bytes"),
    ];
    for (status, headers, body, expected) in cases {
        let headers: &'static str = if headers.is_empty() { "" } else { NEW };
        let server = Catalog::start(move |_| Answer { status, headers, body: body.clone() });
        let (code, out, errors) = update(&env, &format!("{}/{{provider}}", server.url));
        assert_eq!((code, &*out), (Some(1), ""), "{expected}");
        assert!(errors.starts_with("pi: anthropic was not updated: "), "{errors}");
        assert!(errors.contains(expected), "{errors}");
    }
    let (code, _, errors) = update(&env, "http://127.0.0.1:1/{provider}");
    assert!(code == Some(1) && errors.contains("127.0.0.1"), "{errors}");
    assert!(update(&env, "ftp://x/{provider}").2.contains("expected http:// or https://"));
    assert_eq!(store(&env), before);
}

#[test]
fn older_records_do_not_replace_the_catalog() {
    let env = TestEnv::new();
    let old = "Last-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\n";
    let body = json!([record("old-1")]).to_string();
    let server =
        Catalog::start(move |_| Answer { status: "200 OK", headers: old, body: body.clone() });
    let (code, out, _) = update(&env, &format!("{}/{{provider}}", server.url));
    let expected = "anthropic: older than the catalog of this version; not stored\n";
    assert_eq!((code, &*out), (Some(0), expected));
    assert!(!env.agent().join("models-store.json").exists());
    // A store that a later version of the catalog has overtaken.
    fs::create_dir_all(env.agent()).unwrap();
    let entry = json!({ "models": [record("old-1")], "lastModified": 1000, "checkedAt": 1000 });
    fs::write(env.agent().join("models-store.json"), json!({ "anthropic": entry }).to_string())
        .unwrap();
    assert_eq!(env.failure(&["models", "show", "anthropic/old-1"]).0, Some(1));
}

#[test]
fn the_models_of_the_user_take_precedence() {
    let env = TestEnv::new();
    let server = Catalog::of(&json!([record("probe-1"), record("probe-2")]));
    update(&env, &format!("{}/{{provider}}", server.url));
    let file = json!({ "providers": { "anthropic": {
        "models": [{ "id": "probe-1", "name": "Mine" }, { "id": "own", "name": "Own" }],
        "modelOverrides": { "probe-2": { "contextWindow": 5 } } } } });
    fs::write(env.agent().join("models.json"), file.to_string()).unwrap();
    for (id, name, source, changed) in [
        ("probe-1", "Mine", "models.json", false),
        ("probe-2", "Probe", "update", true),
        ("own", "Own", "models.json", false),
    ] {
        let shown = show(&env, &format!("anthropic/{id}"));
        assert_eq!((&shown["name"], &shown["source"]), (&json!(name), &json!(source)));
        assert_eq!(shown["changed"], changed);
    }
    assert_eq!(show(&env, "anthropic/probe-2")["contextWindow"], 5);
}

#[test]
fn a_broken_store_is_reported_and_ignored() {
    let env = TestEnv::new();
    fs::create_dir_all(env.agent()).unwrap();
    let path = env.agent().join("models-store.json");
    for broken in ["{ \"anthropic\": ", "[]", "\u{0}"] {
        fs::write(&path, broken).unwrap();
        let output = env.pi(&["models", "show", "anthropic/claude-sonnet-4-5", "--json"]);
        assert_eq!(output.status.code(), Some(0));
        let errors = env.stable(&String::from_utf8(output.stderr).unwrap());
        let start = "pi: warning: [ROOT]/home/.pi/agent/models-store.json: not valid: ";
        assert!(errors.starts_with(start), "{errors}");
        let end = "; the file is ignored; `pi models update` writes a new one\n";
        assert!(errors.ends_with(end), "{errors}");
    }
    let server = Catalog::of(&json!([record("probe-1")]));
    let (code, _, errors) = update(&env, &format!("{}/{{provider}}", server.url));
    let moved = "pi: models-store.json was not valid; it was moved to \
                 [ROOT]/home/.pi/agent/models-store.json.broken\n";
    assert_eq!((code, &*errors), (Some(0), moved));
    assert_eq!(show(&env, "anthropic/probe-1")["source"], "update");
}

#[test]
fn an_update_needs_a_url_a_provider_and_a_network() {
    let env = TestEnv::new();
    let (code, errors) = env.failure(&["models", "update"]);
    assert_eq!(code, Some(2));
    assert!(errors.contains("no URL to load model records from is configured"), "{errors}");
    let (code, errors) = env.failure(&["models", "update", "--url", "http://x", "antropic"]);
    assert_eq!(code, Some(2));
    assert!(errors.ends_with("hint: did you mean anthropic?\n"), "{errors}");
    let (code, errors) = env.failure(&["models", "update", "--url", "http://x"]);
    assert_eq!(code, Some(5));
    assert!(errors.starts_with("pi: no provider has credentials\n"), "{errors}");
    let server = Catalog::of(&json!([record("probe-1")]));
    fs::create_dir_all(env.agent()).unwrap();
    let settings = json!({ "modelsUrl": format!("{}/{{provider}}", server.url) });
    fs::write(env.agent().join("settings.json"), settings.to_string()).unwrap();
    let mut command = env.command(&["models", "update", "anthropic"]);
    let output = command.env("PI_OFFLINE", "1").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(server.requests().len(), 0);
    assert_eq!(env.out(&["models", "update", "anthropic"]), "anthropic: 1 model, 1 new: probe-1\n");
    // The same update under the name that the TypeScript pi uses.
    let mut command = env.command(&["update", "--models"]);
    let output = command.env("ANTHROPIC_API_KEY", "k").output().unwrap();
    let expected = "anthropic: 1 model, 1 new: probe-1\n";
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
}

#[test]
fn prices_and_limits_are_shown() {
    let env = TestEnv::new();
    fs::create_dir_all(env.agent()).unwrap();
    let tiers = json!([{ "inputTokensAbove": 200_000, "input": 6, "output": 22.5,
        "cacheRead": 0.6, "cacheWrite": 7.5 }]);
    let cost = json!({ "input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75,
        "tiers": tiers });
    let models = json!([
        { "id": "big", "name": "Big", "reasoning": true, "input": ["text", "image"], "cost": cost,
          "promptCache": { "short": 300, "long": 3600 }, "contextWindow": 1_000_000,
          "maxTokens": 64_000 },
        { "id": "free" },
        { "id": "odd", "api": "odd-format" },
    ]);
    let provider = json!({ "baseUrl": "https://corp.example/v1", "apiKey": "k",
        "api": "anthropic-messages", "models": models });
    let file = json!({ "providers": { "corp": provider } });
    fs::write(env.agent().join("models.json"), file.to_string()).unwrap();
    let expected = "\
model         corp/big
name          Big
format        anthropic-messages
address       https://corp.example/v1
input         text, image
context       1M tokens
max output    64K tokens
thinking      off, minimal, low, medium, high
price         per million tokens: input $3.00, output $15.00, cache read $0.30, \
cache write $3.75 (1 h: $6.00)
              above 200K input tokens: input $6.00, output $22.50, cache read $0.60, \
cache write $7.50 (1 h: $12.00)
prompt cache  5 min or 1 h
source        models.json
usable        yes
";
    assert_eq!(env.out(&["models", "show", "corp/big"]), expected);
    let expected = "\
provider  model  thinking  images  usable  context  max-out  input  output
corp      big    yes       yes     yes          1M      64K  $3.00  $15.00
corp      free   no        no      yes        128K    16.4K      -       -
corp      odd    no        no      no         128K    16.4K      -       -
";
    assert_eq!(env.out(&["models", "list", "--provider", "corp"]), expected);
    let available = env.out(&["models", "list", "corp", "--available"]);
    assert!(available.contains("free") && !available.contains("odd"), "{available}");
    let output = env.pi(&["models", "show", "corp/odd"]);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("corp/odd cannot be used: "), "{errors}");
}
