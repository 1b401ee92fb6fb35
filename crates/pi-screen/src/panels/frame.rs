//! Shared parts of panels: borders, hints, rows of models.

use pi_ai::Model;
use pi_tui::text::rule;
use pi_tui::{Attributes, Line, Style, Token, View, text};

/// Returns the lines between two borders, none wider than the view.
pub(super) fn bordered(lines: impl IntoIterator<Item = Line>, view: View<'_>) -> Vec<Line> {
    let border = rule(view.width, view.theme.fg(Token::Border));
    let mut all = vec![border.clone()];
    all.extend(lines.into_iter().map(|line| text::truncate(&line, view.width, "…")));
    all.push(border);
    all
}

/// Returns the rows of a list of at most `most` rows, so that the panel fits on a small screen.
pub(super) fn list_rows(most: usize, view: View<'_>) -> usize {
    most.min(view.rows.saturating_sub(14)).max(3)
}

/// Returns a sentence over as many lines as it needs.
pub(super) fn sentence(sentence: &str, style: Style, view: View<'_>) -> Vec<Line> {
    text::wrap(&Line::styled(sentence, style), view.width)
}

/// Returns a text over as many lines as it needs, all of them indented.
pub(super) fn indented(text: &str, indent: usize, style: Style, view: View<'_>) -> Vec<Line> {
    let indent = Line::plain(" ".repeat(indent));
    text::wrap_indented(&Line::styled(text, style), view.width, &indent, &indent)
}

/// Returns hints over as many lines as they need.
pub(super) fn hints(parts: &[String], view: View<'_>) -> Vec<Line> {
    let indent = Line::plain("  ");
    let line = Line::styled(parts.join(" · "), view.theme.fg(Token::Dim));
    text::wrap_indented(&line, view.width, &indent, &Line::new())
}

/// Returns the title of a panel.
pub(super) fn title(title: impl Into<String>, view: View<'_>) -> Line {
    Line::styled(title, view.theme.fg(Token::Accent).bold())
}

/// Returns the beginning of a row: the arrow of the selected one, and the mark of the one in use.
pub(super) fn marks(is_selected: bool, is_marked: bool) -> String {
    format!("{}{}", if is_selected { "→ " } else { "  " }, if is_marked { "✓ " } else { "  " })
}

/// A row of a list of models.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ModelRow<'a> {
    pub(super) id: &'a str,
    pub(super) name: &'a str,
    pub(super) provider: &'a str,
    /// A remark behind the provider, such as `default`.
    pub(super) remark: Option<&'a str>,
    pub(super) is_selected: bool,
    pub(super) is_marked: bool,
    /// The model cannot be used.
    pub(super) is_struck: bool,
}

impl<'a> ModelRow<'a> {
    pub(super) fn of(model: &'a Model) -> Self {
        Self { id: &model.id, name: &model.name, provider: &model.provider, ..Self::default() }
    }

    /// Returns the row: `→ ✓ id (Name) [provider] · remark`.
    pub(super) fn line(self, view: View<'_>) -> Line {
        let muted = view.theme.fg(Token::Muted);
        let style = if self.is_selected { view.theme.fg(Token::Accent) } else { Style::PLAIN };
        let mut line = Line::styled(marks(self.is_selected, self.is_marked), style);
        if self.is_struck {
            let struck = style.attributes | Attributes::STRIKE;
            line.push(self.id, Style { attributes: struck, ..style });
        } else {
            line.push(self.id, style);
        }
        if !self.name.is_empty() && self.name != self.id {
            line.push(format!(" ({})", self.name), muted);
        }
        if !self.provider.is_empty() {
            line.push(format!(" [{}]", self.provider), muted);
        }
        if let Some(remark) = self.remark {
            line.push(format!(" · {remark}"), muted);
        }
        text::truncate(&line, view.width, "…")
    }
}
