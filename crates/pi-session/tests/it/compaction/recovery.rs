//! Recovery from an overflow: entries are hidden only if something can be compacted.

use pi_session::compaction::{CompactionPreparation, CompactionSettings, plan_recovery, prepare};
use pi_session::{ProjectedEntry, Session, project};
use serde_json::json;

use super::fixture::path;
use crate::effects::resolver;

fn keeping(tokens: u64) -> CompactionSettings {
    CompactionSettings { keep_recent_tokens: tokens, ..Default::default() }
}

#[test]
fn the_failed_attempt_is_hidden_only_if_something_is_compacted() {
    let cut = json!(["assistant", 40, {"stop": "length"}]);
    let calls = json!(["assistant", 0, {"stop": "length", "calls": [["read", {"path": "/a"}]]}]);
    let (asked, answered) = (json!(["user", 40]), json!(["assistant", 40]));
    let (own, foreign) = (json!(["result", 8, {"call": "c4_0"}]), json!(["result", 8]));
    let cases = [
        // In a short session, an answer that was cut off stays.
        ("small session", json!([asked, cut]), 1000, None),
        ("small session with history", json!([asked, answered, asked, cut]), 1000, None),
        ("no answer", json!([asked]), 0, None),
        ("already compacted", json!([asked, cut, ["compaction", 9, {"kept": 0}]]), 0, None),
        ("one answer", json!([asked, answered, asked, cut]), 10, Some((vec!["e3"], "e3"))),
        (
            "an answer with its results",
            json!([asked, answered, asked, answered, calls, own, foreign]),
            1,
            Some((vec!["e4", "e5"], "e3")),
        ),
        ("a request too large alone", json!([["user", 400], cut]), 10, Some((vec!["e1"], "e1"))),
    ];
    for (name, short, keep, expected) in cases {
        let entries = project(path(&short));
        let plan = plan_recovery(entries, &keeping(keep), &resolver());
        let plan = plan.map(|plan| (plan.omit, plan.preparation.first_kept));
        let expected = expected.map(|(omit, kept)| {
            (omit.iter().map(ToString::to_string).collect::<Vec<_>>(), kept.to_owned())
        });
        assert_eq!(plan, expected, "{name}");
    }
}

/// The plan equals the preparation after the edits.
#[test]
fn the_plan_anticipates_the_edits() {
    let short = json!([
        ["system", 30], ["user", 80], ["assistant", 80, {"usage": 300}], ["user", 120],
        ["assistant", 20, {"stop": "length", "calls": [["read", {"path": "/a"}]]}],
        ["result", 40, {"call": "c4_0"}], ["label"],
    ]);
    for keep in [0, 5, 10, 20, 30, 45, 60] {
        let mut session = Session::in_memory("/proj");
        let mut ids = Vec::new();
        for entry in path(&short) {
            match entry.message() {
                Some(message) => ids.push(session.append_message(message.clone()).unwrap()),
                None => ids.push(session.append_label(&ids[0], Some("l")).unwrap()),
            }
        }
        let plan = plan_recovery(session.projection().unwrap(), &keeping(keep), &resolver());
        let omit = [ids[4].clone(), ids[5].clone()];
        for id in &omit {
            session.append_context_edit(id, None).unwrap();
        }
        let after: Vec<ProjectedEntry> = session.projection().unwrap();
        let prepared: Option<CompactionPreparation> = prepare(&after, &keeping(keep), &resolver());
        assert_eq!(plan.as_ref().map(|plan| &plan.preparation), prepared.as_ref(), "{keep}");
        assert!(plan.is_none_or(|plan| plan.omit == omit), "{keep}");
    }
}
