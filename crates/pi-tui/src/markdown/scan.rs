//! Cuts a growing text into pieces that are parsed and rendered on their own.
//!
//! A piece is a top-level block: a paragraph, a heading, one item of a list, some lines of a code
//! block. Every complete line is looked at once, and no later line changes where a piece begins.
//! So it does not matter in which portions a text arrives, and a long text costs what its last
//! piece costs.

use std::ops::Range;
use std::rc::Rc;

use super::source_line::{self, Fence, HtmlEnd, Marker};

/// Bytes after which a block that has no end is cut at a line break: paragraphs, which are parsed
/// again with every delta, and blocks that lose their meaning when they are cut.
const PROSE_LIMIT: usize = 16 * 1024;
const BLOCK_LIMIT: usize = 128 * 1024;
/// Bytes after which a line is cut.
const LINE_LIMIT: usize = 32 * 1024;
/// Lines of code in one piece.
const CODE_LINES: usize = 64;

/// A part of the text that is rendered on its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    /// Bytes of the text.
    pub(super) range: Range<usize>,
    /// The kind of the piece.
    pub(super) kind: Kind,
    /// An empty line precedes the piece, unless it is the first one.
    pub(super) has_gap: bool,
}

/// The kind of a piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// Anything that has no kind of its own.
    Prose,
    /// An item of a top-level list with the number that it shows, unless it has a bullet.
    Item(Option<u64>),
    /// A displayed formula.
    Formula,
    /// A definition of a link.
    Definition,
    /// Lines of a fenced code block.
    Code(CodePart),
}

/// Lines of a fenced code block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CodePart {
    /// The opening line of the block.
    pub(super) fence: Rc<Fence>,
    /// The opening line is in this piece.
    pub(super) opens: bool,
    /// The closing line is shown in this piece.
    pub(super) closes: bool,
    /// The closing line is in the text.
    pub(super) is_complete: bool,
    /// The number of the block in the text.
    pub(super) block: usize,
}

#[derive(Debug, Clone)]
enum State {
    /// No block is open.
    Between,
    /// A paragraph, a table or a quote.
    Prose { is_quote: bool, is_table: bool },
    /// A list item whose content begins in this column.
    Item { offset: usize, number: Option<u64> },
    /// Code that is indented.
    Indented,
    /// A block of HTML.
    Html(HtmlEnd),
    /// A displayed formula that this text ends.
    Formula(&'static str),
    /// A fenced code block, and the number of lines in the open piece.
    Code { fence: Rc<Fence>, opens: bool, lines: usize },
}

/// The state between two lines.
#[derive(Debug, Clone)]
pub(super) struct Scanner {
    /// Bytes of the text that were scanned.
    at: usize,
    /// The open piece, without blank lines after it.
    open: Range<usize>,
    state: State,
    has_gap: bool,
    /// A blank line precedes the current line.
    after_blank: bool,
    /// The delimiter of the list that the last piece belongs to, and the next number.
    list: Option<(char, u64)>,
    after_definition: bool,
    code_blocks: usize,
    numbers_as_typed: bool,
}

impl Scanner {
    /// Creates a scanner. Items of ordered lists are counted unless `numbers_as_typed` is set.
    pub(super) fn new(numbers_as_typed: bool) -> Self {
        Self {
            at: 0,
            open: 0..0,
            state: State::Between,
            has_gap: false,
            after_blank: false,
            list: None,
            after_definition: false,
            code_blocks: 0,
            numbers_as_typed,
        }
    }

    /// Scans the lines that are complete and adds the pieces that are.
    pub(super) fn scan(&mut self, text: &str, pieces: &mut Vec<Piece>) {
        while let Some(rest) = text.get(self.at..) {
            // Only the limit is searched, so that a line without an end costs no more per delta.
            let window = rest.len().min(LINE_LIMIT);
            let end = rest.as_bytes().iter().take(window).position(|byte| *byte == b'\n');
            if let Some(end) = end {
                self.line(text, end + 1, pieces);
            } else if rest.len() > LINE_LIMIT {
                self.line(text, cut(rest), pieces);
            } else {
                return;
            }
        }
    }

    /// Returns a scanner that has seen everything up to `end`.
    pub(super) fn after(&self, end: usize) -> Self {
        Self { at: end, has_gap: true, ..Self::new(self.numbers_as_typed) }
    }

    /// Scans what is left, as if the text ended here, and adds the last pieces. With `is_open` the
    /// text may continue: a line that may become the end of a code block is left out.
    pub(super) fn finish(mut self, text: &str, is_open: bool, pieces: &mut Vec<Piece>) {
        let rest = text.get(self.at..).unwrap_or_default();
        let is_hidden = match &self.state {
            State::Code { fence, .. } => is_open && source_line::may_close(fence, rest),
            _ => false,
        };
        if is_hidden {
            let closes = matches!(&self.state, State::Code { fence, .. }
                if source_line::closes(fence, rest));
            self.end_code(closes, pieces);
            return;
        }
        if !rest.is_empty() {
            self.line(text, rest.len(), pieces);
        }
        match &self.state {
            State::Code { .. } => self.end_code(false, pieces),
            _ => self.close(pieces),
        }
    }

    /// Scans a line of this length, its end included.
    fn line(&mut self, text: &str, length: usize, pieces: &mut Vec<Piece>) {
        let range = self.at..self.at + length;
        self.at = range.end;
        let line = text.get(range.clone()).unwrap_or_default();
        let line = line.strip_suffix('\n').unwrap_or(line);
        let line = line.strip_suffix('\r').unwrap_or(line);
        let is_blank = line.trim().is_empty();
        match self.state.clone() {
            State::Code { fence, opens, lines } => {
                self.code_line(&fence, opens, lines + 1, line, range, pieces);
                return;
            }
            State::Html(end) => {
                if end == HtmlEnd::Blank && is_blank {
                    self.close(pieces);
                } else {
                    self.extend(range, pieces);
                    self.end_html(end, line, pieces);
                }
            }
            State::Between if is_blank => {}
            State::Between => self.begin(line, range, pieces),
            State::Prose { .. } | State::Formula(_) if is_blank => self.close(pieces),
            State::Item { .. } | State::Indented if is_blank => {}
            State::Prose { is_quote, is_table } => {
                self.prose_line(is_quote, is_table, line, range, pieces);
            }
            State::Formula(end) => {
                if source_line::fence(line).is_some() {
                    self.begin(line, range, pieces);
                } else {
                    self.extend(range, pieces);
                    if line.trim_end().ends_with(end) {
                        self.close_as(Kind::Formula, pieces);
                    }
                }
            }
            State::Item { offset, .. } => self.item_line(offset, line, range, pieces),
            State::Indented => {
                if source_line::indentation(line).0 >= 4 {
                    self.extend(range, pieces);
                } else {
                    self.begin(line, range, pieces);
                }
            }
        }
        self.after_blank = is_blank;
    }

    fn prose_line(
        &mut self,
        is_quote: bool,
        is_table: bool,
        line: &str,
        range: Range<usize>,
        pieces: &mut Vec<Piece>,
    ) {
        let is_heading = source_line::is_underline(line) && !is_quote && !is_table;
        if is_heading {
            self.extend(range, pieces);
            self.close(pieces);
        } else if (is_quote && source_line::is_quote(line)) || !interrupts(line) {
            if !is_quote && is_delimiter_row(line) {
                self.state = State::Prose { is_quote, is_table: true };
            }
            self.extend(range, pieces);
        } else {
            self.begin(line, range, pieces);
        }
    }

    fn item_line(
        &mut self,
        offset: usize,
        line: &str,
        range: Range<usize>,
        pieces: &mut Vec<Piece>,
    ) {
        let is_inside = source_line::indentation(line).0 >= offset;
        let begins_block =
            self.after_blank || interrupts(line) || source_line::marker(line).is_some();
        if is_inside || !begins_block {
            self.extend(range, pieces);
        } else {
            self.begin(line, range, pieces);
        }
    }

    fn code_line(
        &mut self,
        fence: &Rc<Fence>,
        opens: bool,
        lines: usize,
        line: &str,
        range: Range<usize>,
        pieces: &mut Vec<Piece>,
    ) {
        if source_line::closes(fence, line) {
            self.open.end = range.start;
            self.end_code(true, pieces);
            self.after_blank = false;
            return;
        }
        self.open.end = range.end;
        // A diagram is drawn as a whole.
        let is_whole = fence.language() == "mermaid" && self.open.len() < PROSE_LIMIT;
        if lines < CODE_LINES || is_whole {
            self.state = State::Code { fence: Rc::clone(fence), opens, lines };
            return;
        }
        self.push_code(fence, opens, false, false, pieces);
        self.open = range.end..range.end;
        self.has_gap = false;
        self.state = State::Code { fence: Rc::clone(fence), opens: false, lines: 0 };
    }

    fn end_code(&mut self, is_complete: bool, pieces: &mut Vec<Piece>) {
        if let State::Code { fence, opens, .. } = std::mem::replace(&mut self.state, State::Between)
        {
            self.push_code(&fence, opens, true, is_complete, pieces);
            self.has_gap = true;
        }
    }

    fn push_code(
        &mut self,
        fence: &Rc<Fence>,
        opens: bool,
        closes: bool,
        is_complete: bool,
        pieces: &mut Vec<Piece>,
    ) {
        let fence = Rc::clone(fence);
        let part = CodePart { fence, opens, closes, is_complete, block: self.code_blocks };
        let range = self.open.clone();
        pieces.push(Piece { range, kind: Kind::Code(part), has_gap: self.has_gap });
    }

    /// Closes the open piece and begins one with this line.
    fn begin(&mut self, line: &str, range: Range<usize>, pieces: &mut Vec<Piece>) {
        self.close(pieces);
        self.open = range.clone();
        let (indent, _) = source_line::indentation(line);
        let is_single = source_line::is_heading(line) || source_line::is_rule(line);
        let marker = if is_single { None } else { source_line::marker(line) };
        let definition = source_line::definition(line).is_some();
        if marker.is_none() {
            self.list = None;
        }
        if definition && self.after_definition && !self.after_blank {
            self.has_gap = false;
        }
        self.after_definition = definition;
        if indent >= 4 {
            self.state = State::Indented;
        } else if let Some(fence) = source_line::fence(line) {
            self.code_blocks += 1;
            self.open = range.end..range.end;
            self.state = State::Code { fence: Rc::new(fence), opens: true, lines: 0 };
        } else if let Some(marker) = marker {
            self.begin_item(marker);
        } else if is_single {
            self.close_as(Kind::Prose, pieces);
        } else if let Some(end) = source_line::html(line, false) {
            self.state = State::Html(end);
            self.end_html(end, line, pieces);
        } else if definition {
            self.close_as(Kind::Definition, pieces);
        } else if let Some(end) = formula_end(line) {
            self.state = State::Formula(end);
            if is_formula(line, end) {
                self.close_as(Kind::Formula, pieces);
            }
        } else {
            self.state = State::Prose { is_quote: source_line::is_quote(line), is_table: false };
        }
    }

    fn begin_item(&mut self, marker: Marker) {
        let typed = marker.number;
        let number = match self.list {
            Some((delimiter, next)) if delimiter == marker.delimiter => {
                self.has_gap = self.after_blank;
                if self.numbers_as_typed { typed } else { typed.map(|_| next) }
            }
            _ => typed,
        };
        let next = number.unwrap_or(0).saturating_add(1);
        self.list = Some((marker.delimiter, next));
        self.state = State::Item { offset: marker.offset, number };
    }

    fn end_html(&mut self, end: HtmlEnd, line: &str, pieces: &mut Vec<Piece>) {
        if let HtmlEnd::Text(end) = end
            && line.to_ascii_lowercase().contains(&end.to_ascii_lowercase())
        {
            self.close(pieces);
        }
    }

    /// Adds a line to the open piece, which is cut when it is too long.
    fn extend(&mut self, range: Range<usize>, pieces: &mut Vec<Piece>) {
        self.open.end = range.end;
        let limit = match self.state {
            State::Prose { is_table: false, .. } => PROSE_LIMIT,
            _ => BLOCK_LIMIT,
        };
        if self.open.len() > limit {
            let list = self.list;
            self.close(pieces);
            self.list = list;
            self.has_gap = false;
        }
    }

    fn close(&mut self, pieces: &mut Vec<Piece>) {
        match self.state {
            State::Between => {}
            State::Item { number, .. } => self.close_as(Kind::Item(number), pieces),
            State::Code { .. } => self.end_code(false, pieces),
            _ => self.close_as(Kind::Prose, pieces),
        }
    }

    fn close_as(&mut self, kind: Kind, pieces: &mut Vec<Piece>) {
        pieces.push(Piece { range: self.open.clone(), kind, has_gap: self.has_gap });
        self.state = State::Between;
        self.has_gap = true;
    }
}

/// Returns true if a line begins a block even within a paragraph.
fn interrupts(line: &str) -> bool {
    let is_item = source_line::marker(line)
        .is_some_and(|marker| !marker.is_empty && marker.number.unwrap_or(1) == 1);
    is_item
        || source_line::is_heading(line)
        || source_line::is_rule(line)
        || source_line::is_quote(line)
        || source_line::fence(line).is_some()
        || source_line::html(line, true).is_some()
}

fn is_delimiter_row(line: &str) -> bool {
    let line = line.trim();
    line.contains('|') && line.contains('-') && line.chars().all(|c| "|-: \t".contains(c))
}

/// Returns the text that ends the displayed formula that a line begins.
fn formula_end(line: &str) -> Option<&'static str> {
    let line = line.trim();
    let (content, end) = match line.strip_prefix("$$") {
        Some(content) => (content, "$$"),
        None => (line.strip_prefix("\\[")?, "\\]"),
    };
    match content.find(end) {
        // Text follows the formula: this is a paragraph.
        Some(at) if at + end.len() < content.len() => None,
        _ => Some(end),
    }
}

fn is_formula(line: &str, end: &str) -> bool {
    let line = line.trim();
    line.len() > 2 && line.get(2..).is_some_and(|content| content.ends_with(end))
}

/// Returns the length of the part of a very long line that is taken as a line of its own.
fn cut(line: &str) -> usize {
    let limit = line.floor_char_boundary(LINE_LIMIT);
    let part = line.get(..limit).unwrap_or_default();
    part.rfind(' ').map_or(limit, |space| space + 1).max(1)
}
