//! The frame that dialogs have in common: borders, a title, hints about keys.

use pi_tui::input::Keymap;
use pi_tui::text::rule;
use pi_tui::{Line, Style, Token, View, text};

/// Returns lines between two borders, moved to the right by one column.
pub(super) fn framed(body: &[Line], view: View<'_>) -> Vec<Line> {
    let mut lines = vec![border(view)];
    lines.extend(indented(body, view));
    lines.push(border(view));
    lines
}

/// Returns a border.
pub(super) fn border(view: View<'_>) -> Line {
    rule(view.width, view.theme.fg(Token::Border))
}

/// Returns lines moved to the right by one column.
pub(super) fn indented(body: &[Line], view: View<'_>) -> impl Iterator<Item = Line> {
    body.iter().map(move |line| match line.width() {
        0 => line.clone(),
        _ => text::truncate(&line.indented(1, Style::PLAIN), view.width, "…"),
    })
}

/// Returns the surroundings of the lines within a frame.
pub(super) fn inner(view: View<'_>) -> View<'_> {
    view.with_width(view.width.saturating_sub(2).max(1))
}

/// The keys of dialogs, as hints name them.
#[derive(Debug, Clone)]
pub(super) struct Hints(Vec<(String, &'static str)>);

impl Hints {
    /// Collects hints: an action, or the name of a key, and its meaning. Actions without a key are
    /// left out.
    pub(super) fn new(keymap: &Keymap, hints: &[(&str, &'static str)]) -> Self {
        let label = |key: &str| match key.contains('.') {
            true => keymap.label(key),
            false => key.to_owned(),
        };
        let hints = hints.iter().map(|(key, meaning)| (label(key), *meaning));
        Self(hints.filter(|(key, _)| !key.is_empty()).collect())
    }

    /// Returns the hints, wrapped.
    pub(super) fn lines(&self, view: View<'_>) -> Vec<Line> {
        let (dim, muted) = (view.theme.fg(Token::Dim), view.theme.fg(Token::Muted));
        let mut line = Line::new();
        for (at, (key, meaning)) in self.0.iter().enumerate() {
            if at > 0 {
                line.push("  ", muted);
            }
            line.push(key.as_str(), dim);
            line.push(format!(" {meaning}"), muted);
        }
        text::wrap(&line, view.width)
    }
}
