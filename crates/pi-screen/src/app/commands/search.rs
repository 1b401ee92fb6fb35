//! `/search [text]`: searches in the transcript, for terminals that keep the key for themselves.

use crate::app::App;
use crate::app::search;

pub(super) fn run(app: &mut App, text: &str) {
    match app.display.is_fullscreen() {
        true => search::begin(app, text),
        false => app.status(
            "The terminal has the transcript and searches it; /search is for the TUI mode fullscreen",
        ),
    }
}
