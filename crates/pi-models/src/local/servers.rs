//! Recognizing each kind of server and reading its models.

use futures_util::future::join_all;
use pi_protocol::{InputKind, Model};
use serde_json::{Map, Value, json};

use super::ServerKind;
use super::http::Server;

/// Context window if the server does not report one. Too small a value costs a summary, too large a
/// value a response.
const CONTEXT_WINDOW: u64 = 32_768;
/// Output limit of local models.
const MAX_TOKENS: u64 = 16_384;

/// Returns the models of a server; `None` if it is not of the expected kind.
pub(super) async fn models(server: Server) -> Option<Vec<Model>> {
    match server.kind {
        ServerKind::Ollama => ollama(server).await,
        ServerKind::LlamaCpp => llama_cpp(server).await,
        ServerKind::LmStudio => lm_studio(server).await,
        ServerKind::Vllm => vllm(server).await,
    }
}

/// `/api/tags` lists the models, `/api/show` describes one.
async fn ollama(server: Server) -> Option<Vec<Model>> {
    let tags = server.get("/api/tags").await?;
    let names: Vec<&str> =
        tags["models"].as_array()?.iter().filter_map(|m| m["name"].as_str()).collect();
    let asked = names.into_iter().map(|name| async move {
        let shown = server.post("/api/show", &json!({ "model": name })).await;
        let shown = shown.unwrap_or_default();
        let can = |what: &str| {
            let capabilities = shown["capabilities"].as_array();
            capabilities.map(|list| list.iter().any(|capability| capability == what))
        };
        // Embedding models are listed too. Older servers report no capabilities.
        if can("completion") == Some(false) {
            return None;
        }
        let mut model = model(server, name, num_ctx(&shown).or_else(|| trained_context(&shown)))?;
        if can("vision") == Some(true) {
            model.input.push(InputKind::Image);
        }
        if can("thinking") == Some(true) {
            model.reasoning = true;
            model.compat.insert("supportsReasoningEffort".to_owned(), true.into());
        }
        Some(model)
    });
    Some(join_all(asked).await.into_iter().flatten().collect())
}

/// Returns the context size that the author of the model set.
fn num_ctx(shown: &Value) -> Option<u64> {
    let lines = shown["parameters"].as_str()?.lines();
    lines.filter_map(|line| line.trim().strip_prefix("num_ctx")).find_map(|n| n.trim().parse().ok())
}

/// Returns the context size of the training: `llama.context_length` and similar keys.
fn trained_context(shown: &Value) -> Option<u64> {
    let info = shown["model_info"].as_object()?;
    info.iter().find(|(key, _)| key.ends_with(".context_length"))?.1.as_u64()
}

/// Only llama.cpp has `/props`. As a router it has several models and no context size.
async fn llama_cpp(server: Server) -> Option<Vec<Model>> {
    let props = server.get("/props").await?;
    let settings = props["default_generation_settings"].as_object()?;
    let context = settings.get("n_ctx").and_then(Value::as_u64).filter(|tokens| *tokens > 0);
    let listed = server.get("/v1/models").await?;
    let models = listed["data"].as_array()?.iter().filter_map(|entry| {
        let trained = entry["meta"]["n_ctx_train"].as_u64();
        let mut model = model(server, entry["id"].as_str()?, context.or(trained))?;
        let inputs = entry["architecture"]["input_modalities"].as_array();
        if props["modalities"]["vision"] == true
            || inputs.is_some_and(|inputs| inputs.iter().any(|input| input == "image"))
        {
            model.input.push(InputKind::Image);
        }
        Some(model)
    });
    Some(models.collect())
}

/// `/api/v0/models` has details; older versions have only the list of OpenAI.
async fn lm_studio(server: Server) -> Option<Vec<Model>> {
    if let Some(listed) = server.get("/api/v0/models").await {
        let models = listed["data"].as_array()?.iter().filter_map(|entry| {
            let kind = entry["type"].as_str()?;
            let context = entry["loaded_context_length"].as_u64();
            let context = context.or_else(|| entry["max_context_length"].as_u64());
            let mut model = model(server, entry["id"].as_str()?, context)?;
            match kind {
                "llm" => {}
                "vlm" => model.input.push(InputKind::Image),
                _ => return None,
            }
            Some(model)
        });
        return Some(models.collect());
    }
    let listed = server.get("/v1/models").await?;
    let models = listed["data"].as_array()?.iter().filter_map(|entry| {
        let id = entry["id"].as_str()?;
        let is_model = entry["owned_by"] == "organization_owner" && !id.contains("embed");
        if is_model { model(server, id, None) } else { None }
    });
    Some(models.collect())
}

/// The list of OpenAI, in which vLLM is the owner.
async fn vllm(server: Server) -> Option<Vec<Model>> {
    let listed = server.get("/v1/models").await?;
    let models = listed["data"].as_array()?.iter().filter_map(|entry| {
        if entry["owned_by"] != "vllm" {
            return None;
        }
        model(server, entry["id"].as_str()?, entry["max_model_len"].as_u64())
    });
    Some(models.collect())
}

/// Creates a model of a local server; `None` if the id is empty, too long or has control characters.
fn model(server: Server, id: &str, context: Option<u64>) -> Option<Model> {
    if id.is_empty() || id.len() > 500 || id.chars().any(char::is_control) {
        return None;
    }
    let context_window = context.filter(|tokens| *tokens > 0).unwrap_or(CONTEXT_WINDOW);
    // None of these servers supports the newer fields of OpenAI.
    let compat = [
        ("supportsStore", false.into()),
        ("supportsDeveloperRole", false.into()),
        ("supportsReasoningEffort", false.into()),
        ("maxTokensField", Value::from("max_tokens")),
    ];
    Some(Model {
        id: id.to_owned(),
        name: id.to_owned(),
        api: "openai-completions".to_owned(),
        provider: server.kind.provider().to_owned(),
        base_url: format!("http://{}/v1", server.address),
        input: vec![InputKind::Text],
        context_window,
        max_tokens: MAX_TOKENS.min(context_window),
        compat: Map::from_iter(compat.map(|(key, value)| (key.to_owned(), value))),
        ..Model::default()
    })
}
