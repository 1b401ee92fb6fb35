//! Answers at the boundaries of a run.

use std::sync::Arc;

use pi_coding_agent::SystemPromptOptions;
use pi_coding_agent::extension::{BeforeAgentStart, Boundary, ReplacedMessage, RunStart};
use pi_protocol::{Entry, EntryBody};
use serde_json::Value;

use super::field;

/// Reads `{ message?, systemPrompt? }`, and the options as the handler left them.
pub(super) fn start(
    asked: &BeforeAgentStart,
    result: &Value,
    event: &Value,
) -> Result<RunStart, String> {
    let changed = &event["systemPromptOptions"];
    let mut start = RunStart::default();
    start.messages.extend(field(result, "message")?);
    start.system_prompt = field(result, "systemPrompt")?;
    let before = asked.payload_of_options();
    if changed.is_object() && *changed != before {
        let forced = field::<String>(changed, "forceSystemPrompt")?;
        if start.system_prompt.is_none() && forced != field(&before, "forceSystemPrompt")? {
            start.system_prompt = forced;
        }
        let options = SystemPromptOptions::from_payload(changed);
        start.options = Some(Arc::new(options.map_err(|error| error.to_string())?));
    }
    Ok(start)
}

/// Reads `{ entries?, continue? }`. Messages cannot be appended here and are left out, as by the
/// TypeScript pi.
pub(super) fn boundary(result: &Value) -> Result<Boundary, String> {
    let continues = field(result, "continue")?;
    let Some(drafts) = field::<Vec<Value>>(result, "entries")? else {
        return Ok(Boundary { entries: None, continues });
    };
    let drafts = drafts.into_iter().filter(|draft| draft["type"] != "message");
    let entries: Result<_, String> = drafts.map(entry).collect();
    let entries = entries.map_err(|problem| format!("Invalid boundary entries: {problem}"))?;
    Ok(Boundary { entries: Some(entries), continues })
}

/// Reads an entry without id, parent and time.
fn entry(mut draft: Value) -> Result<EntryBody, String> {
    let fields = draft.as_object_mut().ok_or("an entry is not an object")?;
    fields.insert("id".to_owned(), "draft".into());
    fields.insert("parentId".to_owned(), Value::Null);
    fields.insert("timestamp".to_owned(), "1970-01-01T00:00:00.000Z".into());
    let entry: Entry = serde_json::from_value(draft).map_err(|error| error.to_string())?;
    Ok(entry.body)
}

/// Reads `{ message? }`.
pub(super) fn message(result: &Value) -> Result<ReplacedMessage, String> {
    field(result, "message").map(ReplacedMessage)
}
