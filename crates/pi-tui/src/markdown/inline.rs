//! The text of a paragraph, a heading or a table cell: emphasis, code, links, formulas.

use std::borrow::Cow;
use std::ops::Range;
use std::rc::Rc;

use pulldown_cmark::{Event, LinkType, Tag};

use super::address;
use super::math;
use super::piece::Context;
use crate::style::{Attributes, Style};
use crate::text::{Line, Span};
use crate::theme::Token;

/// Inline events with their places in the source.
pub(super) type Run<'a> = Vec<(Event<'a>, Range<usize>)>;

/// A part of a paragraph.
#[derive(Debug, Clone)]
pub(super) enum Flow {
    /// A line of text, which is wrapped.
    Text(Line),
    /// A displayed formula; `source` is shown where it does not fit.
    Formula { drawn: Vec<Line>, source: Vec<Line> },
}

/// Returns the lines of a run, in the style `base`.
pub(super) fn flows(run: &Run<'_>, source: &str, base: Style, context: &Context<'_>) -> Vec<Flow> {
    let end = run.last().map_or(0, |(_, range)| range.end);
    let source = source.get(..end).unwrap_or_default();
    let mut builder = Builder {
        context,
        source,
        base,
        style: base,
        link: None,
        frames: Vec::new(),
        text: String::new(),
        line: Line::new(),
        flows: Vec::new(),
        taken_to: 0,
    };
    for (event, range) in run {
        builder.event(event, range);
    }
    builder.end_line();
    builder.flows
}

/// Returns the lines of a run as one line, for a table cell.
pub(super) fn single_line(run: &Run<'_>, source: &str, base: Style, context: &Context<'_>) -> Line {
    let mut whole = Line::new();
    for flow in flows(run, source, base, context) {
        let lines = match flow {
            Flow::Text(line) => vec![line],
            Flow::Formula { source, .. } => source,
        };
        for line in lines {
            if whole.width() > 0 {
                whole.push(" ", base);
            }
            whole.append(&line);
        }
    }
    whole
}

/// Returns a line of literal text in which addresses are links.
pub(super) fn literal(text: &str, style: Style, context: &Context<'_>) -> Line {
    let mut line = Line::new();
    push_linked(&mut line, &without_tabs(text), style, context);
    line
}

/// Replaces tabs, which a line must not contain.
pub(super) fn without_tabs(text: &str) -> String {
    text.replace('\t', "   ")
}

/// What has to be undone at the end of an inline element.
enum Frame {
    Style(Style),
    Link {
        style: Style,
        address: Rc<str>,
        text: String,
    },
    /// An element that is not one here: its delimiter is text.
    Literal(&'static str),
    /// An element that begins in a formula.
    Skipped,
}

struct Builder<'a> {
    context: &'a Context<'a>,
    source: &'a str,
    base: Style,
    style: Style,
    link: Option<Rc<str>>,
    frames: Vec<Frame>,
    /// Text that has not been added to the line yet: addresses are found in it as a whole.
    text: String,
    line: Line,
    flows: Vec<Flow>,
    /// The end of the last formula in the source.
    taken_to: usize,
}

impl Builder<'_> {
    fn event(&mut self, event: &Event<'_>, range: &Range<usize>) {
        let is_taken = range.start < self.taken_to;
        match event {
            Event::Start(_) if is_taken => self.frames.push(Frame::Skipped),
            Event::Start(tag) => self.start(tag, range),
            Event::End(_) => self.end(),
            Event::Text(text) => self.text_event(text, range),
            _ if is_taken => {}
            Event::Code(code) => {
                let style = self.context.fg(Token::MdCode).over(self.style);
                self.styled(code, style);
            }
            Event::SoftBreak | Event::HardBreak => self.end_line(),
            Event::Html(html) | Event::InlineHtml(html) => self.push_text(html),
            Event::InlineMath(text) | Event::DisplayMath(text) => self.push_text(text),
            Event::FootnoteReference(label) => self.push_text(&format!("[^{label}]")),
            Event::TaskListMarker(_) | Event::Rule => {}
        }
    }

    fn start(&mut self, tag: &Tag<'_>, range: &Range<usize>) {
        let with = |attributes| self.style.with(attributes);
        let style = match tag {
            Tag::Emphasis => with(Attributes::ITALIC),
            Tag::Strong => with(Attributes::BOLD),
            Tag::Strikethrough => {
                if !self.source.get(range.clone()).is_some_and(|text| text.starts_with("~~")) {
                    self.push_text("~");
                    self.frames.push(Frame::Literal("~"));
                    return;
                }
                with(Attributes::STRIKE)
            }
            Tag::Link { dest_url, link_type, .. } | Tag::Image { dest_url, link_type, .. } => {
                self.flush();
                let address: Rc<str> = match link_type {
                    LinkType::Email => Rc::from(format!("mailto:{dest_url}")),
                    _ => Rc::from(&**dest_url),
                };
                let frame = Frame::Link {
                    style: self.style,
                    address: Rc::clone(&address),
                    text: String::new(),
                };
                self.frames.push(frame);
                self.style = self.context.fg(Token::MdLink).over(self.style).underline();
                self.link = Some(address);
                return;
            }
            _ => self.style,
        };
        self.flush();
        self.frames.push(Frame::Style(self.style));
        self.style = style;
    }

    fn end(&mut self) {
        match self.frames.pop() {
            None | Some(Frame::Skipped) => {}
            Some(Frame::Literal(text)) => self.push_text(text),
            Some(Frame::Style(style)) => {
                self.flush();
                self.style = style;
            }
            Some(Frame::Link { style, address, text }) => {
                if text.is_empty() && self.text.is_empty() {
                    self.text.push_str(&address);
                }
                self.flush_link_text(&address, text, style);
            }
        }
    }

    fn flush_link_text(&mut self, address: &str, mut text: String, style: Style) {
        text.push_str(&self.text);
        self.flush();
        self.link = None;
        self.style = style;
        let is_same = text == address || address.strip_prefix("mailto:") == Some(&text);
        if !self.context.options.hyperlinks && !is_same {
            let style = self.context.fg(Token::MdLinkUrl).over(self.base);
            self.line.push(format!(" ({address})"), style);
        }
    }

    /// Adds text in which formulas may begin.
    fn text_event(&mut self, text: &str, range: &Range<usize>) {
        let is_verbatim = self.source.get(range.clone()) == Some(text);
        if !is_verbatim || self.link.is_some() {
            // An entity, or the text of a link.
            if range.start >= self.taken_to {
                self.push_text(text);
            }
            return;
        }
        let mut at = range.start.max(self.taken_to);
        while let Some(found) = math::find(self.source, at, range.end, at == range.start) {
            self.push_source(at..found.start);
            self.formula(&found);
            at = found.end;
            self.taken_to = found.end;
        }
        self.push_source(at..range.end);
    }

    fn push_source(&mut self, range: Range<usize>) {
        if let Some(text) = self.source.get(range) {
            self.push_text(text);
        }
    }

    fn formula(&mut self, found: &math::Found<'_>) {
        let content = without_quote_marks(found.content);
        let stands_alone = self.line.width() == 0 && self.text.trim().is_empty();
        let drawn = if found.is_display && stands_alone { math::display(&content) } else { None };
        if let Some(drawn) = drawn {
            self.text.clear();
            let style = self.style;
            let line = |text: &str| Line::styled(without_tabs(text), style);
            let source = found.source.lines().map(|text| line(text.trim())).collect();
            let drawn = drawn.iter().map(|text| line(text)).collect();
            self.flows.push(Flow::Formula { drawn, source });
            return;
        }
        match math::inline(&content) {
            Some(text) => self.push_text(&text),
            None => self.push_text(found.source),
        }
    }

    fn push_text(&mut self, text: &str) {
        let mut lines = text.split('\n');
        self.text.push_str(lines.next().unwrap_or_default());
        for line in lines {
            self.end_line();
            self.text.push_str(line);
        }
    }

    /// Adds text in a style of its own, without looking for addresses.
    fn styled(&mut self, text: &str, style: Style) {
        self.remember_link_text(text);
        self.flush();
        let text = without_tabs(&text.replace('\n', " "));
        self.line.push_span(Span { link: self.link.clone(), ..Span::new(text, style) });
    }

    fn remember_link_text(&mut self, more: &str) {
        let pending = self.text.clone();
        if let Some(Frame::Link { text, .. }) =
            self.frames.iter_mut().rev().find(|frame| matches!(frame, Frame::Link { .. }))
        {
            text.push_str(&pending);
            text.push_str(more);
        }
    }

    fn flush(&mut self) {
        if self.text.is_empty() {
            return;
        }
        let text = without_tabs(&std::mem::take(&mut self.text));
        match &self.link {
            Some(link) => {
                let link = Rc::clone(link);
                self.line.push_span(Span::new(text, self.style).link(link));
            }
            None => push_linked(&mut self.line, &text, self.style, self.context),
        }
    }

    fn end_line(&mut self) {
        if self.link.is_some() {
            self.remember_link_text(" ");
        }
        self.flush();
        let line = std::mem::take(&mut self.line);
        let after_formula = matches!(self.flows.last(), Some(Flow::Formula { .. }));
        if line.width() > 0 || (!after_formula && !self.flows.is_empty()) || self.flows.is_empty() {
            self.flows.push(Flow::Text(line));
        }
    }
}

/// Removes the marks of a quote from the lines of a formula in it.
fn without_quote_marks(formula: &str) -> Cow<'_, str> {
    let is_marked = |line: &str| line.trim_start().starts_with('>');
    if !formula.contains('\n') || !formula.lines().skip(1).all(is_marked) {
        return Cow::Borrowed(formula);
    }
    let unmarked = |line: &str| line.trim_start_matches([' ', '\t', '>']).to_owned();
    Cow::Owned(formula.lines().map(unmarked).collect::<Vec<_>>().join(" "))
}

/// Adds text whose addresses become links.
fn push_linked(line: &mut Line, text: &str, style: Style, context: &Context<'_>) {
    let mut rest = text;
    while let Some(found) = address::find(rest) {
        let (before, tail) = rest.split_at_checked(found.start).unwrap_or((rest, ""));
        let (shown, after) = tail.split_at_checked(found.len()).unwrap_or((tail, ""));
        line.push(before, style);
        let link_style = context.fg(Token::MdLink).over(style).underline();
        line.push_span(Span::new(shown, link_style).link(address::complete(shown)));
        rest = after;
    }
    line.push(rest, style);
}
