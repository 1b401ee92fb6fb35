//! Writes frames on a thread of its own: a slow terminal delays neither input nor the session.
//!
//! At most one frame is on its way. While it is, no further frame is composed, so the frame rate
//! follows the terminal.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::time::Duration;

use pi_base::lock;
use pi_tui::terminal::{Guard, TerminalError};
use tokio::sync::Notify;

/// Time that one write may take. A terminal that was stopped with ctrl+s takes longer and is asked
/// again.
const PATIENCE: Duration = Duration::from_secs(3600);

/// The writer of frames.
pub(super) struct Output {
    frames: mpsc::Sender<Vec<u8>>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    idle: Condvar,
    written: Notify,
    /// The event loop has something to draw as soon as the terminal is ready.
    is_awaited: AtomicBool,
}

#[derive(Default)]
struct State {
    /// Pieces that were handed over and not written yet.
    pending: usize,
    error: Option<TerminalError>,
}

impl Output {
    /// Starts the thread.
    pub(super) fn start(terminal: Guard) -> std::io::Result<Self> {
        let (frames, receiver) = mpsc::channel::<Vec<u8>>();
        let shared = Arc::new(Shared::default());
        let writer = Arc::clone(&shared);
        let work = move || {
            for frame in receiver {
                let result = terminal.write(&frame, PATIENCE);
                let mut state = lock(&writer.state);
                state.pending -= 1;
                let has_failed = result.is_err();
                if let Err(error) = result {
                    state.error.get_or_insert(error);
                }
                drop(state);
                writer.idle.notify_all();
                if writer.is_awaited.swap(false, Ordering::AcqRel) || has_failed {
                    writer.written.notify_one();
                }
            }
        };
        std::thread::Builder::new().name("terminal output".to_owned()).spawn(work)?;
        Ok(Self { frames, shared })
    }

    /// Hands over bytes.
    pub(super) fn write(&self, bytes: Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        lock(&self.shared.state).pending += 1;
        if self.frames.send(bytes).is_err() {
            lock(&self.shared.state).pending -= 1;
        }
    }

    /// Returns a function that hands over bytes, for other threads.
    pub(super) fn sender(&self) -> impl Fn(Vec<u8>) + Send + Sync + 'static + use<> {
        let output = Self { frames: self.frames.clone(), shared: Arc::clone(&self.shared) };
        move |bytes| output.write(bytes)
    }

    /// Returns true while bytes are on their way.
    pub(super) fn is_busy(&self) -> bool {
        lock(&self.shared.state).pending > 0
    }

    /// Waits until everything on its way is written, or writing failed.
    pub(super) async fn written(&self) {
        self.shared.is_awaited.store(true, Ordering::Release);
        if !self.is_busy() && self.shared.is_awaited.swap(false, Ordering::AcqRel) {
            return;
        }
        self.shared.written.notified().await;
    }

    /// Returns the error of the terminal, if there is one.
    pub(super) fn has_failed(&self) -> bool {
        lock(&self.shared.state).error.is_some()
    }

    /// Waits until everything is written, or the time is over.
    pub(super) fn flush(&self, timeout: Duration) {
        let state = lock(&self.shared.state);
        let waited = self.shared.idle.wait_timeout_while(state, timeout, |state| state.pending > 0);
        drop(waited);
    }
}
