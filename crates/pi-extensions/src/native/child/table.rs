//! The programs that the JavaScript of a thread started.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::running::Running;

/// Running programs by number.
#[derive(Default)]
pub(crate) struct Children(RefCell<BTreeMap<u64, Running>>);

impl Children {
    pub(super) fn add(&self, id: u64, running: Running) -> u64 {
        self.0.borrow_mut().insert(id, running);
        id
    }

    pub(super) fn get(&self, id: u64) -> Option<Running> {
        self.0.borrow().get(&id).cloned()
    }

    /// Forgets a program that ended.
    pub(super) fn remove(&self, id: u64) {
        self.0.borrow_mut().remove(&id);
    }

    /// Returns true if JavaScript started the process, and it runs.
    pub(crate) fn is_own(&self, pid: u32) -> bool {
        self.0.borrow().values().any(|running| running.pid() == pid && running.is_alive())
    }
}

/// Ends all programs that are not detached: the thread ends.
impl Drop for Children {
    fn drop(&mut self) {
        for running in self.0.take().values().filter(|running| !running.is_detached()) {
            // It may have ended meanwhile.
            let _ = running.kill(rustix::process::Signal::KILL.as_raw());
        }
    }
}
