//! The answer on stdout while it grows, if stdout is a terminal.

use std::io::{self, IsTerminal as _, Stdout, Write as _};
use std::sync::Mutex;

use pi_agent::BoxFuture;
use pi_base::lock;
use pi_coding_agent::session::{MessageDelta, SessionEvent, SessionListener};

use crate::plain::PlainWriter;

/// Writes the text of answers as it arrives.
pub(super) struct StreamedAnswer(Mutex<State>);

struct State {
    out: PlainWriter<Stdout>,
    /// The output is in the middle of a line.
    in_line: bool,
    /// A part of the current or last answer was written.
    has_text: bool,
    error: Option<io::Error>,
}

impl StreamedAnswer {
    /// Returns the listener; `None` if stdout is not a terminal: a program that reads the output
    /// gets the last answer only.
    pub(super) fn new() -> Option<Self> {
        let stdout = io::stdout();
        if !stdout.is_terminal() {
            return None;
        }
        let out = PlainWriter::new(stdout);
        Some(Self(Mutex::new(State { out, in_line: false, has_text: false, error: None })))
    }

    /// Returns whether the last answer was written.
    pub(super) fn finish(&self) -> io::Result<bool> {
        let mut state = lock(&self.0);
        state.end_line();
        match state.error.take() {
            Some(error) => Err(error),
            None => Ok(state.has_text),
        }
    }
}

impl SessionListener for StreamedAnswer {
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        match event {
            SessionEvent::MessageStart { message } if message.as_assistant().is_some() => {
                lock(&self.0).has_text = false;
            }
            SessionEvent::MessageUpdate { assistant_message_event, .. } => {
                match assistant_message_event {
                    MessageDelta::TextDelta { delta, .. } => lock(&self.0).write(delta),
                    MessageDelta::TextEnd { .. } => lock(&self.0).end_line(),
                    _ => {}
                }
            }
            SessionEvent::MessageEnd { .. } => lock(&self.0).end_line(),
            _ => {}
        }
        Box::pin(std::future::ready(()))
    }
}

impl State {
    fn write(&mut self, text: &str) {
        if text.is_empty() || self.error.is_some() {
            return;
        }
        self.has_text |= !text.trim().is_empty();
        self.in_line = !text.ends_with('\n');
        let written = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
        self.error = written.err();
    }

    fn end_line(&mut self) {
        if self.in_line {
            self.write("\n");
        }
    }
}
