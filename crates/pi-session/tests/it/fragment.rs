//! Markup of single entries: the same as that of the page, without ids, and results with their calls.

use pi_protocol::{Entry, EntryBody};
use pi_session::{EffectsResolver, EntryRenderer, Session, escaped};
use serde_json::json;
use tempfile::TempDir;

use crate::effects::resolver;
use crate::page::{answer, call, hostile_session, result};

fn entries(session: &Session) -> Vec<Entry> {
    let lines = session.raw_entries(0..session.len()).map(|line| line.unwrap().1);
    lines.map(|line| Entry::from_json(&line).unwrap()).collect()
}

#[test]
fn a_result_is_the_card_of_its_call() {
    let mut session = Session::in_memory("/proj");
    let asked = answer(vec![call("c1", "bash", json!({ "command": "ls -la" }))]);
    session.append_message(asked).unwrap();
    session.append_message(result("c1", "bash", "total 0")).unwrap();
    let entries = entries(&session);
    let mut renderer = EntryRenderer::new(resolver());
    let pending = renderer.render(&entries[0]).unwrap();
    assert!(pending.starts_with("<article class=\"tools\" data-entry=\""), "{pending}");
    assert!(pending.contains("data-call=\"c1\"") && pending.contains("no result"), "{pending}");
    let card = renderer.render(&entries[1]).unwrap();
    assert!(card.starts_with("<details class=\"tool\" data-entry=\""), "{card}");
    assert!(card.contains("data-call=\"c1\"") && card.contains("ls -la"), "{card}");
    assert!(card.contains("total 0") && !card.contains("no result"), "{card}");
    // A reader that begins behind the call reads it without rendering it.
    let mut late = EntryRenderer::new(resolver());
    late.note(&entries[0]);
    assert_eq!(late.render(&entries[1]), Some(card));
    let unknown = EntryRenderer::new(EffectsResolver::default()).render(&entries[1]).unwrap();
    assert!(unknown.starts_with("<article") && unknown.contains("data-call=\"c1\""), "{unknown}");
}

#[test]
fn no_text_of_a_session_becomes_markup_or_an_id() {
    let directory = TempDir::new().unwrap();
    let session = hostile_session(&directory);
    let mut renderer = EntryRenderer::new(resolver());
    let mut shown = 0;
    for entry in entries(&session) {
        let Some(html) = renderer.render(&entry) else { continue };
        shown += 1;
        for markup in ["<script", "<img src=x", "<svg", " id=", "<iframe", "javascript:"] {
            // As the text of a link that was dropped.
            let is_text = markup == "javascript:" && !html.contains("href=\"javascript:");
            assert!(is_text || !html.contains(markup), "{markup} in {html}");
        }
        assert!(!matches!(entry.body, EntryBody::SessionInfo { .. }), "a name is shown elsewhere");
    }
    assert!(shown > 10, "{shown}");
    assert_eq!(
        escaped("<a href=\"x\">'&\u{202e}"),
        "&lt;a href=&quot;x&quot;&gt;&#39;&amp;[U+202E]"
    );
}
