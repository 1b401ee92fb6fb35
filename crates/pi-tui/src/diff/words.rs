//! The words that differ between two versions of a line.

use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput, TokenSource};

/// Longer lines are not compared word by word.
const LINE_LIMIT: usize = 8 * 1024;

/// The parts of a line that changed, in bytes.
pub(super) type Changed = Vec<Range<usize>>;

/// Returns what changed in the old and in the new line. White space at the edges of a change is
/// not a part of it. Returns nothing if the lines are too long, or have nothing in common.
pub(super) fn changed(old: &str, new: &str) -> Option<(Changed, Changed)> {
    if old.len().max(new.len()) > LINE_LIMIT {
        return None;
    }
    let (old_words, new_words) = (words(old), words(new));
    let input = InternedInput::new(Words(old, &old_words), Words(new, &new_words));
    let diff = Diff::compute(Algorithm::Myers, &input);
    let (mut removed, mut added) = (Changed::new(), Changed::new());
    for hunk in diff.hunks() {
        push(&mut removed, old, &old_words, &hunk.before);
        push(&mut added, new, &new_words, &hunk.after);
    }
    let is_whole = |line: &str, changed: &Changed| {
        changed.iter().map(ExactSizeIterator::len).sum::<usize>() >= line.trim().len()
    };
    let has_nothing_in_common = is_whole(old, &removed) && is_whole(new, &added);
    (!has_nothing_in_common).then_some((removed, added))
}

fn push(changed: &mut Changed, line: &str, words: &[Range<usize>], hunk: &Range<u32>) {
    let words = words.get(hunk.start as usize..hunk.end as usize).unwrap_or_default();
    let (Some(first), Some(last)) = (words.first(), words.last()) else { return };
    let text = line.get(first.start..last.end).unwrap_or_default();
    let start = first.start + (text.len() - text.trim_start().len());
    let end = start + text.trim().len();
    if start >= end {
        return;
    }
    match changed.last_mut() {
        // Changes that only white space separates are one.
        Some(before) if line.get(before.end..start).is_some_and(|gap| gap.trim().is_empty()) => {
            before.end = end;
        }
        _ => changed.push(start..end),
    }
}

/// Cuts a line into words, white space and single signs.
fn words(line: &str) -> Vec<Range<usize>> {
    let kind = |c: char| match c {
        c if c.is_alphanumeric() || c == '_' => 0,
        c if c.is_whitespace() => 1,
        _ => 2,
    };
    let mut words: Vec<Range<usize>> = Vec::new();
    let mut last = 2;
    for (at, c) in line.char_indices() {
        let end = at + c.len_utf8();
        match words.last_mut() {
            Some(word) if kind(c) == last && last != 2 => word.end = end,
            _ => words.push(at..end),
        }
        last = kind(c);
    }
    words
}

/// The words of a line, for the diff.
struct Words<'a>(&'a str, &'a [Range<usize>]);

impl<'a> TokenSource for Words<'a> {
    type Token = &'a str;
    type Tokenizer = Box<dyn Iterator<Item = &'a str> + 'a>;

    fn tokenize(&self) -> Self::Tokenizer {
        let Self(line, words) = *self;
        Box::new(words.iter().map(move |word| line.get(word.clone()).unwrap_or_default()))
    }

    fn estimate_tokens(&self) -> u32 {
        self.1.len() as u32
    }
}
