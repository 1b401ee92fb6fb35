//! A unified diff as markup with numbered lines, to which comments can be attached.

use pi_session::escaped;
use serde::Serialize;

/// Lines of a file that are shown; the rest of its diff is left out, and the page says so.
const MOST_LINES: usize = 3000;

/// The changes of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct DiffFile {
    /// Path of the file; the new one if it was renamed.
    pub path: String,
    /// `added`, `deleted` or `changed`.
    pub status: &'static str,
    /// Number of added lines.
    pub added: usize,
    /// Number of removed lines.
    pub removed: usize,
    /// Lines as markup.
    #[serde(rename = "hunksHtml")]
    pub html: String,
}

/// A file while its diff is read.
#[derive(Default)]
struct Reading {
    old: Option<String>,
    new: Option<String>,
    added: usize,
    removed: usize,
    lines: usize,
    html: String,
    /// Numbers of the next lines, and how many lines of the hunk are left, before and after.
    numbers: (usize, usize),
    left: (usize, usize),
}

/// Splits a unified diff into its files.
pub fn diff_files(unified: &str) -> Vec<DiffFile> {
    let mut files = Vec::new();
    let mut reading = Reading::default();
    for line in unified.lines() {
        // Inside of a hunk every line is content, also one that looks like a heading.
        if reading.left == (0, 0) && reading.starts_file(line) {
            files.extend(std::mem::take(&mut reading).finish());
        }
        reading.line(line);
    }
    files.extend(reading.finish());
    files
}

impl Reading {
    /// Returns true if a line outside of hunks begins another file.
    fn starts_file(&self, line: &str) -> bool {
        let is_open = self.new.is_some() || self.lines > 0;
        line.starts_with("diff ") || (line.starts_with("--- ") && is_open)
    }

    fn line(&mut self, line: &str) {
        if self.left == (0, 0) {
            return self.heading(line);
        }
        let (kind, text) = match line.split_at_checked(1) {
            Some(("+", text)) => ("add", text),
            Some(("-", text)) => ("del", text),
            Some((" ", text)) => ("", text),
            Some(("\\", _)) => return self.note(line),
            _ => ("", line),
        };
        let (old, new) = self.numbers;
        let is_old = kind != "add";
        let is_new = kind != "del";
        self.numbers = (old + usize::from(is_old), new + usize::from(is_new));
        let (left_old, left_new) = self.left;
        self.left = (
            left_old.saturating_sub(usize::from(is_old)),
            left_new.saturating_sub(usize::from(is_new)),
        );
        self.added += usize::from(kind == "add");
        self.removed += usize::from(kind == "del");
        let number = if is_new { new } else { old };
        let side = if is_new { "new" } else { "old" };
        self.row(kind, side, Some(number), text);
    }

    fn heading(&mut self, line: &str) {
        if let Some(path) = line.strip_prefix("--- ") {
            self.old = Some(name_of(path));
        } else if let Some(path) = line.strip_prefix("+++ ") {
            self.new = Some(name_of(path));
        } else if let Some((old, new)) = hunk(line) {
            (self.numbers, self.left) = ((old.0, new.0), (old.1, new.1));
            self.row("hunk", "", None, line);
        } else if line.starts_with("Binary files") {
            self.note(line);
        }
    }

    fn note(&mut self, text: &str) {
        self.row("remark", "", None, text);
    }

    fn row(&mut self, kind: &str, side: &str, number: Option<usize>, text: &str) {
        self.lines += 1;
        if self.lines > MOST_LINES {
            if self.lines == MOST_LINES + 1 {
                self.html.push_str("<span class=\"line remark\">The rest is not shown.\n</span>");
            }
            return;
        }
        self.html.push_str("<span class=\"line ");
        self.html.push_str(kind);
        if let Some(number) = number {
            self.html.push_str(&format!("\" data-side=\"{side}\" data-line=\"{number}"));
        }
        self.html.push_str("\">");
        if let Some(number) = number {
            let sign = match kind {
                "add" => '+',
                "del" => '−',
                _ => ' ',
            };
            self.html.push_str(&format!("<span class=\"number\">{number}</span>"));
            self.html.push_str(&format!("<span class=\"sign\">{sign}</span>"));
        }
        self.html.push_str("<span class=\"text\">");
        self.html.push_str(&escaped(text));
        self.html.push_str("\n</span></span>");
    }

    fn finish(self) -> Option<DiffFile> {
        let is_missing = |name: &Option<String>| name.as_deref() == Some("/dev/null");
        let (added, deleted) = (is_missing(&self.old), is_missing(&self.new));
        let path = if deleted { self.old } else { self.new.or(self.old) }?;
        let status = match (added, deleted) {
            (true, _) => "added",
            (_, true) => "deleted",
            _ => "changed",
        };
        let html = format!("<pre class=\"diff numbered\" tabindex=\"0\">{}</pre>", self.html);
        Some(DiffFile { path, status, added: self.added, removed: self.removed, html })
    }
}

/// Returns the name of a file in a heading, without the prefix of a side and the time.
fn name_of(heading: &str) -> String {
    let name = heading.split('\t').next().unwrap_or_default().trim_end();
    let side = name.strip_prefix("a/").or_else(|| name.strip_prefix("b/"));
    side.unwrap_or(name).to_owned()
}

/// Reads the heading of a hunk: number of the first line and number of lines, before and after.
fn hunk(line: &str) -> Option<((usize, usize), (usize, usize))> {
    let rest = line.strip_prefix("@@ -")?;
    let (old, rest) = rest.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let range = |text: &str| -> Option<(usize, usize)> {
        match text.split_once(',') {
            Some((start, length)) => Some((start.parse().ok()?, length.parse().ok()?)),
            None => Some((text.parse().ok()?, 1)),
        }
    };
    Some((range(old)?, range(new)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = "--- a/src/a.rs\n+++ b/src/a.rs\n@@ -3,3 +3,3 @@ fn main()\n one\n-two\n\
        +<b>2</b>\n three\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,2 @@\n+--- a\n+x\n";

    #[test]
    fn a_diff_is_split_into_files_with_numbered_lines() {
        let files = diff_files(TWO);
        assert_eq!(files.len(), 2);
        assert_eq!((files[0].path.as_str(), files[0].status), ("src/a.rs", "changed"));
        assert_eq!((files[0].added, files[0].removed), (1, 1));
        assert!(files[0].html.contains("data-side=\"old\" data-line=\"4\""));
        assert!(files[0].html.contains("data-side=\"new\" data-line=\"5\""));
        assert!(files[0].html.contains("&lt;b&gt;2&lt;/b&gt;"));
        // A line that looks like a heading is content inside of a hunk.
        assert_eq!((files[1].path.as_str(), files[1].status), ("new.txt", "added"));
        assert_eq!(files[1].added, 2);
    }

    #[test]
    fn markup_in_names_and_lines_is_escaped() {
        let hostile = "--- a/<img src=x>\n+++ b/<img src=x>\n@@ -1 +1 @@ <script>\n-<i>\n+\"'&\n\
            \\ <u>\n";
        let html: String = diff_files(hostile).into_iter().map(|file| file.html).collect();
        assert!(html.contains("&lt;script&gt;"), "{html}");
        for markup in ["<img", "<script", "<i>", "<u>"] {
            assert!(!html.contains(markup), "{markup} in {html}");
        }
    }

    #[test]
    fn text_that_is_no_diff_has_no_files() {
        for text in ["", "hello\nworld\n", "@@ -1 +1 @@\n-a\n+b\n", "--- \n@@ -9,x +1 @@"] {
            assert!(diff_files(text).len() <= 1, "{text}");
        }
        assert!(diff_files("@@ -99999999999999999999 +1 @@\n").is_empty());
    }
}
