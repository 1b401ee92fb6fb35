//! The dock: everything below the transcript, from the queue to the footer.

use std::time::Instant;

use pi_coding_agent::extension::WidgetPlacement;
use pi_tui::editor::Border;
use pi_tui::{Component as _, Line, Token, View};

use crate::app::App;

/// Returns the lines of the dock. Parts that did not change return the lines they have.
pub(crate) fn render(app: &mut App, view: View<'_>, now: Instant) -> Vec<Line> {
    let mut lines = app.queue.render(view, &app.keymap);
    let above = app.widgets.render(WidgetPlacement::AboveEditor, view);
    lines.push(Line::new());
    lines.extend(above);
    match app.panels.render(view) {
        Some(panel) => lines.extend(panel.iter().cloned()),
        None => match app.mounts.editor(view) {
            Some(editor) => lines.extend(editor),
            None => {
                app.editor.set_border(border(app, view, now));
                lines.extend(app.editor.render(view).iter().cloned());
            }
        },
    }
    lines.extend(app.widgets.render(WidgetPlacement::BelowEditor, view));
    match app.mounts.footer(view) {
        Some(footer) => lines.extend(footer),
        None => lines.extend(app.footer.render(view)),
    }
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
