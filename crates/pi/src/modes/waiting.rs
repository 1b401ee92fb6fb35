//! A line on the terminal that shows what a run waits for, and for how long. It appears after a
//! second and disappears before anything else is written.

use std::io::{IsTerminal as _, Write as _};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pi_base::lock;
use pi_base::text;

/// Time before the line appears, and between two updates of it.
const TICK: Duration = Duration::from_secs(1);

/// Width of the line, in characters. It must not wrap, or it could not be removed.
const WIDTH: usize = 60;

/// The line. Clones share it.
#[derive(Clone)]
pub(super) struct WaitingLine(Arc<Mutex<State>>);

struct State {
    /// What the run waits for, since when.
    subject: Option<(String, Instant)>,
    is_shown: bool,
}

impl WaitingLine {
    /// Returns a line on stderr; `None` if stderr is not a terminal that can remove it.
    pub(super) fn new() -> Option<Self> {
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        if is_dumb || !std::io::stderr().is_terminal() {
            return None;
        }
        let line = Self(Arc::new(Mutex::new(State { subject: None, is_shown: false })));
        let state = Arc::downgrade(&line.0);
        tokio::spawn(async move {
            let mut ticks = tokio::time::interval(TICK / 2);
            loop {
                ticks.tick().await;
                let Some(state) = state.upgrade() else { return };
                lock(&state).draw();
            }
        });
        Some(line)
    }

    /// Waits for something else from now on. The time counts on if the subject is the same.
    pub(super) fn set(&self, subject: &str) {
        let mut state = lock(&self.0);
        if state.subject.as_ref().is_none_or(|(waiting_for, _)| waiting_for != subject) {
            state.remove();
            state.subject = Some((subject.to_owned(), Instant::now()));
        }
    }

    /// Removes the line until the next update, so that something else can be written.
    pub(super) fn hide(&self) {
        lock(&self.0).remove();
    }

    /// Removes the line. Nothing is waited for any more.
    pub(super) fn clear(&self) {
        let mut state = lock(&self.0);
        state.remove();
        state.subject = None;
    }
}

impl State {
    fn draw(&mut self) {
        let Some((subject, since)) = &self.subject else { return };
        let elapsed = since.elapsed();
        if elapsed < TICK {
            return;
        }
        let text = text::line(subject, WIDTH);
        // A failure to write to stderr cannot be reported anywhere.
        let _ = write!(std::io::stderr(), "\r\x1b[Kpi: {text} ({} s)", elapsed.as_secs());
        self.is_shown = true;
    }

    fn remove(&mut self) {
        if std::mem::take(&mut self.is_shown) {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
