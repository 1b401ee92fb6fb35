//! Leaving: what stays on the main screen, and how to come back.

use std::time::Instant;

use pi_config::settings::ExitOutput;
use pi_tui::{Encoder, Line, View};

use crate::app::App;
use crate::app::dock;
use crate::app::notify;

/// The most rows of the transcript that are written after the full screen.
const MOST_ROWS: usize = 5_000;

/// Gives the terminal back, and says how to resume the session.
pub(crate) fn leave(app: &mut App, session_directory: Option<&str>) {
    if app.display.has_failed() {
        return app.display.close();
    }
    notify::end(app);
    let mut out = match app.preferences.exit_output {
        ExitOutput::Transcript if app.display.is_fullscreen() => transcript(app),
        _ => Vec::new(),
    };
    app.display.close();
    if let Some(command) = resume_command(app, session_directory) {
        let line = Line::styled("To resume this session:", dim(app));
        encoder(app).line(&line, usize::MAX, &mut out);
        out.extend(format!("\x1b[m {command}\r\n").into_bytes());
    }
    (app.program.print)(&String::from_utf8_lossy(&out));
}

fn dim(app: &App) -> pi_tui::Style {
    app.themes.current().fg(pi_tui::Token::Dim)
}

fn encoder(app: &App) -> Encoder {
    let encoder = Encoder::new(app.display.capabilities.color_depth);
    match app.display.capabilities.hyperlinks {
        true => encoder.with_hyperlinks(),
        false => encoder,
    }
}

/// Returns the end of the transcript and what is below it, as bytes for the main screen.
fn transcript(app: &mut App) -> Vec<u8> {
    let theme = app.themes.current();
    let size = app.display.size();
    let view = View { width: size.columns, rows: size.rows, theme: &theme };
    let dock = dock::render(app, view, Instant::now());
    let blocks = app.transcript.blocks();
    let mut shown = Vec::new();
    let mut rows = 0;
    let mut next = blocks.last();
    while let Some(id) = next
        && rows < MOST_ROWS
    {
        let lines = blocks.lines(id, view);
        rows += lines.len();
        shown.push(lines);
        next = blocks.previous(id);
    }
    let encoder = encoder(app);
    let mut out = Vec::new();
    let mut write = |line: &Line| {
        encoder.line(line, view.width, &mut out);
        out.extend_from_slice(b"\x1b[m\r\n");
    };
    if next.is_some() {
        write(&Line::styled("… earlier messages are in the session", dim(app)));
    }
    shown.iter().rev().flat_map(|lines| lines.iter()).for_each(&mut write);
    dock.iter().for_each(&mut write);
    out
}

/// Returns the command that resumes the session, if there is something to resume.
fn resume_command(app: &App, session_directory: Option<&str>) -> Option<String> {
    let is_saved = app.session.with_log(|log| log.is_saved());
    app.session.file().filter(|file| is_saved && file.exists())?;
    let directory =
        session_directory.map(|directory| format!(" --session-dir {}", quoted(directory)));
    Some(format!("pi --session {}{}", app.session.id(), directory.unwrap_or_default()))
}

/// Quotes a word for a shell, if it needs that.
fn quoted(word: &str) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "/._-~+,:=@".contains(it);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn words_with_spaces_are_quoted_for_a_shell() {
        assert_eq!(quoted("/home/me/s.d"), "/home/me/s.d");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(quoted(""), "''");
    }
}
