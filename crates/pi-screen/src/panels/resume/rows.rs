//! The lines of the session selector.

use std::path::Path;

use pi_session::SessionInfo;
use pi_tui::input::Keymap;
use pi_tui::text::rule;
use pi_tui::{InputLine, Line, Style, Theme, Token, View, text};

use super::super::frame;
use super::age::age;
use super::sessions::{ROWS, Row, Scope, Sessions, Sort};
use super::{ResumePanel, State};

/// Texts that contain keys, which the user can change.
pub(super) struct Keys {
    scope: String,
    sort: String,
    named: String,
    delete: String,
    path: String,
    rename: String,
    confirm: String,
    cancel: String,
}

impl Keys {
    pub(super) fn new(keymap: &Keymap) -> Self {
        Self {
            scope: keymap.label("tui.input.tab"),
            sort: keymap.label("app.session.toggleSort"),
            named: keymap.label("app.session.toggleNamedFilter"),
            delete: keymap.label("app.session.delete"),
            path: keymap.label("app.session.togglePath"),
            rename: keymap.label("app.session.rename"),
            confirm: keymap.label("tui.select.confirm"),
            cancel: keymap.label("tui.select.cancel"),
        }
    }
}

/// Returns the lines of the panel.
pub(super) fn panel(panel: &mut ResumePanel, view: View<'_>) -> Vec<Line> {
    let rows = frame::list_rows(ROWS, view);
    panel.sessions.selection.set_rows(rows);
    let border = rule(view.width, view.theme.fg(Token::Accent));
    let mut lines = vec![border.clone(), Line::new()];
    if let State::Renaming { name, .. } = &mut panel.state {
        lines.extend(renaming(name, &panel.keys, view));
    } else {
        lines.push(title(panel, view));
        lines.extend(hints(panel, view));
        lines.push(Line::new());
        lines.push(panel.search.line(view));
        lines.push(Line::new());
        lines.extend(list(panel, view));
    }
    lines.extend([Line::new(), border]);
    lines
}

fn renaming(name: &mut InputLine, keys: &Keys, view: View<'_>) -> Vec<Line> {
    let mut title = Line::plain(" ");
    title.push("Rename Session", Style::PLAIN.bold());
    let hint = format!(" {} saves · {} keeps the name", keys.confirm, keys.cancel);
    let hint = Line::styled(hint, view.theme.fg(Token::Dim));
    vec![title, Line::new(), name.line(view), Line::new(), hint]
}

fn title(panel: &ResumePanel, view: View<'_>) -> Line {
    let theme = view.theme;
    let sessions = &panel.sessions;
    let (accent, dim) = (theme.fg(Token::Accent), theme.fg(Token::Dim));
    let mut right = Line::new();
    if panel.shows_all() {
        right.push("○ Current Folder | ", dim);
        right.push("◉ All", accent);
    } else {
        right.push("◉ Current Folder", accent);
        right.push(" | ○ All", dim);
    }
    right.push("  Name: ", dim);
    right.push(if sessions.only_named() { "Named" } else { "All" }, accent);
    right.push("  Sort: ", dim);
    let sort = match sessions.sort() {
        Sort::Threaded => "Threaded",
        Sort::Recent => "Recent",
        Sort::Fuzzy => "Fuzzy",
    };
    right.push(sort, accent);
    let scope = if sessions.scope() == Scope::All { "All" } else { "Current Folder" };
    let mut left = Line::styled(format!("Resume Session ({scope})"), Style::PLAIN.bold());
    if sessions.is_loading() {
        left.push(format!(" loading… {}", sessions.loaded()), dim);
    }
    both_ends(&left, &right, view.width, 1)
}

/// Returns a row whose right end is complete, as far as it fits; the left one is cut.
fn both_ends(left: &Line, right: &Line, width: usize, gap: usize) -> Line {
    let right = text::truncate(right, width, "…");
    let room = width.saturating_sub(right.width() + gap);
    let mut line = text::truncate(left, room, if room > 1 { "…" } else { "" });
    line.pad_to(width - right.width(), Style::PLAIN);
    line.append(&right);
    line
}

fn hints(panel: &ResumePanel, view: View<'_>) -> [Line; 2] {
    let theme = view.theme;
    let (dim, error) = (theme.fg(Token::Dim), theme.fg(Token::Error));
    let keys = &panel.keys;
    let cut = |line: Line| text::truncate(&line, view.width, "…");
    if let State::Deleting(_) = panel.state {
        let mut line = Line::styled("Delete this session? ", error);
        line.push(format!("{} deletes · {} keeps it", keys.confirm, keys.cancel), dim);
        return [cut(line), Line::new()];
    }
    let first = match &panel.problem {
        Some(problem) => Line::styled(problem.as_str(), error),
        None => Line::styled(
            format!("{} folder/all · re:PATTERN regex · \"words\" phrase", keys.scope),
            dim,
        ),
    };
    let path = if panel.sessions.shows_path() { "on" } else { "off" };
    let mut second = format!(
        "{} sort · {} named · {} delete · {} path ({path})",
        keys.sort, keys.named, keys.delete, keys.path
    );
    if panel.can_rename {
        second = format!("{second} · {} rename", keys.rename);
    }
    [cut(first), cut(Line::styled(second, dim))]
}

fn list(panel: &ResumePanel, view: View<'_>) -> Vec<Line> {
    let theme = view.theme;
    let sessions = &panel.sessions;
    let muted = theme.fg(Token::Muted);
    let now = jiff::Timestamp::now().as_millisecond();
    let mut lines = Vec::new();
    for at in sessions.selection.visible() {
        if let Some((row, session)) = sessions.row(at) {
            let is_selected = at == sessions.selection.index();
            lines.push(line(panel, row, session, is_selected, now, view));
        }
    }
    if let Some(text) = status(sessions, frame::list_rows(ROWS, view)) {
        lines.push(Line::styled(format!("  {text}"), muted));
    }
    lines
}

/// Returns the line below the rows.
fn status(sessions: &Sessions, rows: usize) -> Option<String> {
    let query = sessions.query();
    if let Some(problem) = query.problem() {
        return Some(format!("The pattern is invalid: {problem}"));
    }
    let mut parts = Vec::new();
    match sessions.len() {
        0 if sessions.is_loading() || sessions.is_searching() => {}
        0 if !query.is_empty() => parts.push("No session matches".to_owned()),
        0 if sessions.only_named() => parts.push("No session has a name".to_owned()),
        0 if sessions.scope() == Scope::CurrentFolder => {
            parts.push("There are no sessions in this folder yet".to_owned());
        }
        0 => parts.push("There are no sessions yet".to_owned()),
        count if count > rows => {
            parts.push(format!("({}/{count})", sessions.selection.index() + 1));
        }
        _ => {}
    }
    if sessions.is_searching() {
        parts.push("searching all messages…".to_owned());
    } else if !query.is_empty() && sessions.len() > 0 {
        let count = sessions.len();
        parts.push(format!("{count} {}", if count == 1 { "match" } else { "matches" }));
    }
    (!parts.is_empty()).then(|| parts.join(" "))
}

fn line(
    panel: &ResumePanel,
    row: &Row,
    session: &SessionInfo,
    is_selected: bool,
    now: i64,
    view: View<'_>,
) -> Line {
    let theme = view.theme;
    let sessions = &panel.sessions;
    let is_deleted = matches!(&panel.state, State::Deleting(one) if one.path == session.path);
    let mut left = Line::styled(if is_selected { "› " } else { "  " }, theme.fg(Token::Accent));
    left.push(row.guides.as_str(), theme.fg(Token::Dim));
    let title = session.name.as_ref().unwrap_or(&session.first_message);
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    left.push(title, title_style(sessions, session, is_selected, is_deleted, theme));
    let mut details = Vec::new();
    if sessions.shows_path() {
        details.push(short(&session.path.to_string_lossy(), &sessions.home));
    }
    if sessions.scope() == Scope::All && !session.cwd.is_empty() {
        details.push(short(&session.cwd, &sessions.home));
    }
    let count = session.message_count.saturating_sub(session.system_message_count);
    details.push(format!("{count} {}", age(session.modified, now)));
    let token = if is_deleted { Token::Error } else { Token::Dim };
    // The beginning of the title stays readable beside a long path.
    let room = view.width.saturating_sub(view.width / 4).max(8);
    let right = Line::styled(details.join(" "), theme.fg(token));
    let skipped = right.width().saturating_sub(room);
    let right = text::slice(&right, skipped, right.width());
    both_ends(&left, &right, view.width, 2)
}

fn title_style(
    sessions: &Sessions,
    session: &SessionInfo,
    is_selected: bool,
    is_deleted: bool,
    theme: &Theme,
) -> Style {
    let style = if is_deleted {
        theme.fg(Token::Error)
    } else if sessions.is_open(session) {
        theme.fg(Token::Accent)
    } else if session.name.is_some() {
        theme.fg(Token::Warning)
    } else {
        Style::PLAIN
    };
    if is_selected { style.bold() } else { style }
}

/// Returns a path with `~` for the home directory.
fn short(path: &str, home: &Path) -> String {
    match Path::new(path).strip_prefix(home) {
        _ if home.as_os_str().is_empty() => path.to_owned(),
        Ok(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Ok(rest) => format!("~/{}", rest.display()),
        Err(_) => path.to_owned(),
    }
}
