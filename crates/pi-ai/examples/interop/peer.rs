//! The peers: their wire formats, and the conversations that they do not support.

use std::sync::Arc;

use pi_ai::{Client, Model, ProviderConfig};
use serde_json::json;

/// A server to talk to.
pub(crate) struct Peer {
    pub(crate) name: &'static str,
    /// The origin, without a slash at the end.
    pub(crate) url: String,
    key: &'static str,
    /// True if requests are signed with the keys of AWS instead of having a key.
    signed: bool,
    pub(crate) formats: Vec<Format>,
    /// True if answers come from a script, so that their text is known.
    pub(crate) scripted: bool,
    /// Origin of the aimock that has the journal of requests.
    pub(crate) journal: Option<String>,
    unsupported: &'static [Unsupported],
}

/// A conversation that a peer does not support.
struct Unsupported {
    /// The wire format; empty for all.
    api: &'static str,
    conversation: &'static str,
    reason: &'static str,
}

/// A wire format at a peer.
pub(crate) struct Format {
    pub(crate) api: &'static str,
    path: &'static str,
    model: &'static str,
    /// The key, if the format requires one of its own form.
    key: Option<&'static str>,
    /// Difference from another entry of the same format.
    note: &'static str,
}

const ANTHROPIC: &str = "anthropic-messages";
const COMPLETIONS: &str = "openai-completions";
const RESPONSES: &str = "openai-responses";
const GOOGLE: &str = "google-generative-ai";
const VERTEX: &str = "google-vertex";
const BEDROCK: &str = "bedrock-converse-stream";
const AZURE: &str = "azure-openai-responses";
const CODEX: &str = "openai-codex-responses";
const MISTRAL: &str = "mistral-conversations";

/// The paths of the formats at aimock, each with a thinking model.
const AT_AIMOCK: [Format; 9] = [
    Format::at(ANTHROPIC, "", "claude-sonnet-4-5"),
    Format::at(COMPLETIONS, "/v1", "gpt-5-mini"),
    Format::at(RESPONSES, "/v1", "gpt-5"),
    Format::at(GOOGLE, "/v1beta", "gemini-3-pro-preview"),
    Format::at(VERTEX, "/v1/projects/p/locations/l", "gemini-3-pro-preview"),
    Format::at(BEDROCK, "", "us.anthropic.claude-sonnet-4-5-20250929-v1:0"),
    Format::at(AZURE, "/openai/v1", "gpt-5"),
    Format { key: Some(TOKEN), ..Format::at(CODEX, "/backend-api", "gpt-5") },
    Format::at(MISTRAL, "", "magistral-medium-latest"),
];

/// A token with the claim of an account, as the Codex format requires: `{"alg":"none"}` and
/// `{"https://api.openai.com/auth":{"chatgpt_account_id":"interop"}}`.
const TOKEN: &str = "eyJhbGciOiJub25lIn0.eyJodHRwczovL2FwaS5vcGVuYWkuY29tL2F1dGgiOnsiY2hhdGdwdF9hY2NvdW50X2lkIjoiaW50ZXJvcCJ9fQ.c2ln";

impl Peer {
    /// Returns the peer of this name at `url`. `journal` is the origin of an aimock behind it.
    pub(crate) fn named(name: &str, url: &str, journal: Option<String>) -> Option<Self> {
        let mut peer = match name {
            "aimock" => Self {
                journal: Some(url.to_owned()),
                unsupported: &[Unsupported {
                    api: MISTRAL,
                    conversation: "usage",
                    reason: "aimock counts only with an option that Mistral does not have",
                }],
                ..Self::new("aimock")
            },
            "llmock" => Self {
                scripted: false,
                formats: vec![
                    Format::at(ANTHROPIC, "/anthropic", "claude-sonnet-4-5"),
                    Format::at(COMPLETIONS, "/v1", "gpt-5-mini"),
                    Format::at(RESPONSES, "/v1", "gpt-5"),
                    Format::at(GOOGLE, "/gemini/v1beta", "gemini-3-pro-preview"),
                    Format::at(MISTRAL, "/mistral", "mistral-large-latest"),
                ],
                unsupported: &[
                    Unsupported {
                        api: "",
                        conversation: "thinking",
                        reason: "llmock has no thinking",
                    },
                    Unsupported {
                        api: MISTRAL,
                        conversation: "usage",
                        reason: "llmock counts only with an option that Mistral does not have",
                    },
                ],
                ..Self::new("llmock")
            },
            // Both check signatures: with botocore, and with the packages of Amazon's own SDK.
            "bedrock" | "smithy" => Self {
                signed: true,
                formats: vec![Format::at(
                    BEDROCK,
                    "",
                    "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
                )],
                ..Self::new(if name == "bedrock" { "bedrock" } else { "smithy" })
            },
            "dsh" => Self {
                key: "mock-key",
                formats: vec![Format::at(COMPLETIONS, "/v1", "mock")],
                ..Self::new("dsh")
            },
            // The model names select translations of LiteLLM; see `xtask/data/interop/litellm.yaml`.
            "litellm" => Self {
                key: "sk-interop-0123456789",
                journal,
                unsupported: &[
                    Unsupported {
                        api: GOOGLE,
                        conversation: "thinking",
                        reason: "LiteLLM sends no thinking in this format",
                    },
                    Unsupported {
                        api: GOOGLE,
                        conversation: "usage",
                        reason: "LiteLLM sends no usage in a stream of this format",
                    },
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
                unsupported: &[Unsupported {
                    api: "",
                    conversation: "images",
                    reason: "the model does not support images",
                }],
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
            signed: false,
            formats: AT_AIMOCK.into(),
            scripted: true,
            journal: None,
            unsupported: &[],
        }
    }

    /// Returns the reason why a conversation is not supported in a format.
    pub(crate) fn unsupported(&self, api: &str, conversation: &str) -> Option<&'static str> {
        let applies = |entry: &&Unsupported| {
            (entry.api.is_empty() || entry.api == api) && entry.conversation == conversation
        };
        self.unsupported.iter().find(applies).map(|entry| entry.reason)
    }

    /// Returns true if calls have distinct ids in the requests behind this peer.
    pub(crate) fn numbers_calls(&self, api: &str) -> bool {
        // LiteLLM drops Google's ids and generates new ones from the name of the tool alone.
        (self.name, api) != ("litellm", GOOGLE)
    }

    /// Creates a client with a provider for each format, as if each were of another vendor.
    pub(crate) fn client(&self) -> Client {
        if self.signed {
            return Client::new(|name| match name {
                "AWS_ACCESS_KEY_ID" => Some("AKIDEXAMPLE".to_owned()),
                "AWS_SECRET_ACCESS_KEY" => Some("secret".to_owned()),
                _ => None,
            });
        }
        self.formats.iter().fold(Client::new(|_| None), |client, format| {
            let key = format.key.unwrap_or(self.key);
            client.with_provider(ProviderConfig::new(self.provider(format)).with_api_key(key))
        })
    }

    fn provider(&self, format: &Format) -> String {
        // Only the built-in provider has keys of AWS.
        if self.signed { "amazon-bedrock".to_owned() } else { format!("interop-{}", format.api) }
    }

    /// Returns the record of the model for `format`.
    pub(crate) fn model(&self, format: &Format) -> Result<Arc<Model>, String> {
        // GPT-5 cannot stop thinking, and LiteLLM checks that.
        let gpt = matches!(format.api, COMPLETIONS | RESPONSES | AZURE | CODEX);
        let levels = if gpt { json!({"off": null}) } else { json!({}) };
        let record = json!({
            "id": format.model, "api": format.api, "provider": self.provider(format),
            "baseUrl": format!("{}{}", self.url, format.path), "reasoning": true,
            "input": ["text", "image"], "contextWindow": 100_000, "maxTokens": 8000,
            "thinkingLevelMap": levels,
        });
        serde_json::from_value(record).map(Arc::new).map_err(|error| error.to_string())
    }
}

impl Format {
    const fn at(api: &'static str, path: &'static str, model: &'static str) -> Self {
        Self { api, path, model, key: None, note: "" }
    }

    /// Returns the name in reports.
    pub(crate) fn label(&self) -> String {
        format!("{}{}", self.api, self.note)
    }
}
