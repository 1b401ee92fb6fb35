//! The order of files that match what is typed after `@`.

use super::listing::Entry;

/// The most files that match and are compared with each other.
const MOST_FOUND: usize = 100;

/// The most files that are offered.
const MOST_SHOWN: usize = 20;

/// Returns the files that match, best first. Without a text all match, the near ones first.
pub(super) fn best(text: &str, entries: &[Entry]) -> Vec<Entry> {
    let text = text.to_lowercase();
    let mut found: Vec<(i32, usize, usize, &Entry)> = Vec::new();
    for entry in entries {
        let Some(score) = score(&text, entry) else { continue };
        let depth = entry.path.matches('/').count();
        let length = entry.path.len() + usize::from(entry.is_directory);
        found.push((-score, depth, length, entry));
        if found.len() >= MOST_FOUND * 4 {
            keep_best(&mut found);
        }
    }
    keep_best(&mut found);
    found.into_iter().take(MOST_SHOWN).map(|(.., entry)| entry.clone()).collect()
}

fn keep_best(found: &mut Vec<(i32, usize, usize, &Entry)>) {
    found.sort_by(|a, b| (a.0, a.1, a.2, &a.3.path).cmp(&(b.0, b.1, b.2, &b.3.path)));
    found.truncate(MOST_FOUND);
}

/// Returns how well a file matches a text in lower case. Higher is better.
pub(super) fn score(text: &str, entry: &Entry) -> Option<i32> {
    if text.is_empty() {
        return Some(0);
    }
    let path = entry.path.to_lowercase();
    let name = path.rsplit('/').next().unwrap_or(&path);
    let score = if name == text {
        100
    } else if name.starts_with(text) {
        80
    } else if name.contains(text) {
        50
    } else if path.contains(text) {
        30
    } else {
        return None;
    };
    Some(score + if entry.is_directory { 10 } else { 0 })
}
