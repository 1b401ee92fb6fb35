//! Items of a feed as the JSON that clients get, the same for server-sent events and sockets.
//!
//! Pure, but for the markup that [`Renderer`] makes.

use std::fmt::Write as _;

use jiff::Timestamp;
use pi_coding_agent::session::SessionEvent;
use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::view::Renderer;

/// An entry of a log, as a line of the file with its place.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EntryItem<'a> {
    r#type: &'static str,
    session_id: &'a str,
    seq: u64,
    entry: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    html: Option<String>,
}

/// Writes an entry; `None` for a line that is not JSON. With a renderer, it comes with its markup,
/// if it is shown.
pub(crate) fn entry(
    session: &str,
    seq: u64,
    line: &str,
    renderer: Option<&mut Renderer>,
) -> Option<String> {
    let raw: &RawValue = serde_json::from_str(line).ok()?;
    let html = renderer.and_then(|renderer| renderer.entry(line));
    let item = EntryItem { r#type: "entry", session_id: session, seq, entry: raw, html };
    serde_json::to_string(&item).ok()
}

/// Writes an event of the moment; `None` for events that are not records of the protocol.
pub(crate) fn event(session: &str, event: &SessionEvent) -> Option<String> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct EventItem<'a> {
        r#type: &'static str,
        session_id: &'a str,
        event: &'a SessionEvent,
    }
    if !event.is_record() {
        return None;
    }
    serde_json::to_string(&EventItem { r#type: "event", session_id: session, event }).ok()
}

/// Writes that the client was too slow: it discards the message in flight.
pub(crate) fn lagged(session: &str) -> String {
    named("lagged", session, &[])
}

/// Writes that another session became the current one.
pub(crate) fn replaced(session: &str, new: &str) -> String {
    named("replaced", session, &[("newId", new)])
}

/// Writes where the session is from now on, and whether it runs, as far as that is known.
pub(crate) fn place(session: &str, state: &str, is_streaming: Option<bool>) -> String {
    let mut item = json!({ "type": "session_state", "sessionId": session, "state": state });
    if let Some(is_streaming) = is_streaming {
        item["isStreaming"] = is_streaming.into();
    }
    item.to_string()
}

/// Writes that no more items of a session follow.
pub(crate) fn closed(session: &str, reason: &str) -> String {
    named("closed", session, &[("reason", reason)])
}

/// Writes that the list of sessions or questions has changed.
pub(crate) fn lists_changed() -> String {
    r#"{"type":"lists_changed"}"#.to_owned()
}

/// Writes that the server is alive. An event and no comment: programs see it.
pub(crate) fn heartbeat(server_id: &str) -> String {
    let now = format!("{:.3}", Timestamp::now());
    format!(r#"{{"type":"heartbeat","at":{},"serverId":{}}}"#, quoted(&now), quoted(server_id))
}

fn named(kind: &str, session: &str, fields: &[(&str, &str)]) -> String {
    let mut text = format!(r#"{{"type":"{kind}","sessionId":{}"#, quoted(session));
    for (name, value) in fields {
        let _ = write!(text, r#","{name}":{}"#, quoted(value));
    }
    text.push('}');
    text
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_json_with_their_session() {
        let line = r#"{"type":"custom","id":"a","parentId":null,"timestamp":"x","z":1.50}"#;
        let item = entry("s", 7, line, None).unwrap();
        assert_eq!(item, format!(r#"{{"type":"entry","sessionId":"s","seq":7,"entry":{line}}}"#));
        assert_eq!(entry("s", 7, "{", None), None);
        assert_eq!(lagged("s"), r#"{"type":"lagged","sessionId":"s"}"#);
        let hostile = "\"\n</script>";
        for text in [replaced(hostile, hostile), closed(hostile, hostile), heartbeat(hostile)] {
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert!(value["type"].is_string(), "{text}");
        }
    }
}
