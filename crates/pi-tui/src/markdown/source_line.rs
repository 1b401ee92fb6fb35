//! The role that one line of Markdown can play at the top level of a document.
//!
//! These checks follow CommonMark. They know one line only; which role counts is decided by
//! `scan`.

/// The opening line of a fenced code block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fence {
    /// Number of backticks or tildes.
    pub(super) length: usize,
    /// The character of the fence.
    pub(super) mark: char,
    /// Columns before the fence, which are removed from every line.
    pub(super) indent: usize,
    /// The text after the fence.
    pub(super) info: String,
}

impl Fence {
    /// Returns the language: the first word of the text after the fence.
    pub(super) fn language(&self) -> &str {
        self.info.split([' ', '\t', ',', '{']).next().unwrap_or_default()
    }
}

/// The marker of a list item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Marker {
    /// The bullet, or the character after the number. Items with different ones are in different
    /// lists.
    pub(super) delimiter: char,
    /// The number of an ordered item.
    pub(super) number: Option<u64>,
    /// Columns before the content of the item.
    pub(super) offset: usize,
    /// The item has no text in this line.
    pub(super) is_empty: bool,
}

/// Returns the columns of white space at the start of a line, and the rest.
pub(super) fn indentation(line: &str) -> (usize, &str) {
    let mut columns = 0;
    for (at, c) in line.char_indices() {
        match c {
            ' ' => columns += 1,
            '\t' => columns += 4 - columns % 4,
            _ => return (columns, line.get(at..).unwrap_or_default()),
        }
    }
    (columns, "")
}

/// Returns the fence that a line opens.
pub(super) fn fence(line: &str) -> Option<Fence> {
    let (indent, rest) = indentation(line);
    let mark = rest.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let info = rest.trim_start_matches(mark);
    let length = rest.len() - info.len();
    if indent > 3 || length < 3 || (mark == '`' && info.contains('`')) {
        return None;
    }
    Some(Fence { length, mark, indent, info: info.trim().to_owned() })
}

/// Returns true if a line closes the fence.
pub(super) fn closes(fence: &Fence, line: &str) -> bool {
    let (indent, rest) = indentation(line);
    let after = rest.trim_start_matches(fence.mark);
    indent < 4 && rest.len() - after.len() >= fence.length && after.trim().is_empty()
}

/// Returns true if a line without its end may become the closing line of the fence.
pub(super) fn may_close(fence: &Fence, line: &str) -> bool {
    let (indent, rest) = indentation(line);
    indent < 4 && !rest.is_empty() && rest.trim_start_matches(fence.mark).is_empty()
}

/// Returns true if a line is a heading with `#`.
pub(super) fn is_heading(line: &str) -> bool {
    let (indent, rest) = indentation(line);
    let text = rest.trim_start_matches('#');
    let level = rest.len() - text.len();
    indent < 4 && (1..=6).contains(&level) && (text.is_empty() || text.starts_with([' ', '\t']))
}

/// Returns true if a line is a thematic break.
pub(super) fn is_rule(line: &str) -> bool {
    let (indent, rest) = indentation(line);
    let Some(mark) = rest.chars().next().filter(|mark| matches!(mark, '-' | '*' | '_')) else {
        return false;
    };
    let only_marks = rest.chars().all(|c| c == mark || c == ' ' || c == '\t');
    indent < 4 && only_marks && rest.chars().filter(|c| *c == mark).count() >= 3
}

/// Returns true if a line makes the paragraph above it a heading.
pub(super) fn is_underline(line: &str) -> bool {
    let (indent, rest) = indentation(line);
    let rest = rest.trim_end();
    let is_run = |mark: char| !rest.is_empty() && rest.trim_start_matches(mark).is_empty();
    indent < 4 && (is_run('=') || is_run('-'))
}

/// Returns true if a line begins with a quote mark.
pub(super) fn is_quote(line: &str) -> bool {
    let (indent, rest) = indentation(line);
    indent < 4 && rest.starts_with('>')
}

/// Returns the marker if a line begins a list item.
pub(super) fn marker(line: &str) -> Option<Marker> {
    let (indent, rest) = indentation(line);
    if indent > 3 {
        return None;
    }
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (number, after) = match digits {
        0 => (None, rest),
        1..=9 => (rest.get(..digits)?.parse().ok(), rest.get(digits..)?),
        _ => return None,
    };
    let delimiter = after.chars().next()?;
    let fits = match number {
        None => matches!(delimiter, '-' | '*' | '+'),
        Some(_) => matches!(delimiter, '.' | ')'),
    };
    let content = after.get(1..).filter(|_| fits)?;
    if !content.is_empty() && !content.starts_with([' ', '\t']) {
        return None;
    }
    let (spaces, text) = indentation(content);
    // A fifth space begins an indented code block in the item.
    let spaces = if text.is_empty() || spaces > 4 { 1 } else { spaces };
    let is_empty = text.is_empty();
    Some(Marker { delimiter, number, offset: indent + digits + 1 + spaces, is_empty })
}

/// The end of a block of HTML.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HtmlEnd {
    /// The line with this text ends the block.
    Text(&'static str),
    /// A blank line ends the block.
    Blank,
}

/// The names of tags that begin a block of HTML even within a paragraph.
const BLOCK_TAGS: &[&str] = &[
    "address",
    "article",
    "aside",
    "base",
    "basefont",
    "blockquote",
    "body",
    "caption",
    "center",
    "col",
    "colgroup",
    "dd",
    "details",
    "dialog",
    "dir",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "frame",
    "frameset",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "head",
    "header",
    "hr",
    "html",
    "iframe",
    "legend",
    "li",
    "link",
    "main",
    "menu",
    "menuitem",
    "nav",
    "noframes",
    "ol",
    "optgroup",
    "option",
    "p",
    "param",
    "search",
    "section",
    "summary",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "title",
    "tr",
    "track",
    "ul",
];

/// Returns the end of the block of HTML that a line begins. A single tag of any name is a block
/// only where no paragraph is open.
pub(super) fn html(line: &str, in_paragraph: bool) -> Option<HtmlEnd> {
    let (indent, rest) = indentation(line);
    let after = rest.strip_prefix('<').filter(|_| indent < 4)?;
    let verbatim = [("!--", "-->"), ("?", "?>"), ("![CDATA[", "]]>")];
    if let Some((_, end)) = verbatim.iter().find(|(start, _)| after.starts_with(start)) {
        return Some(HtmlEnd::Text(end));
    }
    if after.strip_prefix('!').is_some_and(|name| name.starts_with(|c: char| c.is_alphabetic())) {
        return Some(HtmlEnd::Text(">"));
    }
    let is_closing = after.starts_with('/');
    let name_on = after.strip_prefix('/').unwrap_or(after);
    let length = name_on.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'-').count();
    let (name, tail) = name_on.split_at_checked(length)?;
    let name = name.to_ascii_lowercase();
    let ends_name = tail.is_empty() || tail.starts_with([' ', '\t', '>']);
    let raw = [("script", "</script>"), ("pre", "</pre>"), ("style", "</style>")];
    if let Some((_, end)) = raw.iter().find(|(tag, _)| *tag == name && ends_name && !is_closing) {
        return Some(HtmlEnd::Text(end));
    }
    if BLOCK_TAGS.contains(&name.as_str()) && (ends_name || tail.starts_with("/>")) {
        return Some(HtmlEnd::Blank);
    }
    let alone = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && (ends_name || tail.starts_with('/'))
        && line.trim_end().ends_with('>')
        && tail.matches('>').count() == 1;
    (alone && !in_paragraph).then_some(HtmlEnd::Blank)
}

/// Returns the label and the address of a link reference definition that is one line.
pub(super) fn definition(line: &str) -> Option<(String, String)> {
    let (indent, rest) = indentation(line);
    let (label, target) = rest.strip_prefix('[').filter(|_| indent < 4)?.split_once("]:")?;
    let label = label.trim();
    if label.is_empty() || label.starts_with('^') || label.contains(['[', ']', '\\']) {
        return None;
    }
    let mut words = target.trim().splitn(2, [' ', '\t']);
    let address = words.next().filter(|address| !address.is_empty())?;
    let address = address.strip_prefix('<').and_then(|a| a.strip_suffix('>')).unwrap_or(address);
    let title = words.next().unwrap_or_default().trim();
    let quoted = title.starts_with(['"', '\'', '(']) && title.ends_with(['"', '\'', ')']);
    (title.is_empty() || quoted).then(|| (fold(label), address.to_owned()))
}

/// Returns a label as labels are compared: without case, with single spaces.
pub(super) fn fold(label: &str) -> String {
    label.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}
