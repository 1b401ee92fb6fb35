//! Ids on the wire: a tool call has two, a message has one, all at most 64 characters.
//!
//! A tool call is stored under `CALL|ITEM`: the id to which its result refers, and the id of the
//! output item. OpenAI's own endpoints check that an item id comes from them and belongs to the
//! reasoning before it, so the item id of another model must be replaced or left out.

use pi_protocol::{AssistantMessage, Model, TextContent};
use serde::{Deserialize, Serialize};

use crate::wire::ids::{sanitize, short_hash, shorten};

const MAX_ID: usize = 64;

/// Providers whose endpoints support item ids.
const KEEPS_PAIRS: &[&str] = &["azure", "openai", "openai-codex", "opencode"];

/// Joins the two ids of a tool call into the stored form.
pub(super) fn join_call_id(call_id: &str, item_id: &str) -> String {
    if item_id.is_empty() { call_id.to_owned() } else { format!("{call_id}|{item_id}") }
}

/// Splits a stored id into call id and item id.
pub(super) fn split_call_id(id: &str) -> (&str, Option<&str>) {
    match id.split_once('|') {
        Some((call_id, item_id)) => (call_id, Some(item_id)),
        None => (id, None),
    }
}

/// Rewrites the id of a call that another model made, for `model`.
pub(super) fn normalize_call_id(id: &str, from: &AssistantMessage, model: &Model) -> String {
    let (call_id, Some(item_id)) = split_call_id(id) else { return fit(id) };
    if !KEEPS_PAIRS.contains(&model.provider.as_str()) {
        return fit(id);
    }
    let is_native = from.provider == model.provider && from.api == model.api;
    let item_id = if is_native { fit(item_id) } else { format!("fc_{}", short_hash(item_id)) };
    join_call_id(&fit(call_id), &item_id)
}

fn fit(id: &str) -> String {
    shorten(sanitize(id).trim_end_matches('_').to_owned(), MAX_ID)
}

/// The signature of a text block: the output item of the text.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct TextSignature {
    v: u32,
    /// Id of the message item.
    pub(super) id: String,
    /// The phase of the text: commentary or final answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) phase: Option<String>,
}

impl TextSignature {
    /// Writes the signature of a text from this item.
    pub(super) fn write(id: &str, phase: Option<&str>) -> Option<String> {
        let signature = Self { v: 1, id: id.to_owned(), phase: phase.map(str::to_owned) };
        (!id.is_empty()).then(|| serde_json::to_string(&signature).ok()).flatten()
    }

    /// Reads the signature of `text`; old signatures are a bare id. Ids that are too long, as those
    /// of other vendors, are hashed. Without a signature, the id is `fallback`.
    pub(super) fn read(text: &TextContent, fallback: impl FnOnce() -> String) -> Self {
        let stored = text.text_signature.as_deref().filter(|stored| !stored.is_empty());
        let Some(stored) = stored else { return Self { v: 1, id: fallback(), phase: None } };
        let mut signature = serde_json::from_str::<Self>(stored)
            .ok()
            .filter(|signature| signature.v == 1)
            .unwrap_or_else(|| Self { v: 1, id: stored.to_owned(), phase: None });
        if signature.id.chars().count() > MAX_ID {
            signature.id = format!("msg_{}", short_hash(&signature.id));
        }
        signature
    }
}
