//! Signals that concern a screen.

use pi_protocol::Outcome;
use tokio::signal::unix::{Signal as Stream, SignalKind, signal};

/// A signal that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signal {
    /// The terminal has another size.
    Resized,
    /// The process continues after it was stopped.
    Continued,
    /// The process is asked to end.
    Ended(Outcome),
}

/// The signals that the event loop waits for.
pub(super) struct Signals {
    resize: Stream,
    resume: Stream,
    interrupt: Stream,
    terminate: Stream,
    hangup: Stream,
}

impl Signals {
    pub(super) fn new() -> std::io::Result<Self> {
        Ok(Self {
            resize: signal(SignalKind::window_change())?,
            resume: signal(SignalKind::from_raw(rustix::process::Signal::CONT.as_raw()))?,
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    pub(super) async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.resize.recv() => Signal::Resized,
            _ = self.resume.recv() => Signal::Continued,
            _ = self.interrupt.recv() => Signal::Ended(Outcome::Aborted),
            _ = self.terminate.recv() => Signal::Ended(Outcome::Terminated),
            _ = self.hangup.recv() => Signal::Ended(Outcome::HungUp),
        }
    }
}
