//! The list of the user's sessions.

use pi_base::text;
use pi_host::Host;
use pi_jsonrpc::Error;
use pi_session::SessionInfo;
use serde_json::{Value, json};

use crate::errors::open_error;
use crate::params::ListSessions;

/// Sessions of one page.
const PAGE: usize = 100;
/// Longest title, in characters.
const TITLE: usize = 200;

/// Returns a page of the sessions, newest first.
pub(crate) async fn list(host: &Host, params: ListSessions) -> Result<Value, Error> {
    let from: usize = match &params.cursor {
        None => 0,
        Some(cursor) => cursor.parse().map_err(|_| Error::invalid_params("unknown cursor"))?,
    };
    // Sessions belong to directories without links in their paths; one that is gone has its name.
    let cwd = params.cwd.map(|cwd| std::fs::canonicalize(&cwd).unwrap_or(cwd));
    let sessions = host.stored(cwd).await.map_err(open_error)?;
    let sessions: Vec<Value> =
        sessions.iter().filter(|session| session.cwd.starts_with('/')).map(describe).collect();
    let page: Vec<Value> = sessions.iter().skip(from).take(PAGE).cloned().collect();
    let next = from.saturating_add(PAGE);
    let mut result = json!({ "sessions": page });
    if next < sessions.len() {
        result["nextCursor"] = next.to_string().into();
    }
    Ok(result)
}

fn describe(session: &SessionInfo) -> Value {
    let title = one_line(session.name.as_deref().unwrap_or(&session.first_message));
    let mut value = json!({ "sessionId": session.id, "cwd": session.cwd, "title": title });
    if let Ok(time) = jiff::Timestamp::from_millisecond(session.modified) {
        value["updatedAt"] = time.to_string().into();
    }
    value
}

/// Returns the beginning of a text as a title.
pub(crate) fn one_line(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    text::one_line(line).chars().take(TITLE).collect()
}
