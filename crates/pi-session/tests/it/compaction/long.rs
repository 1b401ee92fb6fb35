//! Compaction of a hundred thousand entries: no step is recursive or quadratic.

use pi_protocol::Entry;
use pi_session::compaction::{
    CompactionSettings, context_tokens, estimated_tokens, find_cut, plan_recovery, prepare,
    prepare_branch, projected_tokens,
};
use pi_session::project;
use serde_json::json;

use super::fixture::path;
use crate::effects::resolver;

const ENTRIES: usize = 100_000;
/// Half of the tokens: a request has 2, a call 7 and a result 2, with 20,000 of each.
const HALF: u64 = 110_000;

/// Takes hours if a step visits all entries for each entry.
#[test]
fn a_long_session_is_prepared() {
    let kinds = path(&json!([
        ["user", 8],
        ["assistant", 8, {"calls": [["read", {"path": "/a"}]]}],
        ["result", 8],
        ["label"],
        ["edit", null, {"target": 7}],
    ]));
    let entries: Vec<Entry> = (0..ENTRIES)
        .map(|index| Entry {
            id: format!("e{index}"),
            parent_id: index.checked_sub(1).map(|parent| format!("e{parent}")),
            ..kinds[index % kinds.len()].clone()
        })
        .collect();
    let settings = CompactionSettings { keep_recent_tokens: HALF, ..Default::default() };
    let branch = prepare_branch(&entries, 0, &resolver());
    assert_eq!(branch.messages.len(), ENTRIES / kinds.len() * 2);
    let projected = project(entries);
    let all = projected_tokens(&projected);
    assert_eq!(all.tokens, 2 * HALF - 2); // one result is edited away
    let plain = context_tokens(projected.iter().flat_map(|projected| &projected.messages));
    assert_eq!(plain.tokens, all.tokens);
    assert_eq!(estimated_tokens(&projected), Some(all.tokens));
    let cut = find_cut(&projected, 0..projected.len(), HALF);
    assert_eq!(cut.first_kept, ENTRIES / 2 - 2); // with the label and the edit before it
    // With an unlimited budget the search visits all entries.
    assert_eq!(find_cut(&projected, 0..projected.len(), u64::MAX).first_kept, 0);
    let prepared = prepare(&projected, &settings, &resolver()).unwrap();
    assert_eq!(prepared.kept.len(), ENTRIES / 2 / kinds.len() * 3);
    assert_eq!(plan_recovery(projected, &settings, &resolver()).unwrap().omit.len(), 1);
}
