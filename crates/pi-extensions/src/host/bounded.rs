//! A question to a JavaScript thread whose answer is awaited for a short time only.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use pi_base::{lock, unpoisoned};

/// Creates a question and its reply. `late` is true from the moment at which the question was given
/// up until the reply comes or is dropped.
pub(super) fn ask<T>(late: Arc<AtomicBool>) -> (Question<T>, Reply<T>) {
    let shared = Arc::new(Shared { state: Mutex::new(State::Expected), changed: Condvar::new() });
    let question = Question { shared: Arc::clone(&shared), late: Arc::clone(&late) };
    (question, Reply { shared, late })
}

struct Shared<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

enum State<T> {
    Expected,
    Given(Option<T>),
    GivenUp,
}

/// The side that waits.
pub(super) struct Question<T> {
    shared: Arc<Shared<T>>,
    late: Arc<AtomicBool>,
}

impl<T> Question<T> {
    /// Waits for the reply; `None` if it does not come in time.
    pub(super) fn wait(self, limit: Duration) -> Option<T> {
        let state = lock(&self.shared.state);
        let is_expected = |state: &mut State<T>| matches!(state, State::Expected);
        let waited = self.shared.changed.wait_timeout_while(state, limit, is_expected);
        let (mut state, _) = unpoisoned(waited);
        match std::mem::replace(&mut *state, State::GivenUp) {
            State::Given(value) => value,
            State::Expected | State::GivenUp => {
                self.late.store(true, Ordering::Release);
                None
            }
        }
    }
}

/// The side that answers.
pub(super) struct Reply<T> {
    shared: Arc<Shared<T>>,
    late: Arc<AtomicBool>,
}

impl<T> Reply<T> {
    /// Sends the answer; returns false if it comes too late.
    pub(super) fn send(self, value: T) -> bool {
        self.settle(Some(value))
    }

    fn settle(&self, value: Option<T>) -> bool {
        let mut state = lock(&self.shared.state);
        match *state {
            State::Expected => {
                *state = State::Given(value);
                self.shared.changed.notify_one();
                true
            }
            State::Given(_) => true,
            State::GivenUp => {
                self.late.store(false, Ordering::Release);
                false
            }
        }
    }
}

impl<T> Drop for Reply<T> {
    /// A task that panicked or never ran does not answer.
    fn drop(&mut self) {
        self.settle(None);
    }
}
