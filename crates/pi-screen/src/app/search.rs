//! The search in the transcript, in fullscreen mode: a box in the upper right corner.

use pi_tui::input::{Input, Key};
use pi_tui::overlay::{Anchor, Length, Margins, OverlayOptions, place};
use pi_tui::screen::SearchStatus;
use pi_tui::{InputEvent, InputLine, Line, PlacedOverlay, Token, View, text};

use crate::app::App;
use crate::display::Screen;

/// Blocks that are searched before the event loop continues.
const STEP: usize = 50;

/// The box of the search.
pub(crate) struct SearchBox {
    query: InputLine,
}

/// Opens the search, if the key means that. Returns false if it does not.
pub(crate) fn open(app: &mut App, key: &Key) -> bool {
    if !app.display.is_fullscreen() || !app.keymap.is(key, "tui.altScreen.search") {
        return false;
    }
    begin(app, "");
    true
}

/// Opens the search for a text.
pub(crate) fn begin(app: &mut App, text: &str) {
    let Screen::Full(screen) = &mut app.display.screen else { return };
    let mut query = InputLine::new();
    query.set_prompt("");
    query.set_text(text);
    screen.search(text);
    app.search = Some(SearchBox { query });
}

/// Handles input while the search is open. Returns false if the input is for other parts.
pub(crate) fn handle(app: &mut App, input: &Input) -> bool {
    let (Some(search), Screen::Full(screen)) = (&mut app.search, &mut app.display.screen) else {
        return false;
    };
    if let Input::Key(key) = input {
        if app.keymap.is(key, "tui.altScreen.searchClose") {
            screen.search("");
            app.search = None;
            return true;
        }
        if app.keymap.is(key, "tui.altScreen.searchNext") {
            screen.search_next();
            return true;
        }
        if app.keymap.is(key, "tui.altScreen.searchPrevious") {
            screen.search_previous();
            return true;
        }
    }
    match search.query.handle(input, &app.keymap) {
        InputEvent::Changed => screen.search(search.query.text()),
        InputEvent::Ignored => return false,
        _ => {}
    }
    true
}

/// Returns true while blocks are left to be searched.
pub(crate) fn is_running(app: &App) -> bool {
    match (&app.search, &app.display.screen) {
        (Some(search), Screen::Full(screen)) => {
            !search.query.is_empty() && !screen.search_status().is_complete
        }
        _ => false,
    }
}

/// Searches some more blocks.
pub(crate) fn step(app: &mut App) {
    if !is_running(app) {
        return;
    }
    if let Screen::Full(screen) = &mut app.display.screen {
        screen.search_step(app.transcript.blocks(), &app.themes.current(), STEP);
        app.display.request_frame();
    }
}

/// Returns the box at its place.
pub(crate) fn render(app: &mut App, view: View<'_>) -> Option<PlacedOverlay> {
    let Screen::Full(screen) = &app.display.screen else { return None };
    let status = screen.search_status();
    let search = app.search.as_mut()?;
    let options = OverlayOptions {
        width: Some(Length::Percent(40)),
        min_width: 32,
        anchor: Anchor::TopRight,
        margins: Margins::all(1),
        ..OverlayOptions::default()
    };
    let hint = format!(
        " ↑ {} · ↓ {} ─",
        first(&app.keymap.label("tui.altScreen.searchPrevious")),
        first(&app.keymap.label("tui.altScreen.searchNext"))
    );
    let rect = place(&options, app.display.size(), 3);
    let lines = search.lines(view.with_width(rect.width), status, &hint);
    Some(PlacedOverlay {
        row: rect.row,
        column: rect.column,
        width: rect.width,
        lines: lines.into(),
    })
}

fn first(keys: &str) -> &str {
    keys.split('/').next().unwrap_or_default()
}

impl SearchBox {
    fn lines(&mut self, view: View<'_>, status: SearchStatus, hint: &str) -> Vec<Line> {
        let inner = view.width.saturating_sub(2);
        let plain = pi_tui::Style::PLAIN;
        let count = match self.query.is_empty() {
            true => String::new(),
            false => format!(" {}/{} ", status.current, status.total),
        };
        let count = Line::styled(count, view.theme.fg(Token::Dim));
        let room = inner.saturating_sub(count.width() + 1);
        let query = self.query.line(view.with_width(room.max(1)));
        let mut middle = Line::styled("│ ", plain);
        middle.append(&text::truncate(&query, room, ""));
        middle.pad_to(1 + inner.saturating_sub(count.width()), plain);
        middle.append(&count);
        middle.push("│", plain);
        let rule = "─".repeat(inner.saturating_sub(text::width(hint)));
        let hint = if text::width(hint) <= inner { hint } else { "" };
        vec![
            Line::styled(format!("┌{}┐", "─".repeat(inner)), plain),
            text::truncate(&middle, view.width, ""),
            text::truncate(&Line::styled(format!("└{rule}{hint}┘"), plain), view.width, ""),
        ]
    }
}
