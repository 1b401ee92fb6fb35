//! Markdown as a tree of JSON, for renderers that are not in Rust.
//!
//! The names of blocks and their fields follow those that JavaScript renderers know: `heading`,
//! `paragraph`, `list` and so on, with `space` for the blank lines between blocks.

use std::ops::Range;

use pulldown_cmark::{
    Alignment, CodeBlockKind, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd,
};
use serde_json::{Value, json};

use super::math;

/// Nested elements beyond this depth are shown as text of the element around them.
const MAX_DEPTH: usize = 100;

/// Returns the blocks of a text. `has_math` says that formulas are recognized.
pub fn tree(source: &str, has_math: bool) -> Vec<Value> {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut builder =
        Builder { source, has_math, taken_to: 0, open: vec![Open::new(Kind::Root, 0..0)] };
    for (event, range) in Parser::new_ext(source, options).into_offset_iter() {
        builder.event(event, range);
    }
    builder.finish()
}

/// Returns a formula as Unicode text, or `None` if a part of it is unknown.
pub fn latex(formula: &str, is_display: bool) -> Option<String> {
    let lines = if is_display { math::display(formula) } else { None };
    lines.map(|lines| lines.join("\n")).or_else(|| math::inline(formula))
}

/// An element whose end has not been met.
struct Open {
    kind: Kind,
    range: Range<usize>,
    tokens: Vec<Value>,
    /// The end of the last block in this element.
    last_end: Option<usize>,
}

enum Kind {
    Root,
    Paragraph,
    Heading(u8),
    Quote,
    Code {
        lang: String,
        text: String,
    },
    Html(String),
    List {
        start: Option<u64>,
        is_loose: bool,
    },
    Item {
        task: Option<bool>,
    },
    Table {
        align: Vec<Value>,
        header: Vec<Value>,
        rows: Vec<Value>,
    },
    Row(Vec<Value>),
    Cell,
    Inline(&'static str),
    Link {
        href: String,
        title: String,
        is_image: bool,
    },
    /// A delimiter that has no meaning: it is text.
    Literal(&'static str),
    /// An element that begins in a formula, or is nested too deep.
    Skipped,
}

impl Open {
    fn new(kind: Kind, range: Range<usize>) -> Self {
        Self { kind, range, tokens: Vec::new(), last_end: None }
    }
}

struct Builder<'a> {
    source: &'a str,
    has_math: bool,
    /// The end of the last formula in the source.
    taken_to: usize,
    open: Vec<Open>,
}

impl Builder<'_> {
    fn event(&mut self, event: Event<'_>, range: Range<usize>) {
        let is_taken = range.start < self.taken_to;
        match event {
            Event::Start(tag) => {
                let is_block = is_block(&tag);
                let kind = if (is_taken && !is_block) || self.open.len() > MAX_DEPTH {
                    Kind::Skipped
                } else {
                    self.kind(tag, &range)
                };
                if is_block {
                    self.begin_block(range.start);
                }
                self.open.push(Open::new(kind, range));
            }
            Event::End(tag) => self.end(tag),
            Event::Rule => {
                self.begin_block(range.start);
                self.push(json!({ "type": "hr" }));
                self.end_block(range.end);
            }
            Event::TaskListMarker(is_done) => {
                if let Some(Open { kind: Kind::Item { task }, .. }) = self.item() {
                    *task = Some(is_done);
                }
            }
            Event::Html(html) if matches!(self.last().kind, Kind::Html(_)) => {
                if let Kind::Html(block) = &mut self.last().kind {
                    block.push_str(&html);
                }
            }
            Event::Text(text) => match &mut self.last().kind {
                Kind::Code { text: code, .. } => code.push_str(&text),
                _ => self.text(&text, &range),
            },
            _ if is_taken => {}
            Event::Code(code) => self.push(json!({ "type": "codespan", "text": &*code })),
            Event::SoftBreak => self.push_text("\n"),
            Event::HardBreak => self.push(json!({ "type": "br" })),
            Event::Html(html) | Event::InlineHtml(html) => {
                self.push(json!({ "type": "html", "raw": &*html, "text": &*html }));
            }
            _ => {}
        }
    }

    fn kind(&self, tag: Tag<'_>, range: &Range<usize>) -> Kind {
        match tag {
            Tag::Heading { level, .. } => Kind::Heading(depth(level)),
            Tag::BlockQuote(_) => Kind::Quote,
            Tag::CodeBlock(kind) => {
                let lang = match kind {
                    CodeBlockKind::Fenced(info) => info.trim().to_owned(),
                    CodeBlockKind::Indented => String::new(),
                };
                Kind::Code { lang, text: String::new() }
            }
            Tag::HtmlBlock => Kind::Html(String::new()),
            Tag::List(start) => Kind::List { start, is_loose: false },
            Tag::Item => Kind::Item { task: None },
            Tag::Table(alignments) => {
                let align = alignments.iter().map(|alignment| align(*alignment)).collect();
                Kind::Table { align, header: Vec::new(), rows: Vec::new() }
            }
            Tag::TableHead | Tag::TableRow => Kind::Row(Vec::new()),
            Tag::TableCell => Kind::Cell,
            Tag::Emphasis => Kind::Inline("em"),
            Tag::Strong => Kind::Inline("strong"),
            Tag::Strikethrough => {
                let text = self.source.get(range.clone()).unwrap_or_default();
                if text.starts_with("~~") { Kind::Inline("del") } else { Kind::Literal("~") }
            }
            Tag::Link { dest_url, title, link_type, .. } => {
                let href = match link_type {
                    LinkType::Email => format!("mailto:{dest_url}"),
                    _ => dest_url.into_string(),
                };
                Kind::Link { href, title: title.into_string(), is_image: false }
            }
            Tag::Image { dest_url, title, .. } => Kind::Link {
                href: dest_url.into_string(),
                title: title.into_string(),
                is_image: true,
            },
            _ => Kind::Paragraph,
        }
    }

    fn end(&mut self, tag: TagEnd) {
        if self.open.len() < 2 {
            return;
        }
        self.close_text();
        let Some(Open { kind, range, tokens, .. }) = self.open.pop() else { return };
        let raw = self.source.get(range.clone()).unwrap_or_default();
        let raw = raw.trim_end_matches('\n');
        let token = match kind {
            Kind::Root => return,
            Kind::Skipped | Kind::Literal(_) => {
                let mark = if let Kind::Literal(mark) = kind { mark } else { "" };
                self.push_text(mark);
                for token in tokens {
                    match text_of(&token) {
                        Some(text) => self.push_text(text),
                        None => self.push(token),
                    }
                }
                self.push_text(mark);
                return;
            }
            Kind::Inline(name) => json!({ "type": name, "raw": raw, "tokens": tokens }),
            Kind::Link { href, title, is_image } => {
                let name = if is_image { "image" } else { "link" };
                let text = plain(&tokens);
                let title = (!title.is_empty()).then_some(title);
                json!({ "type": name, "raw": raw, "href": href, "title": title, "text": text, "tokens": tokens })
            }
            Kind::Cell => {
                if let Some(Open { kind: Kind::Row(cells), .. }) = self.open.last_mut() {
                    cells.push(json!({ "text": raw.trim(), "tokens": tokens }));
                }
                return;
            }
            Kind::Row(cells) => {
                if let Some(Open { kind: Kind::Table { header, rows, .. }, .. }) =
                    self.open.last_mut()
                {
                    if tag == TagEnd::TableHead {
                        *header = cells;
                    } else {
                        rows.push(Value::Array(cells));
                    }
                }
                return;
            }
            Kind::Paragraph => {
                let in_item = matches!(self.last().kind, Kind::Item { .. });
                if in_item && let Some(list) = self.list() {
                    *list = true;
                }
                // The text of an item has no blank lines of its own around it.
                let name = if in_item { "text" } else { "paragraph" };
                json!({ "type": name, "raw": raw, "text": raw, "tokens": tokens })
            }
            Kind::Heading(depth) => {
                json!({ "type": "heading", "raw": raw, "depth": depth, "text": plain(&tokens), "tokens": tokens })
            }
            Kind::Quote => json!({ "type": "blockquote", "raw": raw, "tokens": tokens }),
            Kind::Code { lang, text } => {
                let text = text.strip_suffix('\n').unwrap_or(&text);
                json!({ "type": "code", "raw": raw, "lang": lang, "text": text })
            }
            Kind::Html(html) => json!({ "type": "html", "raw": html, "text": html, "block": true }),
            Kind::Item { task } => {
                json!({ "type": "list_item", "raw": raw, "task": task.is_some(), "checked": task, "tokens": tokens })
            }
            Kind::List { start, is_loose } => json!({
                "type": "list", "raw": raw, "ordered": start.is_some(), "start": start,
                "loose": is_loose, "items": tokens,
            }),
            Kind::Table { align, header, rows } => {
                json!({ "type": "table", "raw": raw, "align": align, "header": header, "rows": rows })
            }
        };
        self.push(token);
        if is_block_end(tag) {
            self.end_block(range.end);
        }
    }

    /// Adds the blank lines before a block.
    fn begin_block(&mut self, start: usize) {
        self.close_text();
        let source = self.source;
        let last = self.last();
        if matches!(last.kind, Kind::List { .. } | Kind::Table { .. } | Kind::Row(_)) {
            return;
        }
        let Some(from) = last.last_end else { return };
        for _ in 0..blank_runs(source.get(from..start).unwrap_or_default()) {
            last.tokens.push(json!({ "type": "space" }));
        }
    }

    fn end_block(&mut self, end: usize) {
        // Lines of quote marks at the end of a block belong to the gap after it.
        let block = self.source.get(..end).unwrap_or_default();
        let end = block.trim_end_matches(|c: char| c.is_whitespace() || c == '>').len();
        self.last().last_end = Some(end);
    }

    /// Makes a block of the text that stands in an item without a paragraph.
    fn close_text(&mut self) {
        let Some(item) = self.open.last_mut() else { return };
        if !matches!(item.kind, Kind::Item { .. }) {
            return;
        }
        let is_inline = |token: &Value| {
            let kind = token.get("type").and_then(Value::as_str).unwrap_or_default();
            let is_text_block = kind == "text" && token.get("tokens").is_some();
            !is_text_block && INLINE.contains(&kind) && token.get("block").is_none()
        };
        let start = item.tokens.iter().rposition(|token| !is_inline(token)).map_or(0, |at| at + 1);
        let tokens: Vec<Value> = item.tokens.drain(start..).collect();
        if !tokens.is_empty() {
            item.tokens.push(json!({ "type": "text", "tokens": tokens }));
        }
    }

    fn text(&mut self, text: &str, range: &Range<usize>) {
        let source = self.source;
        let slice = source.get(range.clone()).unwrap_or_default();
        if slice != text {
            // An entity stays as it was typed.
            if range.start >= self.taken_to {
                self.push_text(if slice.starts_with('&') { slice } else { text });
            }
            return;
        }
        let mut at = range.start.max(self.taken_to);
        let is_link = self.open.iter().any(|open| matches!(open.kind, Kind::Link { .. }));
        while self.has_math
            && !is_link
            && let Some(found) = math::find(source, at, range.end, at == range.start)
        {
            self.push_plain(at..found.start, at == range.start);
            self.formula(&found);
            at = found.end;
            self.taken_to = found.end;
        }
        if at < range.end {
            self.push_plain(at..range.end, at == range.start);
        }
    }

    fn formula(&mut self, found: &math::Found<'_>) {
        let last = self.last();
        let stands_alone =
            matches!(last.kind, Kind::Paragraph) && last.tokens.last().is_none_or(ends_line);
        let text = latex(found.content, found.is_display && stands_alone);
        let text = text.unwrap_or_else(|| found.source.to_owned());
        self.push(json!({ "type": "math", "raw": found.source, "text": text }));
    }

    /// Adds a part of the source. A backslash before it escapes its first character.
    fn push_plain(&mut self, range: Range<usize>, is_start: bool) {
        let source = self.source;
        let Some(text) = source.get(range.clone()) else { return };
        let in_cell = matches!(self.last().kind, Kind::Cell);
        let is_escaped = is_start
            && !in_cell
            && source.get(..range.start).is_some_and(|before| before.ends_with('\\'))
            && text.starts_with(|first: char| first.is_ascii_punctuation());
        if !is_escaped {
            self.push_text(text);
            return;
        }
        let (first, rest) = text.split_at(1);
        self.push(json!({ "type": "escape", "raw": format!("\\{first}"), "text": first }));
        self.push_text(rest);
    }

    fn push_text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        let tokens = &mut self.last().tokens;
        // Neighbors are one text, in which addresses are found as a whole.
        if let Some(last) = tokens.last_mut()
            && text_of(last).is_some()
        {
            for field in ["raw", "text"] {
                if let Some(Value::String(known)) = last.get_mut(field) {
                    known.push_str(text);
                }
            }
            return;
        }
        tokens.push(json!({ "type": "text", "raw": text, "text": text }));
    }

    fn push(&mut self, token: Value) {
        self.last().tokens.push(token);
    }

    fn last(&mut self) -> &mut Open {
        // The root is never removed.
        let last = self.open.len() - 1;
        &mut self.open[last]
    }

    fn item(&mut self) -> Option<&mut Open> {
        self.open.iter_mut().rev().find(|open| matches!(open.kind, Kind::Item { .. }))
    }

    /// Returns the mark of the innermost list that has blank lines.
    fn list(&mut self) -> Option<&mut bool> {
        self.open.iter_mut().rev().find_map(|open| match &mut open.kind {
            Kind::List { is_loose, .. } => Some(is_loose),
            _ => None,
        })
    }

    fn finish(mut self) -> Vec<Value> {
        let source = self.source;
        let root = self.last();
        if let Some(end) = root.last_end {
            for _ in 0..blank_runs(source.get(end..).unwrap_or_default()) {
                root.tokens.push(json!({ "type": "space" }));
            }
        }
        std::mem::take(&mut root.tokens)
    }
}

/// The types of inline elements.
const INLINE: &[&str] =
    &["text", "escape", "strong", "em", "del", "codespan", "br", "link", "image", "html", "math"];

/// Returns the number of places with one or more blank lines. Quote marks are blank.
fn blank_runs(gap: &str) -> usize {
    let is_blank = |line: &str| line.chars().all(|c| c.is_whitespace() || c == '>');
    let lines: Vec<&str> = gap.split('\n').collect();
    // The first and the last piece belong to the blocks around the gap.
    let Some(inner) = lines.get(1..lines.len().saturating_sub(1)) else { return 0 };
    let starts = (0..inner.len()).filter(|at| {
        let blank_at = |at: usize| inner.get(at).is_some_and(|line| is_blank(line));
        blank_at(*at) && (*at == 0 || !blank_at(at - 1))
    });
    starts.count()
}

/// Returns the text of an inline text.
fn text_of(token: &Value) -> Option<&str> {
    let is_text = token.get("type").and_then(Value::as_str) == Some("text");
    let is_inline = token.get("tokens").is_none();
    if is_text && is_inline { token.get("text").and_then(Value::as_str) } else { None }
}

fn ends_line(token: &Value) -> bool {
    let kind = token.get("type").and_then(Value::as_str);
    let text = token.get("text").and_then(Value::as_str);
    kind == Some("br") || text.is_some_and(|text| text.ends_with('\n'))
}

/// Returns the text of inline elements.
fn plain(tokens: &[Value]) -> String {
    let texts = tokens.iter().map(|token| match token.get("tokens") {
        Some(Value::Array(inner)) => plain(inner),
        _ => token.get("text").and_then(Value::as_str).unwrap_or_default().to_owned(),
    });
    texts.collect()
}

fn depth(level: HeadingLevel) -> u8 {
    level as u8
}

fn align(alignment: Alignment) -> Value {
    match alignment {
        Alignment::None => Value::Null,
        Alignment::Left => "left".into(),
        Alignment::Center => "center".into(),
        Alignment::Right => "right".into(),
    }
}

fn is_block(tag: &Tag<'_>) -> bool {
    use Tag::{Emphasis, Image, Link, Strikethrough, Strong, TableCell};
    !matches!(tag, Emphasis | Strong | Strikethrough | Link { .. } | Image { .. } | TableCell)
}

fn is_block_end(tag: TagEnd) -> bool {
    use TagEnd::{Emphasis, Image, Link, Strikethrough, Strong, TableCell};
    !matches!(tag, Emphasis | Strong | Strikethrough | Link | Image | TableCell)
}
