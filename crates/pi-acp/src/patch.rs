//! Changes of files as text in the format of `git diff`, with absolute paths and without the
//! prefixes `a/` and `b/`, as version 2 requires it. Pure.

use std::fmt::Write as _;

use imara_diff::{Algorithm, Hunk, InternedInput};

/// Unchanged lines around a change.
const CONTEXT: u32 = 3;

/// Returns the patch that creates a file.
pub(crate) fn addition(path: &str, content: &str) -> String {
    let path = quoted(path);
    let end = tab(&path);
    let mut patch = format!("diff --git {path} {path}\nnew file mode 100644\n");
    let lines = content.split_inclusive('\n').count();
    // Git writes no names for a file without lines.
    if lines > 0 {
        let _ = write!(patch, "--- /dev/null\n+++ {path}{end}\n@@ -0,0 +1,{lines} @@\n");
        content.split_inclusive('\n').for_each(|line| push_line(&mut patch, '+', line));
    }
    patch
}

/// Returns the patch that changes a file.
pub(crate) fn modification(path: &str, hunks: &str) -> String {
    let path = quoted(path);
    let end = tab(&path);
    format!("diff --git {path} {path}\n--- {path}{end}\n+++ {path}{end}\n{hunks}")
}

/// Returns the hunks that turn one text into another; `None` if the texts are equal.
pub(crate) fn hunks(old: &str, new: &str) -> Option<String> {
    let input = InternedInput::new(old, new);
    let mut difference = imara_diff::Diff::compute(Algorithm::Histogram, &input);
    difference.postprocess_lines(&input);
    let changes: Vec<Hunk> = difference.hunks().collect();
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    let mut text = String::new();
    let near = |one: &Hunk, next: &Hunk| next.before.start - one.before.end <= 2 * CONTEXT;
    for block in changes.chunk_by(near) {
        write_block(&mut text, block, &old, &new);
    }
    (!text.is_empty()).then_some(text)
}

fn write_block(text: &mut String, block: &[Hunk], old: &[&str], new: &[&str]) {
    let (Some(first), Some(last)) = (block.first(), block.last()) else { return };
    let before = first.before.start.min(CONTEXT);
    let length = u32::try_from(old.len()).unwrap_or(u32::MAX);
    let after = length.saturating_sub(last.before.end).min(CONTEXT);
    let span = |start: u32, end: u32| {
        // An empty range starts at the line before it.
        format!("{},{}", start + u32::from(end > start), end - start)
    };
    let old_span = span(first.before.start - before, last.before.end + after);
    let new_span = span(first.after.start - before, last.after.end + after);
    // Writing to a string cannot fail.
    let _ = writeln!(text, "@@ -{old_span} +{new_span} @@");
    let mut write = |sign: char, lines: &[&str], from: u32, to: u32| {
        let lines = lines.get(from as usize..to as usize).unwrap_or_default();
        lines.iter().for_each(|line| push_line(text, sign, line));
    };
    let mut at = first.before.start - before;
    for change in block {
        write(' ', old, at, change.before.start);
        write('-', old, change.before.start, change.before.end);
        write('+', new, change.after.start, change.after.end);
        at = change.before.end;
    }
    write(' ', old, at, last.before.end + after);
}

fn push_line(text: &mut String, sign: char, line: &str) {
    text.push(sign);
    text.push_str(line);
    if !line.ends_with('\n') {
        text.push_str("\n\\ No newline at end of file\n");
    }
}

/// Returns a path as Git writes it: in quotes if it has unusual characters.
fn quoted(path: &str) -> String {
    let is_unusual = |byte: u8| !(b' '..0x7f).contains(&byte) || byte == b'"' || byte == b'\\';
    if !path.bytes().any(is_unusual) {
        return path.to_owned();
    }
    let mut quoted = String::from("\"");
    for byte in path.bytes() {
        match byte {
            b'"' => quoted.push_str("\\\""),
            b'\\' => quoted.push_str("\\\\"),
            b'\n' => quoted.push_str("\\n"),
            b'\t' => quoted.push_str("\\t"),
            b'\r' => quoted.push_str("\\r"),
            byte if is_unusual(byte) => {
                let _ = write!(quoted, "\\{byte:03o}");
            }
            byte => quoted.push(char::from(byte)),
        }
    }
    quoted.push('"');
    quoted
}

/// Returns what Git puts behind a name with spaces that has no quotes.
fn tab(path: &str) -> &'static str {
    if path.contains(' ') && !path.starts_with('"') { "\t" } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hunks_turn_one_text_into_the_other() {
        let cases = [
            ("a\n", "a\n", None),
            ("a\nb\n", "a\nc\n", Some("@@ -1,2 +1,2 @@\n a\n-b\n+c\n")),
            ("", "a", Some("@@ -0,0 +1,1 @@\n+a\n\\ No newline at end of file\n")),
            ("a\n", "", Some("@@ -1,1 +0,0 @@\n-a\n")),
            (
                "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n",
                "1\nx\n3\n4\n5\n6\n7\n8\n9\n10\n11\n",
                Some(
                    "@@ -1,5 +1,5 @@\n 1\n-2\n+x\n 3\n 4\n 5\n\
                     @@ -9,4 +9,3 @@\n 9\n 10\n 11\n-12\n",
                ),
            ),
        ];
        for (old, new, expected) in cases {
            assert_eq!(hunks(old, new).as_deref(), expected, "{old:?} {new:?}");
        }
    }

    #[test]
    fn paths_are_absolute_and_quoted_as_git_does() {
        let patch = addition("/p/a b.rs", "x\n");
        let expected = "diff --git /p/a b.rs /p/a b.rs\nnew file mode 100644\n--- /dev/null\n\
                        +++ /p/a b.rs\t\n@@ -0,0 +1,1 @@\n+x\n";
        assert_eq!(patch, expected);
        let patch = modification("/p/ä\".rs", "@@ -1,1 +1,1 @@\n-a\n+b\n");
        let path = "\"/p/\\303\\244\\\".rs\"";
        let expected =
            format!("diff --git {path} {path}\n--- {path}\n+++ {path}\n@@ -1,1 +1,1 @@\n-a\n+b\n");
        assert_eq!(patch, expected);
    }
}
