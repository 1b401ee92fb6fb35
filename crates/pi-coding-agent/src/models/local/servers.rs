//! What each kind of server says about its models, and how to know that it is one.

use futures_util::future::join_all;
use pi_protocol::{InputKind, Model};
use serde_json::{Map, Value, json};

use super::Kind;
use super::http::Server;

/// Tokens to count on if the server does not say: too few costs a summary, too many an answer.
const CONTEXT_WINDOW: u64 = 32_768;
const MAX_TOKENS: u64 = 16_384;

/// The models of the server at `server`; `None` if there is none of its kind.
pub(super) async fn models(server: Server) -> Option<Vec<Model>> {
    match server.kind {
        Kind::Ollama => ollama(server).await,
        Kind::LlamaCpp => llama_cpp(server).await,
        Kind::LmStudio => lm_studio(server).await,
        Kind::Vllm => vllm(server).await,
    }
}

/// `/api/tags` lists, `/api/show` tells of each what it can do.
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
        // Embedding models are listed too. A server that does not say is taken at its word.
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

/// The context that the model is run with, where its author set one.
fn num_ctx(shown: &Value) -> Option<u64> {
    let lines = shown["parameters"].as_str()?.lines();
    lines.filter_map(|line| line.trim().strip_prefix("num_ctx")).find_map(|n| n.trim().parse().ok())
}

/// The context that the model was trained with: `llama.context_length` and the like.
fn trained_context(shown: &Value) -> Option<u64> {
    let info = shown["model_info"].as_object()?;
    info.iter().find(|(key, _)| key.ends_with(".context_length"))?.1.as_u64()
}

/// `/props` is what only llama.cpp has. As a router it has many models and no context of its own.
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

/// `/api/v0/models` says more; older versions have only the list of OpenAI.
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
        let ours = entry["owned_by"] == "organization_owner" && !id.contains("embed");
        ours.then(|| model(server, id, None))?
    });
    Some(models.collect())
}

/// The list of OpenAI, signed by vLLM.
async fn vllm(server: Server) -> Option<Vec<Model>> {
    let listed = server.get("/v1/models").await?;
    let models = listed["data"].as_array()?.iter().filter_map(|entry| {
        let ours = entry["owned_by"] == "vllm";
        ours.then(|| model(server, entry["id"].as_str()?, entry["max_model_len"].as_u64()))?
    });
    Some(models.collect())
}

/// A model of a local server. An id with line breaks or of no length is no id.
fn model(server: Server, id: &str, context: Option<u64>) -> Option<Model> {
    if id.is_empty() || id.len() > 500 || id.chars().any(char::is_control) {
        return None;
    }
    let context_window = context.filter(|tokens| *tokens > 0).unwrap_or(CONTEXT_WINDOW);
    // None of these servers knows OpenAI's newer words.
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
