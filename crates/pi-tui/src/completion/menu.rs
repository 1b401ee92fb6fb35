//! The menu of completions under an editor.

use crate::component::View;
use crate::line::Line;
use crate::style::Style;
use crate::text;
use crate::theme::Token;

use super::{Completion, CompletionKind, Completions};

/// Narrowest column of names.
const MIN_NAME: usize = 12;
/// Widest column of names; the width for everything but commands.
const MAX_NAME: usize = 32;
/// At this width and below, descriptions are not shown.
const NARROW: usize = 40;

/// Completions with a selected one.
#[derive(Debug, Clone)]
pub(crate) struct Menu {
    pub(crate) completions: Completions,
    selected: usize,
    /// The user moved the selection: it wins over an exact name.
    is_chosen: bool,
    /// Tab opened the menu: it stays open for words that open none by themselves.
    pub(crate) is_forced: bool,
}

impl Menu {
    /// Creates a menu; `completions` has items. `typed` is the text that they replace.
    pub(crate) fn new(completions: Completions, is_forced: bool, typed: &str) -> Self {
        let exact = completions.items.iter().position(|item| is_exact(item, typed));
        Self { selected: exact.unwrap_or(0), completions, is_chosen: false, is_forced }
    }

    /// Replaces the completions; what the user selected stays selected if it is still there.
    pub(crate) fn update(&mut self, completions: Completions, typed: &str) {
        let kept = match self.selected().filter(|_| self.is_chosen) {
            Some(chosen) => completions.items.iter().position(|item| item.insert == chosen.insert),
            None => None,
        };
        *self = Self::new(completions, self.is_forced, typed);
        if let Some(kept) = kept {
            self.selected = kept;
            self.is_chosen = true;
        }
    }

    /// Returns the selected item.
    pub(crate) fn selected(&self) -> Option<&Completion> {
        self.completions.items.get(self.selected)
    }

    /// Selects the previous or the next item, around the ends.
    pub(crate) fn step(&mut self, forward: bool) {
        let count = self.completions.items.len().max(1);
        self.selected = (self.selected + if forward { 1 } else { count - 1 }) % count;
        self.is_chosen = true;
    }

    /// Selects the item a page away.
    pub(crate) fn page(&mut self, forward: bool, rows: usize) {
        let last = self.completions.items.len().saturating_sub(1);
        self.selected = match forward {
            true => (self.selected + rows).min(last),
            false => self.selected.saturating_sub(rows),
        };
        self.is_chosen = true;
    }

    /// Returns the rows: at most `max` items, and the position if there are more.
    pub(crate) fn render(&self, view: View<'_>, max: usize) -> Vec<Line> {
        let items = &self.completions.items;
        let first = self.selected.saturating_sub(max / 2).min(items.len().saturating_sub(max));
        let name_width = self.name_width();
        let visible = items.iter().enumerate().skip(first).take(max);
        let mut lines: Vec<Line> = visible
            .map(|(index, item)| row(item, index == self.selected, name_width, view))
            .collect();
        if items.len() > max {
            let position = format!("  ({}/{})", self.selected + 1, items.len());
            let line = Line::styled(position, view.theme.fg(Token::Muted));
            lines.push(text::truncate(&line, view.width, ""));
        }
        lines
    }

    fn name_width(&self) -> usize {
        if self.completions.kind != CompletionKind::Command {
            return MAX_NAME;
        }
        let names = self.completions.items.iter().map(|item| text::width(&item.label));
        (names.max().unwrap_or(0) + 2).clamp(MIN_NAME, MAX_NAME)
    }
}

/// Returns true if the typed text is the whole completion.
pub(crate) fn is_exact(item: &Completion, typed: &str) -> bool {
    item.insert.trim_end() == typed
}

fn row(item: &Completion, is_selected: bool, name_width: usize, view: View<'_>) -> Line {
    let (prefix, name_style, description_style) = if is_selected {
        let accent = view.theme.fg(Token::Accent);
        ("→ ", accent, accent)
    } else {
        ("  ", Style::PLAIN, view.theme.fg(Token::Muted))
    };
    let label = single_line(&item.label);
    let description = item.description.as_deref().map(single_line);
    let mut line = Line::styled(prefix, name_style);
    let description_start = line.width() + name_width;
    match description {
        Some(description)
            if !description.is_empty()
                && view.width > NARROW
                && view.width > description_start + 12 =>
        {
            let name = Line::styled(label, name_style);
            line.append(&text::truncate(&name, name_width - 2, ""));
            let gap = description_start - line.width();
            line.push(" ".repeat(gap), description_style);
            let description = Line::styled(description, description_style);
            line.append(&text::truncate(&description, view.width - description_start - 2, ""));
        }
        _ => line.push(label, name_style),
    }
    text::truncate(&line, view.width, "")
}

/// Returns a text of others on one line.
fn single_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
