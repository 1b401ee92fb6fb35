//! The log of a session as `SessionManager` reads and writes it.

use std::io::Write as _;

use pi_protocol::{
    AgentMessage, BranchSummary, Compaction, CustomEntryMessage, Entry, UsageRecord,
};
use pi_session::{Session, SessionError, directory_to_text};
use serde_json::{Value, json};

use super::{log_error, session_of};
use crate::error::NativeError;
use crate::host::{Natives, Thrown};

/// A read of the log, with one argument.
type Read = fn(&mut Session, Option<String>) -> Result<Vec<u8>, LogError>;

/// A change of the log. Returns the id of the new entry.
type Write = fn(&mut Session, &Value) -> Result<String, LogError>;

/// An error of an operation on the log.
struct LogError(NativeError);

impl From<SessionError> for LogError {
    fn from(error: SessionError) -> Self {
        Self(log_error(error))
    }
}

impl From<serde_json::Error> for LogError {
    fn from(error: serde_json::Error) -> Self {
        Self(error.into())
    }
}

impl From<std::io::Error> for LogError {
    fn from(error: std::io::Error) -> Self {
        Self(error.into())
    }
}

const READS: &[(&str, Read)] = &[
    ("facts", |log, _| {
        to_json(&json!({
            "cwd": directory_to_text(log.cwd()),
            "directory": log.directory(),
            "id": log.id(),
            "file": log.path(),
            "name": log.name(),
            "leafId": log.leaf_id(),
            "length": log.len(),
        }))
    }),
    ("header", |log, _| to_json(log.header())),
    ("entries", |log, _| {
        let entries: Vec<Entry> = log
            .entries()
            .filter(|entry| !matches!(entry, Err(SessionError::Damaged { .. })))
            .collect::<Result<_, _>>()?;
        to_json(&entries)
    }),
    ("entry", |log, id| match log.entry(&id.unwrap_or_default()) {
        Ok(entry) => to_json(&entry),
        Err(SessionError::UnknownEntry(_)) => Ok(b"null".to_vec()),
        Err(error) => Err(error.into()),
    }),
    ("branch", |log, id| {
        let found = id.as_deref().is_none_or(|id| log.contains(id));
        if !found {
            return Ok(b"[]".to_vec());
        }
        let entries: Vec<Entry> = log.branch_entries(id.as_deref())?.collect::<Result<_, _>>()?;
        to_json(&entries)
    }),
    ("children", |log, id| {
        let of = id.unwrap_or_default();
        let entries: Result<Vec<Entry>, SessionError> = log.entries().collect();
        let children: Vec<Entry> =
            entries?.into_iter().filter(|entry| entry.parent_id.as_deref() == Some(&of)).collect();
        to_json(&children)
    }),
    ("tree", |log, _| {
        let mut text = Vec::new();
        log.tree()?.write_json(&mut text)?;
        Ok(text)
    }),
    ("label", |log, id| to_json(&log.label(&id.unwrap_or_default()))),
    ("contextEntries", |log, _| {
        let entries: Vec<Entry> =
            log.projection()?.into_iter().map(|projected| projected.entry).collect();
        to_json(&entries)
    }),
    ("projection", |log, _| projection(log)),
];

const WRITES: &[(&str, Write)] = &[
    ("appendMessage", |log, message| {
        let message: AgentMessage = serde_json::from_value(message.clone())?;
        Ok(log.append_message(message)?)
    }),
    ("appendThinkingLevelChange", |log, level| Ok(log.append_thinking_level(text(level))?)),
    ("appendModelChange", |log, change| {
        Ok(log.append_model(text(&change["provider"]), text(&change["modelId"]))?)
    }),
    ("appendUsage", |log, usage| {
        let usage: UsageRecord = serde_json::from_value(usage.clone())?;
        Ok(log.append_usage(usage)?)
    }),
    ("appendCompaction", |log, compaction| {
        let compaction: Compaction = serde_json::from_value(compaction.clone())?;
        Ok(log.append_compaction(compaction)?)
    }),
    ("appendCustomEntry", |log, entry| {
        Ok(log.append_custom(text(&entry["customType"]), entry.get("data").cloned())?)
    }),
    ("appendSessionInfo", |log, name| Ok(log.append_name(text(name))?)),
    ("appendCustomMessageEntry", |log, message| {
        let message: CustomEntryMessage = serde_json::from_value(message.clone())?;
        Ok(log.append_custom_message(message)?)
    }),
    ("appendContextEdit", |log, edit| {
        let content = edit["replacement"].get("content").cloned();
        Ok(log.append_context_edit(text(&edit["targetId"]), content)?)
    }),
    ("appendLabelChange", |log, label| {
        Ok(log.append_label(text(&label["targetId"]), label["label"].as_str())?)
    }),
    ("branch", |log, id| {
        log.branch(text(id))?;
        Ok(String::new())
    }),
    ("resetLeaf", |log, _| {
        log.reset();
        Ok(String::new())
    }),
    ("branchWithSummary", |log, summary| {
        let target = summary["branchFromId"].as_str().map(str::to_owned);
        let summary: BranchSummary = serde_json::from_value(summary.clone())?;
        Ok(log.branch_with_summary(target.as_deref(), summary)?)
    }),
];

/// Changes that concern what the model reads.
const CONTEXT_WRITES: &[&str] = &[
    "appendMessage",
    "appendCompaction",
    "appendCustomMessageEntry",
    "appendContextEdit",
    "branch",
    "resetLeaf",
    "branchWithSummary",
];

pub(super) const FUNCTIONS: Natives = &[
    ("read", |call| {
        let (name, argument) = (call.text(1)?, call.optional_text(2)?);
        let read = READS.iter().find(|(other, _)| *other == name);
        let Some((_, read)) = read else { return Err(unknown(&name)) };
        let text =
            session_of(call)?.with_log(|log| read(log, argument)).map_err(|error| error.0)?;
        // Parsed by the engine: logs are long, and this builds each value once.
        Ok(call.ctx().json_parse(text)?)
    }),
    ("write", |call| {
        let (session, name) = (session_of(call)?, call.text(1)?);
        let write = WRITES.iter().find(|(other, _)| *other == name);
        let Some((_, write)) = write else { return Err(unknown(&name)) };
        let argument = call.json(2)?;
        let written = session.with_log(|log| write(log, &argument)).map_err(|error| error.0)?;
        if CONTEXT_WRITES.contains(&name.as_str()) {
            session.log_changed();
        }
        call.reply(written)
    }),
];

fn unknown(name: &str) -> Thrown {
    NativeError::new(format!("no such operation: {name}")).into()
}

fn to_json(value: &(impl serde::Serialize + ?Sized)) -> Result<Vec<u8>, LogError> {
    Ok(serde_json::to_vec(value)?)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Writes `{ entries: [{ sourceEntry, messages }], messages, thinkingLevel, model }`.
fn projection(log: &mut Session) -> Result<Vec<u8>, LogError> {
    let context = log.context()?;
    let projected = log.projection()?;
    let mut out = Vec::new();
    out.write_all(b"{\"entries\":[")?;
    for (at, one) in projected.iter().enumerate() {
        let item = json!({ "sourceEntry": one.entry, "messages": one.messages });
        if at > 0 {
            out.write_all(b",")?;
        }
        serde_json::to_writer(&mut out, &item)?;
    }
    let messages: Vec<&AgentMessage> = context.messages.iter().collect();
    let model =
        context.model.map(|model| json!({ "provider": model.provider, "modelId": model.model_id }));
    write!(
        out,
        "],\"messages\":{},\"thinkingLevel\":{},\"model\":{}}}",
        serde_json::to_string(&messages)?,
        json!(context.thinking_level),
        json!(model),
    )?;
    Ok(out)
}
