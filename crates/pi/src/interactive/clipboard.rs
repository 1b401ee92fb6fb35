//! Copying to and pasting from the clipboard. A success is reported only where it is known.

use base64::Engine as _;

use super::app::App;

/// Copies the last answer.
pub(super) fn copy_last_answer(app: &mut App) -> bool {
    match app.session.last_assistant_text() {
        Some(text) => copy(app, text),
        None => app.status("There is no answer to copy yet"),
    }
    true
}

/// Copies a text through the terminal.
pub(super) fn copy(app: &mut App, text: String) {
    let encoded = base64::engine::general_purpose::STANDARD.encode(text);
    app.display.send(format!("\x1b]52;c;{encoded}\x07").into());
    app.status("Sent to the terminal's clipboard");
}

/// Pastes an image or a text of the clipboard.
pub(super) fn paste(app: &mut App) -> bool {
    app.status("Pasting from the clipboard is not available here; use the terminal's own paste");
    true
}
