//! The dock: everything below the transcript, from the queue to the footer.

use std::time::Instant;

use pi_coding_agent::extension::WidgetPlacement;
use pi_tui::editor::Border;
use pi_tui::{Component as _, Line, Token, View};

use crate::app::App;

/// Rows of the footer without what extensions add.
const FOOTER: usize = 2;

/// Returns the lines of the dock. Parts that did not change return the lines they have.
pub(crate) fn render(app: &mut App, view: View<'_>, now: Instant) -> Vec<Line> {
    let mut lines = app.queue.render(view, &app.keymap);
    let above = app.widgets.render(WidgetPlacement::AboveEditor, view);
    lines.push(Line::new());
    lines.extend(above);
    let panel = app.panels.render(view);
    match &panel {
        Some(panel) => lines.extend(panel.iter().cloned()),
        None => match app.mounts.editor(view) {
            Some(editor) => lines.extend(editor),
            None => {
                app.editor.set_border(border(app, view, now));
                lines.extend(app.editor.render(view).iter().cloned());
            }
        },
    }
    let below = app.widgets.render(WidgetPlacement::BelowEditor, view);
    let footer = match app.mounts.footer(view) {
        Some(footer) => footer,
        None => app.footer.render(view),
    };
    // What extensions show below a question must not move its beginning above the screen.
    let room = panel.map_or(usize::MAX, |panel| view.rows.saturating_sub(panel.len() + 1));
    let has_room = below.len() + footer.len() <= room;
    lines.extend(below.into_iter().filter(|_| has_room));
    lines.extend(footer.into_iter().take(room.max(FOOTER)));
    lines
}

/// Returns the border of the editor: its color shows the thinking level or a shell command, its
/// label the activity.
fn border(app: &App, view: View<'_>, now: Instant) -> Border {
    let theme = view.theme;
    let token = if app.editor.starts_with("!") { Token::BashMode } else { thinking_token(app) };
    let style = theme.fg(token);
    let mode = app.editor.mode_label().map(|mode| Line::styled(mode, style));
    let label = app.activity.label(now, &app.keymap).map(|(spinner, text)| {
        let mut line = Line::styled(spinner, style);
        line.push(format!(" {text}"), style);
        line
    });
    Border { style, label: label.or(mode) }
}

fn thinking_token(app: &App) -> Token {
    use pi_ai::ThinkingLevel as Level;
    match app.footer.thinking {
        None | Some(Level::Off) => Token::ThinkingOff,
        Some(Level::Minimal) => Token::ThinkingMinimal,
        Some(Level::Low) => Token::ThinkingLow,
        Some(Level::Medium) => Token::ThinkingMedium,
        Some(Level::High) => Token::ThinkingHigh,
        Some(Level::Xhigh) => Token::ThinkingXhigh,
        Some(Level::Max) => Token::ThinkingMax,
    }
}
