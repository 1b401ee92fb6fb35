//! The lines of the tree.

use pi_tui::input::Keymap;
use pi_tui::text::rule;
use pi_tui::{Line, Style, Token, View, text};

use super::super::frame;
use super::TreePanel;
use super::nodes::Row;

/// Columns that the text of a row has at least; deeper guides are panned.
const LEAST_TEXT: usize = 24;

/// Rows of a screen on which hints are not wrapped.
const SMALL: usize = 20;
/// A screen with fewer rows has none for hints.
const LOW: usize = 16;
/// Entries that are visible at least, if the screen has room for them.
const LEAST: usize = 5;
/// Rows of the screen that are not for entries: title, search, position, footer and the last row of
/// the transcript.
const OTHER: usize = 6;

/// Returns the number of entries that are visible at once.
pub(super) fn visible(view: View<'_>) -> usize {
    (view.rows / 2).max(LEAST).min(view.rows.saturating_sub(OTHER))
}

/// Texts that contain keys, which the user can change.
pub(super) struct Hints {
    first: String,
    second: String,
    label: String,
}

impl Hints {
    pub(super) fn new(keymap: &Keymap) -> Self {
        let first_key = |action: &str| keymap.keys(action).first().map(ToString::to_string);
        let key = |action: &str| first_key(action).unwrap_or_else(|| "–".to_owned());
        let filters = ["default", "noTools", "userOnly", "labeledOnly", "all"];
        let filters = filters.map(|name| key(&format!("app.tree.filter.{name}")));
        // Keys with the same modifier are written in short: ctrl+d/t/u/l/a.
        let [first, rest @ ..] = &filters;
        let prefix = first.rfind('+').map_or("", |at| &first[..=at]);
        let rest = rest.iter().map(|key| key.strip_prefix(prefix).unwrap_or(key));
        let filters = rest.fold(first.clone(), |text, key| format!("{text}/{key}"));
        let arrow = |action: &str| key(action).replace("left", "←").replace("right", "→");
        let (up, down) = (arrow("app.tree.foldOrUp"), arrow("app.tree.unfoldOrDown"));
        let down = if down.ends_with("+→") { "→" } else { &down };
        Self {
            first: format!(
                "↑/↓ move · ←/→ page · {up}/{down} branch · {} copy · {} label · {} label time",
                key("app.message.copy"),
                key("app.tree.editLabel"),
                key("app.tree.toggleLabelTimestamp"),
            ),
            second: format!(
                "filters {filters} · next {} · previous {}",
                key("app.tree.filter.cycleForward"),
                key("app.tree.filter.cycleBackward"),
            ),
            label: format!(
                "{} saves, empty removes · {} keeps it",
                keymap.label("tui.input.submit"),
                keymap.label("tui.select.cancel")
            ),
        }
    }
}

/// Returns the lines of the panel.
pub(super) fn panel(panel: &mut TreePanel, view: View<'_>) -> Vec<Line> {
    let theme = view.theme;
    let dim = theme.fg(Token::Dim);
    let border = rule(view.width, theme.fg(Token::Border));
    let cut = |line: Line| text::truncate(&line, view.width, "…");
    let mut lines = vec![border.clone()];
    let mut title = Line::plain(" ");
    title.push("  Session Tree", Style::PLAIN.bold());
    lines.push(title);
    if let Some((_, label)) = &mut panel.label {
        label.set_prompt("  Label: ");
        lines.push(label.line(view));
        lines.extend(frame::indented(&panel.hints.label, 2, dim, view));
        lines.push(Line::new());
    } else {
        for hint in [&panel.hints.first, &panel.hints.second] {
            let mut hint = frame::indented(hint, 2, dim, view);
            // On a small screen the entries need the rows.
            hint.truncate(match view.rows {
                0..LOW => 0,
                LOW..SMALL => 1,
                _ => hint.len(),
            });
            lines.extend(hint);
        }
        let mut search = Line::plain("  ");
        search.push("Type to search:", dim);
        if !panel.search.is_empty() {
            search.push(" ", Style::PLAIN);
            search.push(panel.search.as_str(), theme.fg(Token::Accent));
        }
        lines.push(cut(search));
    }
    lines.extend([border.clone(), Line::new()]);
    lines.extend(tree(panel, view));
    lines.extend([Line::new(), border]);
    lines
}

fn tree(panel: &mut TreePanel, view: View<'_>) -> Vec<Line> {
    let dim = view.theme.fg(Token::Dim);
    let mut lines = Vec::new();
    let visible = panel.selection.visible();
    let rows: Vec<(usize, Row)> =
        visible.filter_map(|at| Some((at, panel.rows.get(at)?.clone()))).collect();
    // All rows are panned by the same distance, so that the guides still meet.
    let selected = panel.rows.get(panel.selection.index());
    let depth = selected.map_or(0, |row| row.guides.chars().count());
    let pan = (depth + LEAST_TEXT).saturating_sub(view.width);
    for (at, row) in &rows {
        let line = line(panel, row, *at == panel.selection.index(), view);
        let mut shown = text::slice(&line, 0, 2);
        shown.append(&text::slice(&line, 2 + pan, line.width()));
        lines.push(text::truncate(&shown, view.width, ""));
    }
    if rows.is_empty() {
        lines.push(Line::styled("  No entry matches", dim));
    }
    let number = if panel.rows.is_empty() { 0 } else { panel.selection.index() + 1 };
    let position = format!("  ({number}/{}){}", panel.rows.len(), panel.filter.label());
    lines.push(Line::styled(position, dim));
    lines
}

fn line(panel: &mut TreePanel, row: &Row, is_selected: bool, view: View<'_>) -> Line {
    let theme = view.theme;
    let (accent, dim) = (theme.fg(Token::Accent), theme.fg(Token::Dim));
    let bold = |style: Style| if is_selected { style.bold() } else { style };
    let mut line = Line::styled(if is_selected { "› " } else { "  " }, accent);
    line.push(row.guides.as_str(), dim);
    let Some(node) = panel.nodes.get(row.node) else { return line };
    if node.is_active {
        line.push("• ", accent);
    }
    if let Some(label) = &node.label {
        line.push(format!("[{label}] "), theme.fg(Token::Warning));
        if panel.shows_label_times {
            let time = node.labeled_at.as_deref().map(short_time).unwrap_or_default();
            line.push(format!("{time} "), dim);
        }
    }
    let shown = panel.texts.shown(&panel.session, &panel.nodes, row.node);
    line.push(shown.role, bold(theme.fg(shown.token)));
    let is_plain = !shown.role.is_empty();
    let style = match (shown.is_dim, is_plain) {
        (true, _) => dim,
        (false, true) => Style::PLAIN,
        (false, false) => theme.fg(shown.token),
    };
    line.push(shown.text, bold(style));
    line
}

/// Returns a time in minutes, in the user's time zone; the text itself if it is not a time.
fn short_time(timestamp: &str) -> String {
    match timestamp.parse::<jiff::Timestamp>() {
        Ok(time) => {
            let time = time.to_zoned(jiff::tz::TimeZone::system());
            time.strftime("%Y-%m-%d %H:%M").to_string()
        }
        Err(_) => timestamp.to_owned(),
    }
}
