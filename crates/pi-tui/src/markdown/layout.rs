//! Parses a piece and arranges its blocks: paragraphs, headings, lists, quotes, tables.
//!
//! The parser's events are handled one by one, without recursion, so that deep nesting costs
//! nothing but depth.

use std::ops::Range;

use pulldown_cmark::{
    BrokenLink, BrokenLinkCallback, CodeBlockKind, CowStr, Event, HeadingLevel, Options, Parser,
    Tag, TagEnd,
};

use super::code::{self, Code};
use super::inline::{self, Flow, Run};
use super::piece::Context;
use super::source_line::{self, Fence};
use super::table::Table;
use crate::highlight::Readiness;
use crate::style::Style;
use crate::text;
use crate::text::{Line, Span};
use crate::theme::Token;

/// Containers that are indented; those in deeper ones are not.
const MAX_DEPTH: usize = 24;
/// Columns that are left for text however deep it is nested, in a wide line.
const LEAST_WIDTH: usize = 10;
/// Columns of a nested list before its items.
const LIST_INDENT: usize = 4;
/// Columns of a rule.
const RULE_WIDTH: usize = 80;

/// Returns the lines of a piece. `number` replaces that of the first item of a list.
pub(super) fn lines(source: &str, number: Option<u64>, context: &Context<'_>) -> Vec<Line> {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let resolve = Resolve { context };
    let parser = Parser::new_with_broken_link_callback(source, options, Some(resolve));
    let mut layout = Layout {
        context,
        source,
        number,
        lines: Vec::new(),
        containers: vec![Container::new(ContainerKind::Root)],
        run: Run::new(),
        leaf: Leaf::None,
        quotes: 0,
    };
    for (event, range) in parser.into_offset_iter() {
        layout.event(event, range);
    }
    layout.flush();
    layout.lines
}

/// Finds the address of a label that is defined in another piece.
struct Resolve<'a> {
    context: &'a Context<'a>,
}

impl<'a> BrokenLinkCallback<'a> for Resolve<'a> {
    fn handle_broken_link(&mut self, link: BrokenLink<'a>) -> Option<(CowStr<'a>, CowStr<'a>)> {
        let address = self.context.definitions.get(&source_line::fold(&link.reference));
        if address.is_none() {
            self.context.lacks_definition.set(true);
        }
        Some((CowStr::from(address?.as_str()), CowStr::Borrowed("")))
    }
}

#[derive(Debug)]
enum ContainerKind {
    Root,
    Quote,
    /// A list, and the number of its next item.
    List(Option<u64>),
    /// An item, with its marker until it has been shown.
    Item(Option<String>),
}

#[derive(Debug)]
struct Container {
    kind: ContainerKind,
    /// Columns before the lines.
    columns: usize,
    children: usize,
}

impl Container {
    fn new(kind: ContainerKind) -> Self {
        Self { kind, columns: 0, children: 0 }
    }
}

/// The block whose content is being read.
enum Leaf {
    None,
    Heading(HeadingLevel),
    Code(Fence, String),
    Html(String),
    Table { table: Table, range: Range<usize> },
}

struct Layout<'a> {
    context: &'a Context<'a>,
    source: &'a str,
    number: Option<u64>,
    lines: Vec<Line>,
    containers: Vec<Container>,
    run: Run<'a>,
    leaf: Leaf,
    quotes: usize,
}

impl<'a> Layout<'a> {
    fn event(&mut self, event: Event<'a>, range: Range<usize>) {
        match event {
            Event::Start(tag) if is_block(&tag) => self.start(tag, range),
            Event::End(tag) if is_block_end(tag) => self.end(tag),
            Event::Text(text) if matches!(self.leaf, Leaf::Code(..)) => {
                if let Leaf::Code(_, code) = &mut self.leaf {
                    code.push_str(&text);
                }
            }
            Event::Html(html) => {
                if let Leaf::Html(block) = &mut self.leaf {
                    block.push_str(&html);
                }
            }
            Event::Rule => {
                self.begin_block(range.start);
                let rule = "─".repeat(self.room().min(RULE_WIDTH));
                self.put(&Line::styled(rule, self.context.fg(Token::MdHr)));
            }
            Event::TaskListMarker(is_done) => self.check_box(is_done),
            event => self.run.push((event, range)),
        }
    }

    fn start(&mut self, tag: Tag<'a>, range: Range<usize>) {
        match tag {
            Tag::TableHead | Tag::TableRow => {
                if let Leaf::Table { table, .. } = &mut self.leaf {
                    table.rows.push(Vec::new());
                }
                return;
            }
            Tag::TableCell => return,
            _ => self.begin_block(range.start),
        }
        match tag {
            Tag::Heading { level, .. } => self.leaf = Leaf::Heading(level),
            Tag::BlockQuote(_) => {
                self.quotes += 1;
                self.containers
                    .push(Container { columns: 2, ..Container::new(ContainerKind::Quote) });
            }
            Tag::CodeBlock(kind) => {
                let info = match kind {
                    CodeBlockKind::Fenced(info) => info.trim().to_owned(),
                    CodeBlockKind::Indented => String::new(),
                };
                let fence = Fence { length: 3, mark: '`', indent: 0, info };
                self.leaf = Leaf::Code(fence, String::new());
            }
            Tag::HtmlBlock => self.leaf = Leaf::Html(String::new()),
            Tag::List(first) => {
                let first =
                    if self.lines.is_empty() { self.number.take().or(first) } else { first };
                let in_item = matches!(self.container().kind, ContainerKind::Item(_));
                if in_item {
                    self.show_marker();
                }
                let columns = if in_item { LIST_INDENT } else { 0 };
                let kind = ContainerKind::List(first);
                self.containers.push(Container { columns, ..Container::new(kind) });
            }
            Tag::Item => self.start_item(range.start),
            Tag::Table(alignments) => {
                let table = Table { alignments, rows: Vec::new() };
                self.leaf = Leaf::Table { table, range };
            }
            _ => {}
        }
    }

    fn start_item(&mut self, start: usize) {
        let typed = if self.context.options.list_numbers_as_typed {
            let line = self.source.get(start..).and_then(|text| text.lines().next());
            line.and_then(source_line::marker).and_then(|marker| marker.number)
        } else {
            None
        };
        let marker = match &mut self.container_mut().kind {
            ContainerKind::List(Some(number)) => {
                let marker = format!("{}. ", typed.unwrap_or(*number));
                *number = number.saturating_add(1);
                marker
            }
            _ => "- ".to_owned(),
        };
        let columns = text::width(&marker);
        let kind = ContainerKind::Item(Some(marker));
        self.containers.push(Container { columns, ..Container::new(kind) });
    }

    fn check_box(&mut self, is_done: bool) {
        let container = self.container_mut();
        if let ContainerKind::Item(Some(marker)) = &mut container.kind {
            marker.push_str(if is_done { "[x] " } else { "[ ] " });
            container.columns = text::width(marker);
        }
    }

    fn end(&mut self, tag: TagEnd) {
        if tag == TagEnd::TableCell {
            let run = std::mem::take(&mut self.run);
            let style = self.text_style();
            let Leaf::Table { table, .. } = &mut self.leaf else { return };
            let style = if table.rows.len() == 1 { style.bold() } else { style };
            let cell = inline::single_line(&run, self.source, style, self.context);
            if let Some(row) = table.rows.last_mut() {
                row.push(cell);
            }
            return;
        }
        self.flush();
        match tag {
            TagEnd::BlockQuote(_) => {
                self.quotes = self.quotes.saturating_sub(1);
                self.pop();
            }
            TagEnd::List(_) => self.pop(),
            TagEnd::Item => {
                self.show_marker();
                self.pop();
            }
            TagEnd::Heading(_) => self.leaf = Leaf::None,
            TagEnd::CodeBlock => {
                if let Leaf::Code(fence, text) = std::mem::replace(&mut self.leaf, Leaf::None) {
                    self.code(&fence, &text);
                }
            }
            TagEnd::HtmlBlock => {
                if let Leaf::Html(html) = std::mem::replace(&mut self.leaf, Leaf::None) {
                    self.literal(&html);
                }
            }
            TagEnd::Table => {
                if let Leaf::Table { table, range } = std::mem::replace(&mut self.leaf, Leaf::None)
                {
                    self.table(&table, range);
                }
            }
            _ => {}
        }
    }

    /// Separates a block from the one before it: by an empty line, except in lists, which keep
    /// those of the source.
    fn begin_block(&mut self, start: usize) {
        self.flush();
        let container = self.container();
        let in_list = matches!(container.kind, ContainerKind::Item(_) | ContainerKind::List(_));
        let has_gap = container.children > 0 && (!in_list || is_after_blank(self.source, start));
        self.container_mut().children += 1;
        if has_gap {
            self.put(&Line::new());
        }
    }

    /// Ends the paragraph that is being read.
    fn flush(&mut self) {
        if self.run.is_empty() {
            return;
        }
        let run = std::mem::take(&mut self.run);
        if matches!(self.container().kind, ContainerKind::Item(_)) {
            self.container_mut().children += 1;
        }
        let mut style = self.text_style();
        let mut prefix = String::new();
        if let Leaf::Heading(level) = self.leaf {
            style = self.context.fg(Token::MdHeading).bold().over(style);
            match level {
                HeadingLevel::H1 => style = style.underline(),
                HeadingLevel::H2 => {}
                _ => prefix = format!("{} ", "#".repeat(level as usize)),
            }
        }
        for flow in inline::flows(&run, self.source, style, self.context) {
            match flow {
                Flow::Text(line) => {
                    let mut whole = Line::styled(std::mem::take(&mut prefix), style);
                    whole.append(&line);
                    self.wrap(&whole);
                }
                Flow::Formula { drawn, source } => {
                    let room = self.room();
                    let fits = drawn.iter().all(|line| line.width() <= room);
                    for line in if fits { drawn } else { source } {
                        self.wrap(&line);
                    }
                }
            }
        }
    }

    fn code(&mut self, fence: &Fence, text: &str) {
        let mode = self.context.options.highlighting;
        let (highlighter, readiness) = code::highlighter(fence.language(), text, mode);
        if readiness == Readiness::Loading {
            self.context.lacks_grammar.set(true);
        }
        let spans: Option<Vec<_>> = highlighter
            .map(|mut highlighter| text.lines().map(|line| highlighter.line(line)).collect());
        let code = Code { fence, text, spans: spans.as_deref(), opens: true, closes: true };
        let context = Context {
            width: self.room(),
            lacks_definition: false.into(),
            lacks_grammar: false.into(),
            ..*self.context
        };
        for line in code::lines(&code, &context) {
            self.put(&line);
        }
    }

    fn table(&mut self, table: &Table, range: Range<usize>) {
        match table.lines(self.room(), self.text_style()) {
            Some(lines) => lines.into_iter().for_each(|line| self.put(&line)),
            None => {
                let source = self.source.get(range).unwrap_or_default();
                self.literal(source);
            }
        }
    }

    fn literal(&mut self, text: &str) {
        for line in text.trim_end().lines() {
            let line = inline::literal(line, self.text_style(), self.context);
            self.wrap(&line);
        }
    }

    fn wrap(&mut self, line: &Line) {
        for part in text::wrap(line, self.room()) {
            self.put(&part);
        }
    }

    /// Shows the marker of an item that has no text before what follows.
    fn show_marker(&mut self) {
        if let ContainerKind::Item(Some(_)) = self.container().kind {
            self.put(&Line::new());
        }
    }

    /// Adds a line with what the containers put before it.
    fn put(&mut self, content: &Line) {
        let bar = self.context.fg(Token::MdQuoteBorder);
        let bullet = self.context.fg(Token::MdListBullet);
        let room = self.prefix_room();
        let mut line = Line::new().with_end(content.end);
        let mut spans: Vec<Span> = Vec::new();
        let mut has_marker = false;
        for at in 0..self.containers.len().min(MAX_DEPTH) {
            let holds_list = matches!(
                self.containers.get(at + 1),
                Some(Container { kind: ContainerKind::List(_), .. })
            );
            let Some(container) = self.containers.get_mut(at) else { break };
            let spaces = " ".repeat(container.columns);
            match &mut container.kind {
                ContainerKind::Root => {}
                ContainerKind::Quote => spans.push(Span::layout("│ ", bar)),
                ContainerKind::List(_) => spans.push(Span::layout(spaces, Style::PLAIN)),
                ContainerKind::Item(marker) => match marker.take() {
                    Some(marker) => {
                        has_marker = true;
                        spans.push(Span::new(marker, bullet));
                    }
                    None if holds_list => {}
                    None => spans.push(Span::layout(spaces, Style::PLAIN)),
                },
            }
        }
        // The indentation of an item is a part of its source.
        for span in &mut spans {
            span.is_layout &= !has_marker || !span.text.trim().is_empty();
        }
        let mut prefix = Line::from_spans(spans);
        if content.width() == 0 {
            prefix = without_trailing_space(&prefix);
        }
        if prefix.width() > room {
            // The end says most: it has the marker.
            prefix = text::slice(&prefix, prefix.width() - room, prefix.width());
        }
        line.append(&prefix);
        line.append(content);
        self.lines.push(line);
    }

    /// Returns the columns for content.
    fn room(&self) -> usize {
        let mut columns = 0;
        for (at, container) in self.containers.iter().take(MAX_DEPTH).enumerate() {
            let holds_list = matches!(
                self.containers.get(at + 1),
                Some(Container { kind: ContainerKind::List(_), .. })
            );
            if !(holds_list && matches!(container.kind, ContainerKind::Item(_))) {
                columns += container.columns;
            }
        }
        self.context.width.saturating_sub(columns.min(self.prefix_room())).max(1)
    }

    /// Returns the columns for what the containers put before content.
    fn prefix_room(&self) -> usize {
        let width = self.context.width;
        width - width.div_ceil(2).min(LEAST_WIDTH)
    }

    fn text_style(&self) -> Style {
        let base = self.context.base();
        if self.quotes > 0 { self.context.fg(Token::MdQuote).italic().over(base) } else { base }
    }

    fn container(&self) -> &Container {
        // The root is never removed.
        &self.containers[self.containers.len() - 1]
    }

    fn container_mut(&mut self) -> &mut Container {
        let last = self.containers.len() - 1;
        &mut self.containers[last]
    }

    fn pop(&mut self) {
        if self.containers.len() > 1 {
            self.containers.pop();
        }
    }
}

fn is_block(tag: &Tag<'_>) -> bool {
    !matches!(
        tag,
        Tag::Emphasis
            | Tag::Strong
            | Tag::Strikethrough
            | Tag::Superscript
            | Tag::Subscript
            | Tag::Link { .. }
            | Tag::Image { .. }
    )
}

fn is_block_end(tag: TagEnd) -> bool {
    !matches!(
        tag,
        TagEnd::Emphasis
            | TagEnd::Strong
            | TagEnd::Strikethrough
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::Link
            | TagEnd::Image
    )
}

/// Returns true if the line before that of `start` has no text besides quote marks.
fn is_after_blank(source: &str, start: usize) -> bool {
    let before = source.get(..start).unwrap_or_default();
    let Some((above, _)) = before.rsplit_once('\n') else { return false };
    let line = above.rsplit_once('\n').map_or(above, |(_, line)| line);
    line.chars().all(|c| c.is_whitespace() || c == '>')
}

fn without_trailing_space(line: &Line) -> Line {
    let end = line.text().trim_end().chars().count();
    let mut left = end;
    let spans = line.spans().iter().map(|span| {
        let text: String = span.text.chars().take(left).collect();
        left -= text.chars().count();
        Span { text, ..span.clone() }
    });
    Line::from_spans(spans.collect::<Vec<_>>())
}
