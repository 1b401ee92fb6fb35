//! Copying to and pasting from the clipboard. A success is reported only where it is known.

use pi_tui::terminal::sequences;

use super::app::App;

/// Copies the last answer.
pub(super) fn copy_last_answer(app: &mut App) -> bool {
    match app.session.last_assistant_text() {
        Some(text) => copy(app, &text),
        None => app.status("There is no answer to copy yet"),
    }
    true
}

/// Copies a text through the terminal.
pub(super) fn copy(app: &mut App, text: &str) {
    match sequences::copy(text, app.display.capabilities.multiplexer) {
        Some(bytes) => {
            app.display.send(bytes);
            app.status("Sent to the terminal's clipboard");
        }
        None => app.warning("The text is too long for the terminal's clipboard"),
    }
}

/// Pastes an image or a text of the clipboard.
pub(super) fn paste(app: &mut App) -> bool {
    app.status("Pasting from the clipboard is not available here; use the terminal's own paste");
    true
}
