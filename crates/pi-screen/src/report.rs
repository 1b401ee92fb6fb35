//! A block of the transcript with figures: headings, pairs of name and value, bars.

use pi_tui::component::{Block, LineCache};
use pi_tui::{Line, Lines, Style, Token, View, text};

/// Columns of a full bar.
const BAR: usize = 30;

/// Columns of the names of rows.
const NAMES: usize = 26;

/// A row of a report.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Item {
    Heading(String),
    /// A name and a value.
    Pair(String, String),
    /// A name and its meaning, in columns.
    Row(String, String),
    /// A part of a whole: name, value, share between 0 and 1.
    Share(String, String, f64),
    Note(String),
    Gap,
}

impl Item {
    pub(super) fn pair(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self::Pair(name.into(), value.into())
    }
}

/// The block.
#[derive(Debug, Default)]
pub(super) struct Report {
    items: Vec<Item>,
    cache: LineCache,
}

impl Report {
    pub(super) fn new(items: Vec<Item>) -> Self {
        Self { items, cache: LineCache::default() }
    }
}

impl Block for Report {
    fn render(&mut self, view: View<'_>) -> Lines {
        let items = &self.items;
        self.cache.get(view, || lines(items, view))
    }

    fn estimated_height(&self, _width: usize) -> usize {
        self.items.len() + 1
    }
}

fn lines(items: &[Item], view: View<'_>) -> Vec<Line> {
    let width = |item: &Item| match item {
        Item::Share(name, value, _) => (text::width(name), text::width(value)),
        // A long name moves its own meaning only.
        Item::Row(name, _) => (Some(text::width(name)).filter(|it| *it <= NAMES).unwrap_or(0), 0),
        _ => (0, 0),
    };
    let names = items.iter().map(|item| width(item).0).max().unwrap_or(0);
    let values = items.iter().map(|item| width(item).1).max().unwrap_or(0);
    let mut lines = vec![Line::new()];
    for item in items {
        let inner = view.with_width(view.width.saturating_sub(1).max(1));
        let line = row(item, names, values, inner);
        let hanging = match item {
            Item::Row(..) => Line::plain(" ".repeat((names + 2).min(inner.width / 2))),
            _ => Line::new(),
        };
        let wrapped = text::wrap_indented(&line, inner.width, &Line::new(), &hanging);
        lines.extend(wrapped.iter().map(|line| line.indented(1, Style::PLAIN)));
    }
    lines
}

fn row(item: &Item, names: usize, values: usize, view: View<'_>) -> Line {
    let theme = view.theme;
    let dim = theme.fg(Token::Dim);
    let mut line = Line::new();
    match item {
        Item::Gap => return Line::new(),
        Item::Heading(text) => line.push(text.as_str(), Style::PLAIN.bold()),
        Item::Note(text) => line.push(text.as_str(), dim),
        Item::Pair(name, value) => {
            line.push(format!("{name}:"), dim);
            line.push(format!(" {value}"), Style::PLAIN);
        }
        Item::Row(name, meaning) => {
            line.push(name.as_str(), Style::PLAIN);
            line.pad_to(names.max(text::width(name)) + 2, Style::PLAIN);
            line.push(meaning.as_str(), dim);
        }
        Item::Share(name, value, share) => {
            line.push(name.as_str(), dim);
            line.pad_to(names + 2, Style::PLAIN);
            let padding = " ".repeat(values.saturating_sub(text::width(value)));
            line.push(format!("{padding}{value}"), Style::PLAIN);
            line.push(format!(" {:>5.1} % ", share * 100.0), dim);
            let room = BAR.min(view.width.saturating_sub(line.width()));
            let filled = (share.clamp(0.0, 1.0) * room as f64).round() as usize;
            line.push("█".repeat(filled), theme.fg(Token::Accent));
            line.push("░".repeat(room.saturating_sub(filled)), dim);
        }
    }
    line
}
