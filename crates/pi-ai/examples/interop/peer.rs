//! What each peer speaks, and what it does not offer.

use std::sync::Arc;

use pi_ai::{Client, Model, ProviderConfig};
use serde_json::json;

/// A server under conversation.
pub(crate) struct Peer {
    pub(crate) name: &'static str,
    /// Its origin, without a slash at the end.
    pub(crate) url: String,
    key: &'static str,
    pub(crate) formats: Vec<Format>,
    /// Answers come from a script, so their words are known.
    pub(crate) scripted: bool,
    /// Where the requests that arrived can be read.
    pub(crate) journal: Option<String>,
    lacks: &'static [(&'static str, &'static str, &'static str)],
}

/// A wire format at a peer.
pub(crate) struct Format {
    pub(crate) api: &'static str,
    path: &'static str,
    model: &'static str,
    /// What sets it apart from another entry of the same format.
    note: &'static str,
}

const ANTHROPIC: &str = "anthropic-messages";
const COMPLETIONS: &str = "openai-completions";
const RESPONSES: &str = "openai-responses";
const GOOGLE: &str = "google-generative-ai";

/// Where most servers put the formats, with a model of a kind that thinks.
const USUAL: [Format; 4] = [
    Format::at(ANTHROPIC, "", "claude-sonnet-4-5"),
    Format::at(COMPLETIONS, "/v1", "gpt-5-mini"),
    Format::at(RESPONSES, "/v1", "gpt-5"),
    Format::at(GOOGLE, "/v1beta", "gemini-3-pro-preview"),
];

impl Peer {
    /// The peer of this name at `url`. `journal` is the origin of an aimock behind it, if any.
    pub(crate) fn named(name: &str, url: &str, journal: Option<String>) -> Option<Self> {
        let mut peer = match name {
            "aimock" => Self { journal: Some(url.to_owned()), ..Self::new("aimock") },
            "llmock" => Self {
                scripted: false,
                formats: vec![
                    Format::at(ANTHROPIC, "/anthropic", "claude-sonnet-4-5"),
                    Format::at(COMPLETIONS, "/v1", "gpt-5-mini"),
                    Format::at(RESPONSES, "/v1", "gpt-5"),
                    Format::at(GOOGLE, "/gemini/v1beta", "gemini-3-pro-preview"),
                ],
                lacks: &[("", "thinking", "llmock has no thinking")],
                ..Self::new("llmock")
            },
            "dsh" => Self {
                key: "mock-key",
                formats: vec![Format::at(COMPLETIONS, "/v1", "mock")],
                ..Self::new("dsh")
            },
            // The names select how LiteLLM translates; see `xtask/data/interop/litellm.yaml`.
            "litellm" => Self {
                key: "sk-interop-0123456789",
                journal,
                lacks: &[
                    (GOOGLE, "thinking", "LiteLLM sends no thoughts in this format"),
                    (GOOGLE, "usage", "LiteLLM counts nothing in a stream of this format"),
                ],
                formats: vec![
                    Format::at(ANTHROPIC, "", "translated"),
                    Format::at(COMPLETIONS, "/v1", "chat"),
                    Format::at(RESPONSES, "/v1", "translated-responses"),
                    Format {
                        note: ", checked and passed on",
                        ..Format::at(RESPONSES, "/v1", "chat")
                    },
                    Format::at(GOOGLE, "/v1beta", "translated"),
                ],
                ..Self::new("litellm")
            },
            "llama" => Self {
                scripted: false,
                formats: vec![
                    Format::at(ANTHROPIC, "", "local"),
                    Format::at(COMPLETIONS, "/v1", "local"),
                    Format::at(RESPONSES, "/v1", "local"),
                ],
                lacks: &[("", "images", "the model has no eyes")],
                ..Self::new("llama")
            },
            _ => return None,
        };
        url.trim_end_matches('/').clone_into(&mut peer.url);
        Some(peer)
    }

    fn new(name: &'static str) -> Self {
        Self {
            name,
            url: String::new(),
            key: "interop-key",
            formats: USUAL.into(),
            scripted: true,
            journal: None,
            lacks: &[],
        }
    }

    /// Why a conversation is not held in a format, if it is not.
    pub(crate) fn lacks(&self, api: &str, conversation: &str) -> Option<&'static str> {
        let applies = |entry: &&(&str, &str, &str)| {
            (entry.0.is_empty() || entry.0 == api) && entry.1 == conversation
        };
        self.lacks.iter().find(applies).map(|entry| entry.2)
    }

    /// Calls have ids of their own in what arrives behind this peer.
    pub(crate) fn numbers_calls(&self, api: &str) -> bool {
        // LiteLLM drops Google's ids and makes new ones from nothing but the tool's name.
        (self.name, api) != ("litellm", GOOGLE)
    }

    /// A client with a provider for each format, as if they were four vendors.
    pub(crate) fn client(&self) -> Client {
        self.formats.iter().fold(Client::new(|_| None), |client, format| {
            client.with_provider(ProviderConfig::new(format.provider()).with_api_key(self.key))
        })
    }

    /// The record of the model that speaks `format` here.
    pub(crate) fn model(&self, format: &Format) -> Result<Arc<Model>, String> {
        // GPT-5 cannot stop thinking, and LiteLLM knows.
        let gpt = matches!(format.api, COMPLETIONS | RESPONSES);
        let levels = if gpt { json!({"off": null}) } else { json!({}) };
        let record = json!({
            "id": format.model, "api": format.api, "provider": format.provider(),
            "baseUrl": format!("{}{}", self.url, format.path), "reasoning": true,
            "input": ["text", "image"], "contextWindow": 100_000, "maxTokens": 8000,
            "thinkingLevelMap": levels,
        });
        serde_json::from_value(record).map(Arc::new).map_err(|error| error.to_string())
    }
}

impl Format {
    const fn at(api: &'static str, path: &'static str, model: &'static str) -> Self {
        Self { api, path, model, note: "" }
    }

    /// Its name in reports.
    pub(crate) fn label(&self) -> String {
        format!("{}{}", self.api, self.note)
    }

    fn provider(&self) -> String {
        format!("interop-{}", self.api)
    }
}
