//! Where two transcripts part.

use serde_json::Value;

use super::format::lines;

/// How many lines of a difference are shown.
const SHOWN: usize = 60;

/// The lines that are only in one of them, from the first difference on; `None` if they are equal.
pub(super) fn difference(expected: &Value, seen: &Value) -> Option<String> {
    if expected == seen {
        return None;
    }
    let (expected, seen) = (lines(expected), lines(seen));
    let same = expected.iter().zip(&seen).take_while(|(a, b)| a == b).count();
    let (expected, seen) = (&expected[same..], &seen[same..]);
    let tail = expected.iter().rev().zip(seen.iter().rev()).take_while(|(a, b)| a == b).count();
    let (expected, seen) = (&expected[..expected.len() - tail], &seen[..seen.len() - tail]);
    let mut text = format!("from line {} on:\n", same + 1);
    // Line by line where both go on, so that what differs in a record is one below the other.
    for at in 0..expected.len().max(seen.len()).min(SHOWN) {
        let (old, new) = (expected.get(at), seen.get(at));
        if old == new {
            continue;
        }
        for (sign, line) in [('-', old), ('+', new)] {
            if let Some(line) = line {
                text.push_str(&format!("{sign}{line}\n"));
            }
        }
    }
    Some(text)
}

#[test]
fn a_difference_is_shown_where_it_is() {
    let long = "x".repeat(100);
    let value = |word: &str| serde_json::json!({"a": [long, word], "b": long});
    assert_eq!(difference(&value("one"), &value("one")), None);
    let shown = difference(&value("one"), &value("two")).unwrap();
    assert_eq!(shown, "from line 4 on:\n-    \"one\"\n+    \"two\"\n");
}
