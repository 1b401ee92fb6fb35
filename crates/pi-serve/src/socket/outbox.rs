//! What waits for a client: responses, questions, and the sessions that it follows.
//!
//! Items of sessions are taken from their feeds while the client reads, so they never wait here. The
//! rest is bounded: a client for which too much waits reads nothing, and its connection ends.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use futures_util::stream::BoxStream;
use pi_base::lock;
use serde::Serialize;
use tokio::sync::Notify;

/// Bytes that wait before no more commands are read.
const FULL: usize = 4 << 20;

/// Bytes beside one frame that wait before the connection ends.
const MOST: usize = 64 << 20;

/// Something for a client.
pub(crate) enum Out {
    /// A frame.
    Frame(String),
    /// The frames of a session, from now on.
    Follow(BoxStream<'static, String>),
}

/// What waits for a client. Clones are the same queue.
#[derive(Clone, Default)]
pub(crate) struct Outbox(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    filled: Notify,
    drained: Notify,
    /// Notified when too much waits.
    overfull: Notify,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Out>,
    bytes: usize,
    is_closed: bool,
}

impl Outbox {
    /// Adds a record.
    pub(crate) fn send(&self, record: &impl Serialize) {
        if let Ok(text) = serde_json::to_string(record) {
            self.push(Out::Frame(text));
        }
    }

    /// Adds a frame or a session.
    pub(crate) fn push(&self, out: Out) {
        let is_overfull = {
            let mut state = lock(&self.0.state);
            if state.is_closed {
                return;
            }
            // One long response is none too many.
            let is_overfull = state.bytes > MOST;
            if let Out::Frame(text) = &out {
                state.bytes += text.len();
            }
            state.waiting.push_back(out);
            is_overfull
        };
        self.0.filled.notify_one();
        if is_overfull {
            self.0.overfull.notify_one();
        }
    }

    /// Waits for the next one. Safe to cancel: nothing is lost.
    pub(crate) async fn next(&self) -> Out {
        loop {
            if let Some(out) = self.try_next() {
                return out;
            }
            self.0.filled.notified().await;
        }
    }

    fn try_next(&self) -> Option<Out> {
        let mut state = lock(&self.0.state);
        let out = state.waiting.pop_front()?;
        if let Out::Frame(text) = &out {
            state.bytes -= text.len();
        }
        if state.bytes <= FULL {
            self.0.drained.notify_one();
        }
        Some(out)
    }

    /// Waits until there is room for the response to another command.
    pub(crate) async fn room(&self) {
        while lock(&self.0.state).bytes > FULL {
            self.0.drained.notified().await;
        }
    }

    /// Waits until so much waits that the client can be given up.
    pub(crate) async fn overfull(&self) {
        self.0.overfull.notified().await;
    }

    /// Drops everything, and takes nothing more.
    pub(crate) fn close(&self) {
        let waiting = {
            let mut state = lock(&self.0.state);
            (state.is_closed, state.bytes) = (true, 0);
            std::mem::take(&mut state.waiting)
        };
        // Outside of the lock: a session may have clients that send something when they leave.
        drop(waiting);
        self.0.drained.notify_one();
    }
}
