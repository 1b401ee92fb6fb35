//! One piece of a text as lines, and the surroundings in which it is rendered.

use std::cell::Cell;
use std::collections::HashMap;

use super::code::{self, Code};
use super::layout;
use super::math;
use super::scan::{Kind, Piece};
use super::{MarkdownOptions, Mermaid, inline, mermaid};
use crate::highlight::CodeSpan;
use crate::style::Style;
use crate::text;
use crate::text::{Line, Lines, Span};
use crate::theme::{Theme, Token};
use crate::{View, highlight};

/// The addresses of links that are defined apart from their use, by label.
pub(super) type Definitions = HashMap<String, String>;

/// The surroundings of a piece.
#[derive(Debug)]
pub(super) struct Context<'a> {
    pub(super) options: &'a MarkdownOptions,
    pub(super) theme: &'a Theme,
    pub(super) definitions: &'a Definitions,
    /// Columns between the padding.
    pub(super) width: usize,
    /// A label without a definition was met.
    pub(super) lacks_definition: Cell<bool>,
    /// Code was met whose grammar is being loaded.
    pub(super) lacks_grammar: Cell<bool>,
}

impl Context<'_> {
    /// Returns the style of a token.
    pub(super) fn fg(&self, token: Token) -> Style {
        self.theme.fg(token)
    }

    /// Returns the style of ordinary text.
    pub(super) fn base(&self) -> Style {
        let color = self.options.color.map_or(Style::PLAIN, |token| self.fg(token));
        self.options.base.over(color)
    }
}

/// A piece with what was computed for it.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) piece: Piece,
    /// The highlighted lines of code.
    pub(super) spans: Option<Vec<Vec<CodeSpan>>>,
    rendered: Option<Rendered>,
}

#[derive(Debug)]
struct Rendered {
    key: (usize, usize, u64),
    /// The number of definitions, if one was missing.
    definitions: Option<usize>,
    /// The generation of grammars, if one was missing.
    grammars: Option<u64>,
    lines: Lines,
}

impl Entry {
    pub(super) fn new(piece: Piece) -> Self {
        Self { piece, spans: None, rendered: None }
    }

    /// Forgets everything that can be computed again.
    pub(super) fn release(&mut self) {
        self.spans = None;
        self.rendered = None;
    }

    /// Forgets the lines.
    pub(super) fn clear(&mut self) {
        self.rendered = None;
    }

    /// Returns the lines if they are up to date.
    pub(super) fn cached(&self, view: View<'_>, definitions: &Definitions) -> Option<Lines> {
        let rendered = self.rendered.as_ref()?;
        let is_current = rendered.key == view.key()
            && rendered.definitions.is_none_or(|count| count == definitions.len())
            && rendered.grammars.is_none_or(|count| count == highlight::generation());
        is_current.then(|| Lines::clone(&rendered.lines))
    }

    /// Returns the lines of the piece, whose text is `source`, with the empty line before it.
    pub(super) fn render(
        &mut self,
        source: &str,
        view: View<'_>,
        options: &MarkdownOptions,
        definitions: &Definitions,
    ) -> Lines {
        if let Some(lines) = self.cached(view, definitions) {
            return lines;
        }
        let grammars = highlight::generation();
        let padding = options.padding.min(view.width.saturating_sub(1) / 2);
        let context = Context {
            options,
            theme: view.theme,
            definitions,
            width: (view.width - 2 * padding).max(1),
            lacks_definition: Cell::new(false),
            lacks_grammar: Cell::new(false),
        };
        let mut lines = Vec::new();
        if self.piece.has_gap {
            lines.push(Line::new());
        }
        for line in self.lines(source, &context) {
            lines.push(padded(line, padding, context.width));
        }
        let lines: Lines = lines.into();
        self.rendered = Some(Rendered {
            key: view.key(),
            definitions: context.lacks_definition.get().then_some(definitions.len()),
            grammars: context.lacks_grammar.get().then_some(grammars),
            lines: Lines::clone(&lines),
        });
        lines
    }

    fn lines(&self, source: &str, context: &Context<'_>) -> Vec<Line> {
        let lines = match &self.piece.kind {
            Kind::Prose => layout::lines(source, None, context),
            Kind::Item(number) => layout::lines(source, *number, context),
            Kind::Formula => formula(source, context),
            Kind::Definition => Vec::new(),
            Kind::Code(part) => {
                let is_drawn = match context.options.mermaid {
                    Mermaid::Off => false,
                    Mermaid::Final => part.is_complete,
                    Mermaid::Streaming => true,
                };
                let is_diagram =
                    is_drawn && part.opens && part.closes && part.fence.language() == "mermaid";
                let diagram = if is_diagram { mermaid::lines(source, context) } else { None };
                diagram.unwrap_or_else(|| {
                    let code = Code {
                        fence: &part.fence,
                        text: source,
                        spans: self.spans.as_deref(),
                        opens: part.opens,
                        closes: part.closes,
                    };
                    code::lines(&code, context)
                })
            }
        };
        // Text that means nothing is shown as it is.
        if lines.is_empty() { literal(source, context) } else { lines }
    }
}

/// Returns the lines of a text that is not interpreted.
fn literal(source: &str, context: &Context<'_>) -> Vec<Line> {
    let lines = source.trim_end().lines();
    lines
        .flat_map(|line| {
            let line = inline::literal(line, context.base(), context);
            text::wrap(&line, context.width)
        })
        .collect()
}

fn formula(source: &str, context: &Context<'_>) -> Vec<Line> {
    let content = source.trim();
    let content = content.get(2..content.len().saturating_sub(2)).unwrap_or_default();
    let style = context.base();
    let drawn = math::display(content)
        .filter(|lines| lines.iter().all(|line| text::width(line) <= context.width));
    match drawn {
        Some(lines) => lines.into_iter().map(|line| Line::styled(line, style)).collect(),
        None => Vec::new(),
    }
}

/// Adds the padding at the left, and cuts what is wider than the line may be.
fn padded(line: Line, padding: usize, width: usize) -> Line {
    let line = if line.width() > width { text::truncate(&line, width, "") } else { line };
    if padding == 0 || line.width() == 0 {
        return line;
    }
    let mut padded = Line::new().with_end(line.end);
    padded.push_span(Span::layout(" ".repeat(padding), Style::PLAIN));
    padded.append(&line);
    padded
}
