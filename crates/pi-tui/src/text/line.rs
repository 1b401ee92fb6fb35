//! One line of the screen: styled text, and what selection, search and the caret need to know.
//!
//! A line is plain data. Text may contain anything: characters that steer the terminal are removed
//! when a span is added (and again by the encoder of the screen), so components need not.

use std::borrow::Cow;
use std::rc::Rc;

use super::columns::{extended_width, width};
use super::visible::visible_after;
use crate::style::{Color, Style};

/// Lines that a component has rendered; cloning them is cheap.
pub type Lines = Rc<[Line]>;

/// A piece of text in one style.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Span {
    /// The text, without line breaks.
    pub text: String,
    /// The look of the text.
    pub style: Style,
    /// The address that a click opens.
    pub link: Option<Rc<str>>,
    /// The text is layout (padding, borders, quote bars, line numbers) and is not copied.
    pub is_layout: bool,
}

impl Span {
    /// Creates a span.
    pub fn new(text: impl Into<String>, style: Style) -> Self {
        Self { text: text.into(), style, link: None, is_layout: false }
    }

    /// Creates a span that is not copied.
    pub fn layout(text: impl Into<String>, style: Style) -> Self {
        Self { is_layout: true, ..Self::new(text, style) }
    }

    /// Returns the span with a link.
    #[must_use]
    pub fn link(self, address: impl Into<Rc<str>>) -> Self {
        Self { link: Some(address.into()), ..self }
    }
}

/// What follows a line when it is copied.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LineEnd {
    /// A line break: the line ends in the source, too.
    #[default]
    Hard,
    /// A space: the line was wrapped at one.
    Space,
    /// Nothing: the line was broken within a word.
    Joined,
}

/// One line of the screen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line {
    spans: Vec<Span>,
    width: usize,
    /// Column of the caret, if it is in this line. The column may be that after the last cell.
    pub caret: Option<usize>,
    /// What follows the line when it is copied.
    pub end: LineEnd,
    /// A prompt or an answer begins here: the target of jumps.
    pub is_prompt: bool,
    /// An image whose upper left corner is here. The lines below it are empty.
    pub image: Option<Rc<crate::image::Placement>>,
}

impl Line {
    /// Returns an empty line.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns a line of unstyled text.
    pub fn plain(text: impl Into<String>) -> Self {
        Self::styled(text, Style::PLAIN)
    }

    /// Returns a line in one style.
    pub fn styled(text: impl Into<String>, style: Style) -> Self {
        let mut line = Self::new();
        line.push(text, style);
        line
    }

    /// Returns a line of these spans.
    pub fn from_spans(spans: impl IntoIterator<Item = Span>) -> Self {
        let mut line = Self::new();
        for span in spans {
            line.push_span(span);
        }
        line
    }

    /// Adds a text.
    pub fn push(&mut self, text: impl Into<String>, style: Style) {
        self.push_span(Span::new(text, style));
    }

    /// Adds a span, as far as it is [visible](super::visible). An equal neighbor is extended
    /// instead.
    pub fn push_span(&mut self, mut span: Span) {
        let before = self.spans.last().and_then(|last| last.text.chars().next_back());
        if let Cow::Owned(visible) = visible_after(before, &span.text) {
            span.text = visible;
        }
        if span.text.is_empty() {
            return;
        }
        let last = self.spans.last_mut().filter(|last| {
            last.style == span.style && last.link == span.link && last.is_layout == span.is_layout
        });
        match last {
            Some(last) => {
                self.width = extended_width(self.width, &last.text, &span.text);
                last.text.push_str(&span.text);
            }
            None => {
                self.width += width(&span.text);
                self.spans.push(span);
            }
        }
    }

    /// Adds everything of another line; its caret moves along.
    pub fn append(&mut self, other: &Self) {
        if let Some(caret) = other.caret {
            self.caret = Some(self.width + caret);
        }
        for span in &other.spans {
            self.push_span(span.clone());
        }
    }

    /// Returns the line with another end.
    #[must_use]
    pub fn with_end(self, end: LineEnd) -> Self {
        Self { end, ..self }
    }

    /// Returns the spans.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// Returns the number of columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns the text without styles.
    pub fn text(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }

    /// Extends the line with spaces to `width` columns.
    pub fn pad_to(&mut self, width: usize, style: Style) {
        if self.width < width {
            let padding = " ".repeat(width - self.width);
            self.push_span(Span::layout(padding, style));
        }
    }

    /// Returns the line behind a prefix, which is not copied. Everything else stays.
    #[must_use]
    pub fn prefixed(&self, prefix: &Self) -> Self {
        let mut line = Self {
            end: self.end,
            is_prompt: self.is_prompt,
            image: self.image.clone(),
            ..Self::new()
        };
        for span in &prefix.spans {
            line.push_span(Span { is_layout: true, ..span.clone() });
        }
        line.append(self);
        line
    }

    /// Returns the line moved to the right by some spaces.
    #[must_use]
    pub fn indented(&self, columns: usize, style: Style) -> Self {
        self.prefixed(&Self::styled(" ".repeat(columns), style))
    }

    /// Sets the background where there is none.
    #[must_use]
    pub fn on(mut self, bg: Color) -> Self {
        for span in &mut self.spans {
            if span.style.bg == Color::Default {
                span.style.bg = bg;
            }
        }
        self
    }
}

/// Returns a horizontal rule.
pub fn rule(width: usize, style: Style) -> Line {
    Line::from_spans([Span::layout("─".repeat(width), style)])
}
