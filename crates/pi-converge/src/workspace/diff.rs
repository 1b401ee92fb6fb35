//! The difference between two contents of a file, as `git apply` reads it. Pure.

use std::ops::Range;

use imara_diff::{Algorithm, Diff, Hunk, InternedInput, sources::byte_lines};

/// Unchanged lines around a change.
const CONTEXT: u32 = 3;

/// Bytes of a line that count as a line of a diff, so that no change hides in one long line or in a
/// content that is not text.
const LINE: usize = 1000;
/// Lines that a content counts for which is too large to be stored.
const TOO_LARGE: usize = 16_000;

/// One side of a change: a file with a stored content, a link, or nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Side {
    /// The path does not exist.
    Missing,
    /// A regular file. The content is absent if it was too large to be stored.
    File {
        /// The content.
        content: Option<Vec<u8>>,
        /// True if the file can be executed.
        executable: bool,
    },
    /// A symbolic link with its target.
    Link(Vec<u8>),
}

/// The difference of one file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FileDiff {
    /// The text for a patch; empty if it cannot express the change.
    pub(super) text: Vec<u8>,
    /// Added lines.
    pub(super) added: u64,
    /// Removed lines.
    pub(super) removed: u64,
    /// Lines for which the change counts in addition, because of long lines or contents that are not
    /// text.
    pub(super) surplus: u64,
    /// True if the content is not text or was not stored, so that the text only names the file.
    pub(super) is_opaque: bool,
}

impl Side {
    fn mode(&self) -> Option<&'static str> {
        match self {
            Self::Missing => None,
            Self::File { executable: true, .. } => Some("100755"),
            Self::File { executable: false, .. } => Some("100644"),
            Self::Link(_) => Some("120000"),
        }
    }

    fn content(&self) -> Option<&[u8]> {
        match self {
            Self::Missing => Some(&[]),
            Self::File { content, .. } => content.as_deref(),
            Self::Link(target) => Some(target),
        }
    }
}

/// Returns the difference of a file. The path has the form of
/// [`Change::path`](pi_tools::checkpoint::Change).
pub(super) fn diff_file(path: &str, old: &Side, new: &Side) -> FileDiff {
    // Git has no patch that turns a file into a link: it is a removal and an addition.
    let is_link = |side: &Side| matches!(side, Side::Link(_));
    let is_other_kind =
        old.mode().is_some() && new.mode().is_some() && is_link(old) != is_link(new);
    if is_other_kind {
        let mut removal = diff_file(path, old, &Side::Missing);
        let addition = diff_file(path, &Side::Missing, new);
        removal.text.extend(addition.text);
        removal.added = addition.added;
        removal.surplus += addition.surplus;
        removal.is_opaque |= addition.is_opaque;
        return removal;
    }
    let mut text = header(path, old, new);
    let contents = old.content().zip(new.content());
    let Some((before, after)) = contents.filter(|(old, new)| is_text(old) && is_text(new)) else {
        let (a, b) = (quoted("a/", path), quoted("b/", path));
        text.extend(
            [b"Binary files ", a.as_bytes(), b" and ", b.as_bytes(), b" differ\n"].concat(),
        );
        let size = |side: &Side| side.content().map_or(TOO_LARGE, |content| content.len() / LINE);
        let surplus = (size(old).max(size(new)) + 1) as u64;
        return FileDiff { text, surplus, is_opaque: true, ..FileDiff::default() };
    };
    let Hunks { text: hunks, added, removed, surplus } = hunks(before, after);
    if !hunks.is_empty() {
        let name = |side: &Side, prefix| match side {
            Side::Missing => "/dev/null".to_owned(),
            _ => quoted(prefix, path),
        };
        text.extend(format!("--- {}\n+++ {}\n", name(old, "a/"), name(new, "b/")).into_bytes());
        text.extend(hunks);
    }
    FileDiff { text, added, removed, surplus, is_opaque: false }
}

fn header(path: &str, old: &Side, new: &Side) -> Vec<u8> {
    let mut text = format!("diff --git {} {}\n", quoted("a/", path), quoted("b/", path));
    match (old.mode(), new.mode()) {
        (None, Some(mode)) => text.push_str(&format!("new file mode {mode}\n")),
        (Some(mode), None) => text.push_str(&format!("deleted file mode {mode}\n")),
        (Some(old), Some(new)) if old != new => {
            text.push_str(&format!("old mode {old}\nnew mode {new}\n"));
        }
        _ => {}
    }
    text.into_bytes()
}

/// Returns true for a content that git treats as text.
pub(super) fn is_text(content: &[u8]) -> bool {
    !content.iter().take(8000).any(|byte| *byte == 0)
}

struct Hunks {
    text: Vec<u8>,
    added: u64,
    removed: u64,
    surplus: u64,
}

fn hunks(old: &[u8], new: &[u8]) -> Hunks {
    let input = InternedInput::new(byte_lines(old), byte_lines(new));
    let mut difference = Diff::compute(Algorithm::Histogram, &input);
    difference.postprocess_lines(&input);
    let changes: Vec<Hunk> = difference.hunks().collect();
    let old: Vec<&[u8]> = old.split_inclusive(|byte| *byte == b'\n').collect();
    let new: Vec<&[u8]> = new.split_inclusive(|byte| *byte == b'\n').collect();
    let mut text = Vec::new();
    for group in changes.chunk_by(|one, next| next.before.start - one.before.end <= 2 * CONTEXT) {
        write_group(&mut text, group, &old, &new);
    }
    let long = |lines: &[&[u8]], range: &Range<u32>| -> usize {
        let lines = lines.get(range.start as usize..range.end as usize).unwrap_or_default();
        lines.iter().map(|line| line.len() / LINE).sum()
    };
    let surplus = changes.iter().map(|hunk| long(&old, &hunk.before) + long(&new, &hunk.after));
    Hunks {
        text,
        added: u64::from(difference.count_additions()),
        removed: u64::from(difference.count_removals()),
        surplus: surplus.sum::<usize>() as u64,
    }
}

/// Writes changes that share their context.
fn write_group(text: &mut Vec<u8>, group: &[Hunk], old: &[&[u8]], new: &[&[u8]]) {
    let (Some(first), Some(last)) = (group.first(), group.last()) else { return };
    let before = first.before.start.min(CONTEXT);
    let after = (old.len() as u32).saturating_sub(last.before.end).min(CONTEXT);
    let old_lines = first.before.start - before..last.before.end + after;
    let new_lines = first.after.start - before..last.after.end + after;
    text.extend(format!("@@ -{} +{} @@\n", span(&old_lines), span(&new_lines)).into_bytes());
    let mut at = old_lines.start;
    for change in group {
        write_lines(text, b' ', old, at..change.before.start);
        write_lines(text, b'-', old, change.before.clone());
        write_lines(text, b'+', new, change.after.clone());
        at = change.before.end;
    }
    write_lines(text, b' ', old, at..old_lines.end);
}

fn write_lines(text: &mut Vec<u8>, sign: u8, lines: &[&[u8]], range: Range<u32>) {
    for line in lines.get(range.start as usize..range.end as usize).unwrap_or_default() {
        text.push(sign);
        text.extend_from_slice(line);
        if !line.ends_with(b"\n") {
            text.extend_from_slice(b"\n\\ No newline at end of file\n");
        }
    }
}

/// Formats the first line and the number of lines. An empty range starts at the line before it.
fn span(lines: &Range<u32>) -> String {
    format!("{},{}", lines.start + u32::from(!lines.is_empty()), lines.len())
}

/// Writes a path as git does: in quotes if it has characters that a header cannot contain.
fn quoted(prefix: &str, path: &str) -> String {
    let is_plain = |c: char| !c.is_control() && c != '"' && c != '\\';
    if path.chars().all(is_plain) {
        return format!("{prefix}{path}");
    }
    let mut text = format!("\"{prefix}");
    let mut characters = path.chars();
    while let Some(c) = characters.next() {
        match c {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            // A byte that is not UTF-8, as checkpoints write it.
            '\0' => {
                let digits: String = characters.by_ref().take(2).collect();
                let byte = u8::from_str_radix(&digits, 16).unwrap_or(b'?');
                text.push_str(&format!("\\{byte:03o}"));
            }
            c if c.is_control() => {
                let mut bytes = [0; 4];
                for byte in c.encode_utf8(&mut bytes).bytes() {
                    text.push_str(&format!("\\{byte:03o}"));
                }
            }
            c => text.push(c),
        }
    }
    text.push('"');
    text
}
