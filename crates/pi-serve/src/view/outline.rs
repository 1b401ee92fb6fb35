//! The tree of a session in short: prompts, summaries, labels, and where it forks.
//!
//! Only the entries that are listed are read, so a session of any length is listed quickly.

use pi_protocol::{AgentMessage, Entry, Message};
use pi_session::{EntryKind, Session, SessionError, text_of};
use serde::Serialize;

/// Characters of a row.
const ROW: usize = 140;

/// The tree of a session in short.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Outline {
    /// Id of the entry at the end of the current branch.
    pub leaf_id: Option<String>,
    /// Rows, parents before children, older branches first.
    pub rows: Vec<Row>,
}

/// A row of an outline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Row {
    /// Id of the entry.
    pub id: String,
    /// The row above which this one belongs to; `None` for a root.
    pub parent: Option<usize>,
    /// `user`, `assistant`, `summary` or `other`.
    pub kind: &'static str,
    /// Beginning of the text.
    pub text: String,
    /// The label that the user gave the entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// True if the entry is on the current branch.
    pub on_branch: bool,
}

/// Returns the tree of a session in short.
pub fn outline(session: &mut Session) -> Result<Outline, SessionError> {
    let leaf_id = session.leaf_id().map(str::to_owned);
    let mut rows: Vec<Row> = Vec::new();
    let listed: Vec<_> = {
        let view = session.tree()?;
        // For every depth on the path to the last entry, its row or the one above it, and whether
        // the entry has several children.
        let mut path: Vec<(Option<usize>, bool)> = Vec::new();
        let mut listed = Vec::new();
        for node in view.nodes() {
            path.truncate(node.depth);
            let (parent, is_forked) = path.last().copied().unwrap_or((None, false));
            let kind = kind_of(node.kind);
            let is_end = node.children == 0 && node.kind == EntryKind::Assistant;
            let is_listed = matches!(kind, "user" | "summary") || is_forked && kind != "other";
            let row = if is_listed || node.label.is_some() || is_end {
                rows.push(Row {
                    id: node.id.to_owned(),
                    parent,
                    kind,
                    text: String::new(),
                    label: node.label.map(str::to_owned),
                    on_branch: node.on_branch,
                });
                listed.push(node.id.to_owned());
                Some(rows.len() - 1)
            } else {
                parent
            };
            path.push((row, node.children > 1));
        }
        listed
    };
    for (row, id) in rows.iter_mut().zip(listed) {
        if let Ok(entry) = session.entry(&id) {
            row.text = text_of_entry(&entry);
        }
    }
    Ok(Outline { leaf_id, rows })
}

fn kind_of(kind: EntryKind) -> &'static str {
    match kind {
        EntryKind::User => "user",
        EntryKind::Assistant => "assistant",
        EntryKind::Compaction | EntryKind::BranchSummary => "summary",
        _ => "other",
    }
}

fn text_of_entry(entry: &Entry) -> String {
    let text = match entry.message() {
        Some(AgentMessage::Llm(Message::User(message))) => text_of(&message.content),
        Some(AgentMessage::Llm(Message::Assistant(message))) => {
            let text = message.text();
            if text.trim().is_empty() {
                let calls: Vec<&str> = message.tool_calls().map(|call| &*call.name).collect();
                calls.join(", ")
            } else {
                text
            }
        }
        _ => String::new(),
    };
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    match line.char_indices().nth(ROW) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line.to_owned(),
    }
}
