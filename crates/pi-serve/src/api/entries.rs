//! `/api/v1/sessions/{id}/entries`: a window of the log by sequence numbers.

use std::ops::Range;
use std::sync::Arc;

use pi_session::{EffectsResolver, OpenOptions, Session, SessionError};
use pi_web::http::StatusCode;
use pi_web::server::whole;

use super::sessions::joined;
use super::{Answer, ApiError, Call};
use crate::items;
use crate::state::ServeState;
use crate::view::Renderer;

/// Entries of a window, unless the client asks for another number.
const WINDOW: u64 = 100;

/// Most entries of a window.
const LARGEST_WINDOW: u64 = 1000;

/// Entries that are read before a window with markup: the results of their calls may be in it.
const BEFORE: usize = 64;

/// Answers with a window of the entries.
pub(crate) async fn list(call: Call) -> Answer {
    let limit = call.number("limit")?.unwrap_or(WINDOW).clamp(1, LARGEST_WINDOW);
    let window = Window { limit, after: call.number("after")?, before: call.number("before")? };
    let with_html = is_html(&call)?;
    let id = call.param(0)?.to_owned();
    let state = Arc::clone(&call.state);
    let text = with_session(&state, &id, move |session, effects| {
        read(session, &window, with_html.then(|| Renderer::new(effects)))
    });
    Ok(whole(StatusCode::OK, "application/json", text.await??))
}

/// Returns true if entries shall come with markup.
pub(crate) fn is_html(call: &Call) -> Result<bool, ApiError> {
    match call.query("view").as_deref() {
        None => Ok(false),
        Some("html") => Ok(true),
        Some(_) => Err(ApiError::bad_request("invalid_query", "the only view is \"html\"")),
    }
}

/// Reads a session on a thread of its own: the log of this process, or the file.
pub(crate) async fn with_session<T: Send + 'static>(
    state: &ServeState,
    id: &str,
    read: impl FnOnce(&mut Session, EffectsResolver) -> T + Send + 'static,
) -> Result<T, ApiError> {
    if let Some((_, session)) = state.live(id) {
        let effects = session.effects_resolver();
        let reading =
            tokio::task::spawn_blocking(move || session.with_log(|log| read(log, effects)));
        return joined(reading.await);
    }
    let path = state.host.find(id).await?.path;
    let reading = tokio::task::spawn_blocking(move || {
        let mut session = Session::open(&path, &OpenOptions::follow())?;
        let effects = EffectsResolver::new(pi_tools::toolset::effects_of);
        Ok::<_, SessionError>(read(&mut session, effects))
    });
    joined(reading.await)?.map_err(|error| ApiError::internal(error.to_string()))
}

struct Window {
    limit: u64,
    after: Option<u64>,
    before: Option<u64>,
}

impl Window {
    /// Returns the positions of a log of this length: those after a number, those before one, or the
    /// last ones.
    fn range(&self, length: usize) -> Range<usize> {
        let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let limit = size(self.limit);
        match (self.after, self.before) {
            (Some(after), before) => {
                let start = size(after).saturating_add(1).min(length);
                let end = before.map_or(length, |before| size(before).min(length));
                start..end.min(start.saturating_add(limit)).max(start)
            }
            (None, before) => {
                let end = before.map_or(length, |before| size(before).min(length));
                end.saturating_sub(limit)..end
            }
        }
    }
}

fn read(
    session: &Session,
    window: &Window,
    mut renderer: Option<Renderer>,
) -> Result<String, ApiError> {
    let failed = |error: SessionError| ApiError::internal(error.to_string());
    let range = window.range(session.len());
    if let Some(renderer) = &mut renderer {
        for line in session.raw_entries(range.start.saturating_sub(BEFORE)..range.start) {
            renderer.note(&line.map_err(failed)?.1);
        }
    }
    let mut text = "{\"entries\":[".to_owned();
    let start = text.len();
    for line in session.raw_entries(range) {
        let (position, line) = line.map_err(failed)?;
        let item = items::entry(&session.header().id, position as u64, &line, renderer.as_mut());
        let Some(item) = item else { continue };
        if text.len() > start {
            text.push(',');
        }
        text.push_str(&item);
    }
    text.push_str(&format!("],\"length\":{}}}", session.len()));
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_those_that_were_asked_for() {
        let window = |after, before, limit| Window { limit, after, before };
        let cases = [
            (window(None, None, 3), 10, 7..10),
            (window(None, None, 30), 10, 0..10),
            (window(None, Some(4), 3), 10, 1..4),
            (window(None, Some(99), 3), 10, 7..10),
            (window(Some(4), None, 3), 10, 5..8),
            (window(Some(4), Some(6), 3), 10, 5..6),
            (window(Some(9), None, 3), 10, 10..10),
            (window(Some(u64::MAX), None, 3), 10, 10..10),
            (window(Some(6), Some(2), 3), 10, 7..7),
            (window(None, None, 3), 0, 0..0),
        ];
        for (window, length, expected) in cases {
            assert_eq!(window.range(length), expected, "{:?} {:?}", window.after, window.before);
        }
    }
}
