//! The terminal and the screen on it: modes, frames, size.

mod skipped;
mod switch;

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pi_coding_agent::Environment;
use pi_coding_agent::session::AgentSession;
use pi_tui::input::{Decoder, Reply};
use pi_tui::screen::{Frame, FullScreen, RegularScreen, Size};
use pi_tui::terminal::{Capabilities, Change, Guard, Mode, Modes, Startup, sequences};
use pi_tui::theme::TerminalColors;
use pi_tui::{Blocks, Line, PlacedOverlay, View};

use skipped::Skipped;
use switch::screen;

use super::keyboard::{self, Keyboard, Switch};
use super::output::Output;
use super::preferences::{self, Preferences};
use super::themes::Themes;
use super::transcript::ImageLimits;
use crate::program::{DrawnScreen, Program};

/// The shortest time between two frames that no input requested.
const FRAME: Duration = Duration::from_millis(16);

/// Time without a further change of the size before the screen is drawn for it.
const RESIZE_PAUSE: Duration = Duration::from_millis(60);

/// Time that the terminal has to tell where its cursor is.
const CURSOR_TIMEOUT: Duration = Duration::from_millis(250);

/// Time that the first frame waits for the colors of the terminal.
const COLORS_TIMEOUT: Duration = Duration::from_millis(100);

/// Time that the last frame has to arrive.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(500);

/// Rows of a resumed session that the regular screen writes at first, in screens.
const FIRST_SCREENS: usize = 3;

/// Pixels of a cell, if the terminal does not say.
const CELL: (u16, u16) = (9, 18);

/// Text of the label that leads back to the end.
const FOLLOW_LABEL: &str = " ↓ newer output below · ctrl+end ";

/// The terminal and the screen on it.
pub(super) struct Display {
    program: Program,
    pub(super) capabilities: Capabilities,
    terminal: Guard,
    output: Output,
    keyboard: Switch,
    pub(super) screen: Screen,
    /// The regular screen while the full screen is shown, to continue where it was left.
    left: Option<Box<RegularScreen>>,
    startup: Startup,
    size: Size,
    fallback: Size,
    has_mouse: bool,
    hardware_cursor: bool,
    is_focused: bool,
    /// The time at which the next frame is due.
    due: Option<Instant>,
    last_frame: Option<Instant>,
    /// The time until which the first frame waits for answers of the terminal.
    hold: Option<Instant>,
    /// The time at which a changed size is used.
    resize_at: Option<Instant>,
    /// The time at which the place of the cursor is given up.
    cursor_deadline: Option<Instant>,
    paused: Option<Modes>,
}

/// The screen, by mode.
pub(super) enum Screen {
    Regular(Box<RegularScreen>),
    Full(Box<FullScreen>),
}

/// Consequence of an answer of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answered {
    Nothing,
    Colors,
    Appearance(pi_tui::theme::Appearance),
}

impl Display {
    /// Takes the terminal: raw mode, the modes that the screen needs, and questions about what the
    /// terminal can do.
    pub(super) fn open(
        program: Program,
        environment: &Environment,
        preferences: &Preferences,
    ) -> io::Result<(Self, Keyboard)> {
        let capabilities =
            Capabilities::from_env(|name| preferences::variable(name, environment, preferences));
        let terminal = Guard::new(io::stdin(), io::stdout()).map_err(io::Error::other)?;
        (program.restore_after_crash)(terminal.clone());
        let number = |name| environment.variable(name).and_then(|value| value.parse().ok());
        let fallback = Size::new(number("COLUMNS").unwrap_or(80), number("LINES").unwrap_or(24));
        let size = size_of(&terminal, fallback);
        let output = Output::start(terminal.clone())?;
        let measured = terminal.clone();
        (program.screen_opened)(DrawnScreen {
            send: Arc::new(output.sender()),
            size: Arc::new(move || {
                let size = size_of(&measured, fallback);
                let cells = |count: usize| u16::try_from(count).unwrap_or(u16::MAX);
                (cells(size.columns), cells(size.rows))
            }),
        });
        let (keyboard, switch) = keyboard::start()?;
        let colors = TerminalColors {
            colorfgbg: environment.variable("COLORFGBG").map(str::to_owned),
            ..TerminalColors::default()
        };
        let startup = Startup::new(capabilities.queries(), colors);
        let mut display = Self {
            program,
            screen: screen(preferences, size, &capabilities),
            left: None,
            capabilities,
            terminal,
            output,
            keyboard: switch,
            startup,
            size,
            fallback,
            has_mouse: preferences.terminal.mouse,
            hardware_cursor: preferences.hardware_cursor,
            is_focused: true,
            due: None,
            last_frame: None,
            hold: Some(Instant::now() + COLORS_TIMEOUT),
            resize_at: None,
            cursor_deadline: None,
            paused: None,
        };
        display.terminal.raw().map_err(io::Error::other)?;
        let modes = display.modes();
        let questions = display.startup.questions();
        display.terminal.enable(&modes, &questions).map_err(io::Error::other)?;
        display.request_frame_now();
        Ok((display, keyboard))
    }

    /// Returns the decoder for the input of this terminal.
    pub(super) fn decoder(&self) -> Decoder {
        let mut decoder = Decoder::new(self.capabilities.timing);
        decoder.set_erase(self.terminal.erase_byte());
        decoder
    }

    /// Returns the modes that the screen needs.
    fn modes(&self) -> Vec<Mode> {
        let mut modes = vec![Mode::Title, Mode::BracketedPaste, Mode::KittyKeyboard, Mode::Focus];
        modes.push(Mode::ColorScheme);
        if let Screen::Full(_) = self.screen {
            modes.extend([Mode::AlternateScreen, Mode::NoAutowrap]);
            if self.has_mouse {
                modes.push(Mode::Mouse);
                if self.capabilities.has_mouse_motion() {
                    modes.push(Mode::MouseMotion);
                }
            }
        }
        modes.push(Mode::HiddenCursor);
        modes
    }

    /// Requests a frame, at most one per 16 ms.
    pub(super) fn request_frame(&mut self) {
        let at = self.last_frame.map_or_else(Instant::now, |last| last + FRAME);
        self.due = Some(self.due.map_or(at, |due| due.min(at)));
    }

    /// Requests a frame at once: the user waits for it.
    pub(super) fn request_frame_now(&mut self) {
        self.due = Some(Instant::now());
    }

    /// Returns true if a frame is due and the terminal accepts one.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.due.is_some_and(|due| due <= now) && !self.is_blocked() && !self.output.is_busy()
    }

    /// Returns true while frames would be drawn for a size or colors that are about to change, or
    /// while another program has the terminal.
    fn is_blocked(&self) -> bool {
        let changes =
            self.resize_at.is_some() || self.cursor_deadline.is_some() || self.hold.is_some();
        changes || self.paused.is_some()
    }

    /// Returns true if a frame waits for the terminal.
    pub(super) fn is_held_back(&self) -> bool {
        self.due.is_some() && self.output.is_busy()
    }

    /// Returns true if a frame is due within 16 ms and nothing will delay it.
    pub(super) fn is_frame_near(&self) -> bool {
        self.due.is_some() && !self.is_blocked() && !self.output.is_busy()
    }

    /// Waits until the terminal accepts the next frame.
    pub(super) async fn written(&self) {
        self.output.written().await;
    }

    /// Returns true if the terminal is gone.
    pub(super) fn has_failed(&self) -> bool {
        self.output.has_failed()
    }

    /// Returns the time at which something has to be done.
    pub(super) fn next_wake(&self) -> Option<Instant> {
        let due = self.due.filter(|_| !self.is_blocked() && !self.output.is_busy());
        let deadline = match &self.screen {
            Screen::Full(screen) => screen.deadline(),
            Screen::Regular(_) => None,
        };
        let times = [due, deadline, self.resize_at, self.cursor_deadline, self.hold];
        times.into_iter().flatten().min()
    }

    /// Lets time pass.
    pub(super) fn on_time(&mut self, now: Instant) {
        let is_over = |time: &mut Option<Instant>| time.take_if(|at| *at <= now).is_some();
        is_over(&mut self.hold);
        if is_over(&mut self.resize_at) {
            self.use_size();
        }
        if is_over(&mut self.cursor_deadline) {
            if let Screen::Regular(screen) = &mut self.screen {
                screen.cursor_unknown();
            }
            self.request_frame_now();
        }
        if let Screen::Full(screen) = &self.screen
            && screen.deadline().is_some_and(|at| at <= now)
        {
            self.request_frame_now();
        }
    }

    /// Notes that the terminal has another size. While a window is dragged many of these arrive, so
    /// the size is used when no other follows for a while.
    pub(super) fn resized(&mut self) {
        self.resize_at = Some(Instant::now() + RESIZE_PAUSE);
    }

    fn use_size(&mut self) {
        self.size = size_of(&self.terminal, self.fallback);
        let mut out = Vec::new();
        match &mut self.screen {
            Screen::Regular(screen) => {
                screen.resize(self.size, &mut out);
                if screen.awaits_cursor() {
                    self.cursor_deadline = Some(Instant::now() + CURSOR_TIMEOUT);
                }
            }
            Screen::Full(screen) => screen.resize(self.size),
        }
        self.output.write(out);
        self.request_frame_now();
    }

    /// Uses an answer of the terminal.
    pub(super) fn answered(&mut self, reply: &Reply) -> Answered {
        if let Reply::CursorPosition { row, column } = reply
            && let Screen::Regular(screen) = &mut self.screen
        {
            screen.cursor_reported(*row, *column);
            if !screen.awaits_cursor() {
                self.cursor_deadline = None;
                self.request_frame_now();
            }
        }
        let change = self.startup.answer(reply);
        if !self.startup.is_waiting() {
            self.hold = None;
        }
        match change {
            Some(Change::Keyboard { enable, disable }) => {
                // A terminal that is gone is noticed with the next frame.
                let _ = self.terminal.enable(enable.as_slice(), &[]);
                let _ = self.terminal.disable(disable.as_slice());
                Answered::Nothing
            }
            Some(Change::Colors) => Answered::Colors,
            Some(Change::Appearance(appearance)) => {
                self.output.write(self.startup.questions_about_colors());
                Answered::Appearance(appearance)
            }
            _ => Answered::Nothing,
        }
    }

    /// Gives a theme the colors that the terminal reported.
    pub(super) fn show_colors(&self, themes: &mut Themes) {
        let known = self.startup.colors().clone();
        themes.set_colors(|colors| {
            colors.foreground = known.foreground;
            colors.background = known.background;
            colors.palette = known.palette;
            colors.scheme = known.scheme.or(colors.scheme);
        });
    }

    /// Returns the size of images, if the terminal shows them and the user wants them.
    pub(super) fn image_limits(&self, preferences: &Preferences) -> Option<ImageLimits> {
        self.capabilities.images.filter(|_| preferences.terminal.show_images)?;
        let cell = self.terminal.cell_size().unwrap_or(CELL);
        Some(ImageLimits { cell, columns: preferences.terminal.image_width })
    }

    /// Returns what the terminal said about itself.
    pub(super) fn startup(&self) -> &Startup {
        &self.startup
    }

    pub(super) fn size(&self) -> Size {
        self.size
    }

    pub(super) fn is_fullscreen(&self) -> bool {
        matches!(self.screen, Screen::Full(_))
    }

    /// Returns true if the window has the focus, as far as the terminal tells.
    pub(super) fn is_focused(&self) -> bool {
        self.is_focused
    }

    /// Notes that the window gained or lost the focus.
    pub(super) fn set_focused(&mut self, is_focused: bool) {
        self.is_focused = is_focused;
        if let Screen::Full(screen) = &mut self.screen
            && !is_focused
        {
            screen.cancel_drag();
        }
    }

    /// Draws a frame.
    pub(super) fn draw(
        &mut self,
        blocks: &mut Blocks,
        dock: &[Line],
        overlays: &[PlacedOverlay],
        view: View<'_>,
        now: Instant,
    ) {
        let mut frame = Frame::new(view.theme, dock, now);
        frame.cursor = self.hardware_cursor;
        frame.overlays = overlays;
        frame.label = FOLLOW_LABEL;
        let mut out = Vec::new();
        match &mut self.screen {
            Screen::Regular(screen) => {
                if self.last_frame.is_none() {
                    let first = screen.start_at_end(blocks, view, view.rows * FIRST_SCREENS);
                    if let Some(first) = first {
                        let skipped = blocks.index_of(first).unwrap_or_default();
                        blocks.insert_before(first, Box::new(Skipped(skipped)));
                    }
                }
                screen.draw(blocks, &frame, &mut out);
            }
            Screen::Full(screen) => screen.draw(blocks, &frame, &mut out),
        }
        self.output.write(out);
        self.last_frame = Some(now);
        self.due = None;
    }

    /// Removes what is shown, so that the next frame is like the first.
    pub(super) fn clear(&mut self) {
        self.left = None;
        if let Screen::Regular(screen) = &mut self.screen {
            let mut out = Vec::new();
            screen.suspend(&mut out);
            self.output.write(out);
        }
        self.last_frame = None;
        self.request_frame_now();
    }

    /// Draws everything that is visible again, because the user wants another look of it.
    pub(super) fn redraw(&mut self) {
        match &mut self.screen {
            Screen::Regular(screen) => screen.redraw(),
            Screen::Full(screen) => screen.redraw(),
        }
        self.request_frame_now();
    }

    /// Sets the title of the window to the name and the directory of the session.
    pub(super) fn set_title(&mut self, session: &AgentSession) {
        let directory = session.workspace().cwd().file_name().unwrap_or_default();
        let directory = directory.to_string_lossy();
        let title = match session.name() {
            Some(name) => format!("π - {name} - {directory}"),
            None => format!("π - {directory}"),
        };
        self.set_title_text(&title);
    }

    /// Sets the title of the window.
    pub(super) fn set_title_text(&mut self, title: &str) {
        self.output.write(sequences::title(title));
    }

    /// Sends bytes that are not part of a frame, such as a notification.
    pub(super) fn send(&mut self, bytes: Vec<u8>) {
        self.output.write(bytes);
    }

    /// Gives the terminal to another program.
    pub(super) fn pause(&mut self) {
        let mut out = Vec::new();
        if let Screen::Regular(screen) = &mut self.screen {
            screen.suspend(&mut out);
        }
        self.output.write(out);
        self.output.flush(FLUSH_TIMEOUT);
        self.keyboard.pause();
        self.paused = self.terminal.suspend().ok();
        (self.program.terminal_lent)(true);
    }

    /// Takes the terminal back.
    pub(super) fn resume(&mut self) {
        (self.program.terminal_lent)(false);
        // A terminal that is gone is noticed with the next frame.
        let _ = match self.paused.take() {
            Some(modes) => self.terminal.resume(modes),
            None => self.terminal.raw().and_then(|()| self.terminal.enable(&self.modes(), &[])),
        };
        self.keyboard.resume();
        self.use_size();
        self.redraw();
    }

    /// Gives the terminal back for good.
    pub(super) fn close(&mut self) {
        let mut out = Vec::new();
        if let Screen::Regular(screen) = &mut self.screen {
            screen.finish(&mut out);
        }
        self.output.write(out);
        self.output.flush(FLUSH_TIMEOUT);
        self.keyboard.pause();
        // A terminal that is gone needs nothing.
        let _ = self.terminal.stop();
        (self.program.screen_closed)();
    }
}

fn size_of(terminal: &Guard, fallback: Size) -> Size {
    let Size { columns, rows } = fallback;
    let size = terminal.size(pi_tui::terminal::Size { columns, rows });
    Size::new(size.columns, size.rows)
}
