//! Questions before a session exists: one panel on the screen, without the application.
//!
//! `--resume` and the question of trust are asked here. The panel is the same as later in the
//! application; its answer goes to the caller instead of an effect.

use std::time::Instant;

use pi_coding_agent::Environment;
use pi_protocol::Outcome;
use pi_tui::input::decoder::{Decoder, Event};
use pi_tui::input::{Input, KeyKind, Keymap, Reply};
use pi_tui::{Blocks, View};

use super::display::{Answered, Display};
use super::keyboard::Keyboard;
use super::panel::{Panel, PanelEvent, fitted};
use super::preferences::Preferences;
use super::program::{Program, StartError};
use super::signals::{Signal, Signals};
use super::tasks::until;
use super::themes::{self, Themes};

/// The terminal before the application exists.
pub(super) struct Prelude {
    pub(super) display: Display,
    pub(super) keyboard: Keyboard,
    pub(super) decoder: Decoder,
    pub(super) signals: Signals,
}

/// Reason for a turn of the loop.
enum Woken {
    Input(Vec<u8>),
    Undecided,
    Signal(Signal),
    Changed,
    Time,
    Written,
}

impl Prelude {
    /// Takes the terminal.
    pub(super) fn open<E>(
        program: Program,
        environment: &Environment,
        preferences: &Preferences,
    ) -> Result<Self, StartError<E>> {
        let signals = Signals::new().map_err(StartError::Signals)?;
        let (display, keyboard) =
            Display::open(program, environment, preferences).map_err(StartError::Terminal)?;
        let decoder = display.decoder();
        Ok(Self { display, keyboard, decoder, signals })
    }

    /// Shows a panel until it closes. Returns its answer, `None` if the user cancelled.
    ///
    /// Problems of the theme are reported later, by the application.
    pub(super) async fn ask<A>(
        &mut self,
        environment: &Environment,
        preferences: &Preferences,
        keymap: &Keymap,
        panel: &mut dyn Panel<A>,
    ) -> Result<Option<A>, Outcome> {
        let depth = self.display.capabilities.color_depth;
        let (mut themes, _) =
            Themes::new(&preferences.theme, depth, environment, &[themes::directory(environment)]);
        self.display.show_colors(&mut themes);
        self.display.request_frame_now();
        let answer = self.run(&mut themes, keymap, panel).await;
        self.display.clear();
        answer
    }

    async fn run<A>(
        &mut self,
        themes: &mut Themes,
        keymap: &Keymap,
        panel: &mut dyn Panel<A>,
    ) -> Result<Option<A>, Outcome> {
        let mut blocks = Blocks::new();
        let mut undecided: Option<Instant> = None;
        loop {
            let now = Instant::now();
            if self.display.is_due(now) {
                let size = self.display.size();
                let theme = themes.current();
                let view = View { width: size.columns, rows: size.rows, theme: &theme };
                panel.update();
                let lines = fitted(panel.render(view), view);
                self.display.draw(&mut blocks, &lines, &[], view, now);
            }
            let mut decoded = Vec::new();
            match self.wait(undecided, panel).await {
                Woken::Input(bytes) if bytes.is_empty() => {
                    return Err(Outcome::HungUp);
                }
                Woken::Input(bytes) => {
                    self.decoder.push(&bytes, &mut decoded);
                    undecided = self.decoder.timeout().map(|timeout| Instant::now() + timeout);
                }
                Woken::Undecided => {
                    self.decoder.flush(&mut decoded);
                    undecided = None;
                }
                Woken::Signal(Signal::Ended(exit)) => return Err(exit),
                Woken::Signal(Signal::Resized) => self.display.resized(),
                Woken::Signal(Signal::Continued) => self.display.redraw(),
                Woken::Changed => self.display.request_frame(),
                Woken::Time => self.display.on_time(Instant::now()),
                Woken::Written => {}
            }
            if self.display.has_failed() {
                return Err(Outcome::HungUp);
            }
            let mut events = decoded.into_iter();
            for event in events.by_ref() {
                self.display.request_frame_now();
                match event {
                    Event::Reply(reply) => self.reply(themes, &reply),
                    Event::Input(input) => match handle(panel, &input, keymap) {
                        PanelEvent::Ignored | PanelEvent::Changed => {}
                        PanelEvent::Close(answer) => return Ok(answer),
                        PanelEvent::Do(answer) => return Ok(Some(answer)),
                    },
                }
            }
        }
    }

    async fn wait<A>(&mut self, undecided: Option<Instant>, panel: &dyn Panel<A>) -> Woken {
        let is_held_back = self.display.is_held_back();
        let wake = self.display.next_wake();
        let changed = async {
            match panel.background() {
                Some(changed) => changed.notified().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            signal = self.signals.next() => Woken::Signal(signal),
            piece = self.keyboard.recv() => {
                Woken::Input(piece.and_then(Result::ok).unwrap_or_default())
            }
            () = until(undecided) => Woken::Undecided,
            () = changed => Woken::Changed,
            () = self.display.written(), if is_held_back => Woken::Written,
            () = until(wake) => Woken::Time,
        }
    }

    fn reply(&mut self, themes: &mut Themes, reply: &Reply) {
        if self.display.answered(reply) != Answered::Nothing {
            self.display.show_colors(themes);
        }
    }
}

/// Gives input to the panel, unless it has no meaning before there is a session.
fn handle<A>(panel: &mut dyn Panel<A>, input: &Input, keymap: &Keymap) -> PanelEvent<A> {
    match input {
        Input::Key(key) if key.kind == KeyKind::Release => PanelEvent::Ignored,
        Input::Mouse(_) | Input::Focus(_) => PanelEvent::Ignored,
        _ => panel.handle(input, keymap),
    }
}
