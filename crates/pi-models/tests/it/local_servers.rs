//! Probing model servers on this machine.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pi_config::AuthStore;
use pi_config::Environment;
use pi_models::local::{Endpoint, LocalServer, ServerKind, discover, names_local_provider};
use pi_models::{ModelRegistry, ModelsFile};
use pi_protocol::{Context, InputKind, StopReason, StreamOptions};
use serde_json::json;

use crate::socket::{Reply, Server, not_found};

/// Long enough for a loaded machine, but not longer: silent servers are waited for this long.
const TIMEOUT: Duration = Duration::from_secs(2);

async fn found(kind: ServerKind, address: SocketAddr) -> Option<LocalServer> {
    discover(&[Endpoint { kind, address }], TIMEOUT).await.pop()
}

/// Returns id, context window, image support and thinking of each model.
fn facts(server: &LocalServer) -> Vec<(&str, u64, bool, bool)> {
    let facts = server.models.iter().map(|model| {
        let images = model.input.contains(&InputKind::Image);
        (model.id.as_str(), model.context_window, images, model.reasoning)
    });
    facts.collect()
}

#[tokio::test]
async fn capabilities_of_ollama_models_are_read() {
    let server = Server::start(|line, body| {
        let show = |context: u64, capabilities: &[&str], parameters: &str| {
            Reply::Json(
                json!({"capabilities": capabilities, "parameters": parameters,
                    "model_info": {"general.architecture": "qwen2", "qwen2.context_length": context}})
                .to_string(),
            )
        };
        match (line, body) {
            ("GET /api/tags HTTP/1.0", _) => Reply::Json(
                json!({"models": [{"name": "qwen2.5-coder:7b"}, {"name": "gemma3:4b"},
                    {"name": "nomic-embed-text:latest"}, {"name": "slow:1b"}, {"name": 5}]})
                .to_string(),
            ),
            (_, body) if body.contains("qwen2.5-coder") => show(32768, &["completion", "tools"], ""),
            (_, body) if body.contains("gemma3") => {
                show(131_072, &["completion", "vision", "thinking"], "stop \"x\"\nnum_ctx   8192")
            }
            (_, body) if body.contains("nomic") => show(2048, &["embedding"], ""),
            _ => not_found(),
        }
    })
    .await;
    let ollama = found(ServerKind::Ollama, server.address).await.unwrap();
    assert_eq!(ollama.provider, "ollama");
    assert_eq!(
        facts(&ollama),
        [
            ("qwen2.5-coder:7b", 32768, false, false),
            ("gemma3:4b", 8192, true, true),
            ("slow:1b", 32768, false, false),
        ]
    );
    let model = &ollama.models[0];
    assert_eq!(model.base_url, format!("http://{}/v1", server.address));
    assert_eq!(model.api, "openai-completions");
    assert_eq!(model.compat["supportsDeveloperRole"], false);
    assert_eq!(model.compat["maxTokensField"], "max_tokens");
}

#[tokio::test]
async fn models_of_the_other_servers_are_read() {
    let llama = Server::start(|line, _| match line {
        "GET /props HTTP/1.0" => Reply::Json(
            json!({"default_generation_settings": {"n_ctx": 4096}, "modalities": {"vision": true}})
                .to_string(),
        ),
        "GET /v1/models HTTP/1.0" => Reply::Json(
            json!({"data": [{"id": "qwen.gguf", "owned_by": "llamacpp", "meta": {"n_ctx_train": 32768}}]})
                .to_string(),
        ),
        _ => not_found(),
    })
    .await;
    let server = found(ServerKind::LlamaCpp, llama.address).await.unwrap();
    assert_eq!(
        (server.provider, facts(&server)),
        ("llama.cpp", vec![("qwen.gguf", 4096, true, false)])
    );
    assert_eq!(server.models[0].max_tokens, 4096);

    // Observed from llama-server b1-7e4c0a9 as a router.
    let router = Server::start(|line, _| match line {
        "GET /props HTTP/1.0" => Reply::Json(
            json!({"role": "router", "model_path": "none",
                "default_generation_settings": {"params": null, "n_ctx": 0}})
            .to_string(),
        ),
        "GET /v1/models HTTP/1.0" => Reply::Json(
            json!({"object": "list", "data": [
                {"id": "qwen2.5-coder-0.5b", "owned_by": "llamacpp", "status": {"value": "unloaded"},
                    "architecture": {"input_modalities": ["text"], "output_modalities": ["text"]}},
                {"id": "gemma", "owned_by": "llamacpp", "meta": {"n_ctx_train": 8192},
                    "architecture": {"input_modalities": ["text", "image"]}}]})
            .to_string(),
        ),
        _ => not_found(),
    })
    .await;
    let server = found(ServerKind::LlamaCpp, router.address).await.unwrap();
    let expected = [("qwen2.5-coder-0.5b", 32768, false, false), ("gemma", 8192, true, false)];
    assert_eq!(facts(&server), expected);

    let studio = Server::start(|line, _| match line {
        "GET /api/v0/models HTTP/1.0" => Reply::Json(
            json!({"object": "list", "data": [
                {"id": "llama-3", "type": "llm", "max_context_length": 131_072},
                {"id": "pixtral", "type": "vlm", "max_context_length": 131_072, "loaded_context_length": 8192},
                {"id": "nomic", "type": "embeddings", "max_context_length": 2048}]})
            .to_string(),
        ),
        _ => not_found(),
    })
    .await;
    let server = found(ServerKind::LmStudio, studio.address).await.unwrap();
    let expected = vec![("llama-3", 131_072, false, false), ("pixtral", 8192, true, false)];
    assert_eq!((server.provider, facts(&server)), ("lmstudio", expected));

    let vllm = Server::start(|line, _| match line {
        "GET /v1/models HTTP/1.0" => Reply::Json(
            json!({"data": [{"id": "Qwen/Qwen3-8B", "owned_by": "vllm", "max_model_len": 40960}]})
                .to_string(),
        ),
        _ => not_found(),
    })
    .await;
    let server = found(ServerKind::Vllm, vllm.address).await.unwrap();
    assert_eq!(
        (server.provider, facts(&server)),
        ("vllm", vec![("Qwen/Qwen3-8B", 40960, false, false)])
    );
}

#[tokio::test]
async fn other_servers_are_not_model_servers() {
    let raw = |text: &str| Reply::Raw(text.as_bytes().to_vec());
    let json = |value: serde_json::Value| Reply::Json(value.to_string());
    for (what, reply) in [
        ("closed at once", raw("")),
        ("another protocol", raw("SSH-2.0-OpenSSH_9.6\r\n")),
        ("a page", raw("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html></html>")),
        ("a redirect", raw("HTTP/1.1 302 Found\r\nLocation: http://example.com/\r\n\r\n")),
        ("a refusal", raw("HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\n{}")),
        ("torn", raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"data\":[")),
        ("no text", Reply::Raw(vec![0xff; 1000])),
        ("deep", raw(&format!("HTTP/1.1 200 OK\r\n\r\n{}", "[".repeat(100_000)))),
        ("no models", json(json!({"data": [], "models": []}))),
        ("wrong types", json(json!({"data": 5, "models": "x", "default_generation_settings": 1}))),
        ("another owner", json(json!({"data": [{"id": "gpt", "owned_by": "acme"}]}))),
        (
            "hostile ids",
            json(json!({"models": [{"name": ""}, {"name": "a\nb\u{1b}[2J"}],
            "data": [{"id": "\n", "owned_by": "vllm", "type": "llm"}],
            "default_generation_settings": {}})),
        ),
        ("without end", Reply::Endless),
    ] {
        let server = Server::start(move |_, _| reply.clone()).await;
        for kind in ServerKind::ALL {
            assert_eq!(found(kind, server.address).await, None, "{what} {kind:?}");
        }
        assert!(!server.requests().is_empty());
    }
}

#[tokio::test]
async fn silent_servers_run_into_the_timeout() {
    let silent = Server::start(|_, _| Reply::Silence).await;
    let endpoints = ServerKind::ALL.map(|kind| Endpoint { kind, address: silent.address });
    assert_eq!(discover(&endpoints, Duration::from_millis(100)).await, []);
    // No process listens at this address any more.
    let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    assert_eq!(found(ServerKind::Ollama, closed).await, None);
}

#[tokio::test]
async fn a_local_server_is_a_provider() {
    const ANSWER: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"hello\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let server = Server::start(|line, _| match line {
        "GET /v1/models HTTP/1.0" => Reply::Json(
            json!({"data": [{"id": "small", "owned_by": "vllm", "max_model_len": 4096}]})
                .to_string(),
        ),
        _ => Reply::Raw(ANSWER.as_bytes().to_vec()),
    })
    .await;
    let environment = Environment {
        system_directory: None,
        cwd: PathBuf::from("/"),
        home: None,
        agent_directory: PathBuf::from("/nowhere"),
        variables: Arc::default(),
    };
    let auth = Arc::new(AuthStore::new(&environment.agent_directory));
    let registry = ModelRegistry::new(environment, ModelsFile::default(), auth);
    assert!(registry.available().is_empty());
    assert!(server.requests().is_empty(), "nothing is probed before it is needed");
    let endpoint = Endpoint { kind: ServerKind::Vllm, address: server.address };
    registry.probe(&[endpoint], TIMEOUT).await;
    registry.probe(&[endpoint], TIMEOUT).await;
    assert_eq!(server.requests().len(), 1, "probed once");
    assert!(registry.is_available("vllm"));
    let model = registry.find("vllm", "small").unwrap();
    let names: Vec<_> = registry.available().iter().map(|model| model.id.clone()).collect();
    assert_eq!(names, ["small"]);
    let context = Context::new().user("hi");
    let answer = registry.client().complete(&model, context, StreamOptions::default()).await;
    assert_eq!(answer.stop_reason, StopReason::Stop);
    assert_eq!(answer.text(), "hello");
}

#[test]
fn local_providers_are_recognized_in_texts() {
    for (text, named) in [
        ("ollama/qwen", true),
        ("Ollama", true),
        ("llama.cpp/x", true),
        ("lmstudio/a/b", true),
        ("vllm/Qwen/Qwen3", true),
        ("ollama-cloud/x", false),
        ("anthropic/ollama", false),
        ("", false),
    ] {
        assert_eq!(names_local_provider(text), named, "{text}");
    }
}
