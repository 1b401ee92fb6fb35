//! The part of a file that a model needs to see after an edit that matched nothing.
//!
//! Models often write `oldText` from memory. The content that is really there lets the next call
//! succeed without another call of `read`.

use pi_base::text::cut;

/// Largest file that is shown as a whole, in bytes.
const WHOLE: usize = 2_000;

/// Number of lines around the nearest one.
const AROUND: usize = 6;

/// Longest line that is shown, in characters.
const LINE: usize = 300;

/// Returns the content to show: all of a small file, else the lines around the one that is most
/// like the text that was searched.
pub(super) fn excerpt(path: &str, text: &str, searched: &str) -> Option<String> {
    if text.trim().is_empty() {
        return Some(format!("{path} is empty. Use write to create its content."));
    }
    let lines: Vec<&str> = text.lines().collect();
    let (from, to, which) = if text.len() <= WHOLE {
        (0, lines.len(), "contains".to_owned())
    } else {
        let nearest = nearest(&lines, searched)?;
        let (from, to) = (nearest.saturating_sub(AROUND), lines.len().min(nearest + AROUND + 1));
        (from, to, format!("has in lines {} to {to}", from + 1))
    };
    let shown: Vec<String> =
        lines.get(from..to)?.iter().map(|line| cut(line, LINE).into_owned()).collect();
    let shown = shown.join("\n");
    Some(format!(
        "{path} {which}:\n\n{shown}\n\nCall edit again with oldText copied from this text."
    ))
}

/// Returns the line with the most words of the searched text.
fn nearest(lines: &[&str], searched: &str) -> Option<usize> {
    let wanted: Vec<&str> = words(searched).collect();
    let score = |line: &str| words(line).filter(|word| wanted.contains(word)).count();
    let scored = lines.iter().enumerate().map(|(number, line)| (score(line), number));
    // Of equal lines, the first.
    let (score, number) = scored.max_by_key(|(score, number)| (*score, usize::MAX - number))?;
    (score > 0).then_some(number)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| word.len() > 1).take(200)
}
