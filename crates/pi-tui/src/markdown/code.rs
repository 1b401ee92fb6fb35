//! Blocks of code: a fence, indented lines, a fence.

use super::Highlighting;
use super::inline;
use super::piece::Context;
use super::source_line::Fence;
use crate::highlight::{self, CodeSpan, Highlighter, Readiness};
use crate::style::Style;
use crate::text;
use crate::text::{Line, LineEnd, Span};
use crate::theme::Token;

/// A block of code, or a part of one.
#[derive(Debug)]
pub(super) struct Code<'a> {
    pub(super) fence: &'a Fence,
    pub(super) text: &'a str,
    pub(super) spans: Option<&'a [Vec<CodeSpan>]>,
    pub(super) opens: bool,
    pub(super) closes: bool,
}

/// Returns the lines of a block.
pub(super) fn lines(code: &Code<'_>, context: &Context<'_>) -> Vec<Line> {
    let border = context.fg(Token::MdCodeBlockBorder);
    let fence: String = std::iter::repeat_n(code.fence.mark, code.fence.length.min(80)).collect();
    let mut lines = Vec::new();
    if code.opens {
        let opening = Line::styled(format!("{fence}{}", code.fence.info), border);
        lines.extend(text::wrap(&opening, context.width));
    }
    let room = context.width.saturating_sub(1);
    let indent = context.options.code_indent.as_str();
    let indent = text::truncate(&Line::plain(indent), room.min(8), "").text();
    let width = context.width.saturating_sub(text::width(&indent)).max(1);
    let plain = context.fg(Token::MdCodeBlock);
    let mut text = code.text;
    let mut spans = code.spans.unwrap_or_default().iter();
    while !text.is_empty() {
        let (line, rest) = text.split_once('\n').unwrap_or((text, ""));
        let is_cut = rest.is_empty() && !text.ends_with('\n') && !code.closes;
        let line = line.strip_suffix('\r').unwrap_or(line);
        let line = match spans.next() {
            Some(spans) => highlighted(spans, context),
            None => Line::styled(inline::without_tabs(outdented(line, code.fence.indent)), plain),
        };
        let end = if is_cut { LineEnd::Joined } else { LineEnd::Hard };
        push_wrapped(&mut lines, &line.with_end(end), width, &indent);
        text = rest;
    }
    if code.closes {
        lines.push(Line::styled(fence, border));
    }
    lines
}

fn highlighted(spans: &[CodeSpan], context: &Context<'_>) -> Line {
    let mut line = Line::new();
    for (token, text) in spans {
        let style = token.map_or(Style::PLAIN, |token| context.fg(token));
        line.push(inline::without_tabs(text), style);
    }
    line
}

fn push_wrapped(lines: &mut Vec<Line>, line: &Line, width: usize, indent: &str) {
    let parts = text::wrap(line, width);
    let count = parts.len();
    for (at, part) in parts.into_iter().enumerate() {
        let end = if at + 1 == count { line.end } else { part.end };
        let mut indented = Line::new().with_end(end);
        if part.width() > 0 {
            indented.push_span(Span::layout(indent, Style::PLAIN));
            indented.append(&part);
        }
        lines.push(indented);
    }
}

/// Removes the columns before a line that its fence has, too.
pub(super) fn outdented(line: &str, columns: usize) -> &str {
    let spaces = line.bytes().take(columns).take_while(|byte| *byte == b' ').count();
    line.get(spaces..).unwrap_or(line)
}

/// Returns a highlighter for a language, if highlighting is on and its grammar is there.
pub(super) fn highlighter(
    language: &str,
    sample: &str,
    mode: Highlighting,
) -> (Option<Highlighter>, Readiness) {
    let readiness = match mode {
        Highlighting::Off => Readiness::Unknown,
        Highlighting::Blocking => Readiness::Ready,
        Highlighting::Background => highlight::prepare(language, sample),
    };
    match readiness {
        Readiness::Ready => (Highlighter::new(language), readiness),
        _ => (None, readiness),
    }
}
