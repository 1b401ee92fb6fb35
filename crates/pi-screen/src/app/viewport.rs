//! Scrolling, selecting and clicking in fullscreen mode.

use std::time::Instant;

use pi_base::process::{Rights, Variables, command};
use pi_tui::input::{Key, Mouse};
use pi_tui::screen::{MouseOutcome, Scroll};

use crate::app::App;
use crate::app::clipboard;
use crate::display::Screen;

const KEYS: &[(&str, Scroll)] = &[
    ("tui.altScreen.pageUp", Scroll::PageUp),
    ("tui.altScreen.pageDown", Scroll::PageDown),
    ("tui.altScreen.halfPageUp", Scroll::HalfUp),
    ("tui.altScreen.halfPageDown", Scroll::HalfDown),
    ("tui.altScreen.lineUp", Scroll::Lines(-1)),
    ("tui.altScreen.lineDown", Scroll::Lines(1)),
    ("tui.altScreen.previousPrompt", Scroll::PreviousPrompt),
    ("tui.altScreen.nextPrompt", Scroll::NextPrompt),
    ("tui.altScreen.top", Scroll::Top),
    ("tui.altScreen.bottom", Scroll::Bottom),
];

/// Scrolls, if the key means that. Returns false if it does not.
pub(crate) fn key(app: &mut App, key: &Key) -> bool {
    let Screen::Full(screen) = &mut app.display.screen else { return false };
    let found = KEYS.iter().find(|(action, _)| app.keymap.is(key, action));
    let Some((_, scroll)) = found else { return false };
    screen.scroll(*scroll);
    true
}

/// Handles a mouse event.
pub(crate) fn mouse(app: &mut App, mouse: Mouse) {
    let Screen::Full(screen) = &mut app.display.screen else { return };
    let theme = app.themes.current();
    match screen.handle_mouse(mouse, app.transcript.blocks(), &theme, Instant::now()) {
        MouseOutcome::Clicked { block, row, link: None, .. } => app.transcript.toggle(block, row),
        MouseOutcome::Clicked { link: Some(address), .. } => open_link(app, &address),
        MouseOutcome::Selected(text) if app.preferences.copy_on_select => {
            clipboard::copy(app, &text);
        }
        _ => {}
    }
}

/// Opens a link of the transcript. Only web addresses and mail: a link may come from a model.
fn open_link(app: &mut App, address: &str) {
    let is_safe = ["https://", "http://", "mailto:"].iter().any(|start| address.starts_with(start));
    if !is_safe {
        return app.status(format!("Not opened, because it is not a web address: {address}"));
    }
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = command(program, None, Variables::Inherited, Rights::User);
    command.arg(address).stdin(std::process::Stdio::null());
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let address = address.to_owned();
    app.tasks.spawn_blocking(
        move || command.status(),
        move |app, result| match result {
            Ok(status) if status.success() => app.status(format!("Opened {address}")),
            _ => app.status(format!("No program opened {address}")),
        },
    );
}
