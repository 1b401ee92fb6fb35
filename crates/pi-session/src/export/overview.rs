//! The facts at the top of an export: title, models, dates and cost.

use pi_protocol::{AgentMessage, EntryBody, Message};

use super::escape;
use crate::own_words::own_words;
use crate::projection::text_of;
use crate::{Session, SessionError, SessionStats};

/// The facts at the top of an export.
pub(super) struct Overview {
    /// The name of the session, or the beginning of its first message.
    pub(super) title: String,
    pub(super) cwd: String,
    /// Time of creation, ISO 8601.
    pub(super) created: String,
    /// Models that answered, in order of appearance.
    pub(super) models: Vec<String>,
    pub(super) stats: SessionStats,
}

impl Overview {
    /// Reads the whole session in one pass.
    pub(super) fn read(session: &Session) -> Result<Self, SessionError> {
        let mut stats = SessionStats::default();
        let mut models: Vec<String> = Vec::new();
        let mut first = None;
        for entry in session.entries() {
            let entry = match entry {
                Ok(entry) => entry,
                Err(SessionError::Damaged { .. }) => continue,
                Err(error) => return Err(error),
            };
            stats.add(&entry);
            match &entry.body {
                EntryBody::Message(AgentMessage::Llm(Message::Assistant(message))) => {
                    let known = models.iter().any(|model| *model == message.model);
                    if !known && !message.model.is_empty() {
                        models.push(message.model.clone());
                    }
                }
                EntryBody::Message(AgentMessage::Llm(Message::User(message))) => {
                    first = first.or_else(|| {
                        Some(escape::first_line(own_words(&text_of(&message.content)), 80))
                            .filter(|line| !line.is_empty())
                    });
                }
                _ => {}
            }
        }
        let name = session.name().map(|name| escape::one_line(name, 120));
        Ok(Self {
            title: name.or(first).unwrap_or_else(|| "Untitled session".to_owned()),
            cwd: session.header().cwd.clone(),
            created: session.header().timestamp.clone(),
            models,
            stats,
        })
    }
}

/// Returns the number of messages that an export shows: the system prompt is not one of them.
pub(super) fn messages(stats: &SessionStats) -> u64 {
    stats.total_messages - stats.system_messages
}

/// Formats a time stamp as `2026-11-15 06:32`; returns other texts unchanged.
pub(super) fn date(timestamp: &str) -> String {
    match crate::time::parse_ms(timestamp) {
        Some(_) => timestamp.get(..16).unwrap_or(timestamp).replace('T', " "),
        None => timestamp.to_owned(),
    }
}

/// Formats a count with few digits: `950`, `12.3k`, `1.2M`.
pub(super) fn count(number: u64) -> String {
    match number {
        0..=999 => number.to_string(),
        1_000..=999_949 => format!("{:.1}k", number as f64 / 1e3),
        _ => format!("{:.1}M", number as f64 / 1e6),
    }
}

/// Formats dollars; small amounts get more digits.
pub(super) fn cost(dollars: f64) -> String {
    if dollars < 0.1 { format!("${dollars:.4}") } else { format!("${dollars:.2}") }
}
