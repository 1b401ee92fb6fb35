//! `/api/v1/sessions/{id}/export` and `/outline`: a session as a page, and its tree.

use pi_coding_agent::redacted_session;
use pi_host::export::{Format, write};
use pi_web::http::StatusCode;
use pi_web::http::header::{CONTENT_DISPOSITION, HeaderValue};
use pi_web::server::whole;

use super::entries::with_session;
use super::{Answer, ApiError, Call, json};
use crate::view;

/// Answers with a session as a page that can be saved, without secrets.
pub(crate) async fn page(call: Call) -> Answer {
    let id = call.param(0)?.to_owned();
    let secrets = match call.state.live(&id) {
        Some((_, session)) => session.secrets(),
        None => call.state.options.secrets.clone(),
    };
    let page = with_session(&call.state, &id, move |log, _| {
        let mut redacted = redacted_session(log, &secrets)?;
        let mut page = Vec::new();
        write(redacted.as_mut().unwrap_or(log), Format::Html, &mut page)?;
        Ok::<_, pi_session::SessionError>(page)
    });
    let page = page.await?.map_err(|error| ApiError::internal(error.to_string()))?;
    let mut response = whole(StatusCode::OK, "text/html; charset=utf-8", page);
    // Downloaded and never shown as a page of this server.
    let disposition = format!("attachment; filename=\"pi-session-{id}.html\"");
    if let Ok(disposition) = HeaderValue::from_str(&disposition) {
        response.headers_mut().insert(CONTENT_DISPOSITION, disposition);
    }
    Ok(response)
}

/// Answers with the tree of a session in short.
pub(crate) async fn outline(call: Call) -> Answer {
    let id = call.param(0)?.to_owned();
    let outline = with_session(&call.state, &id, |log, _| view::outline(log)).await?;
    json(StatusCode::OK, &outline.map_err(|error| ApiError::internal(error.to_string()))?)
}
