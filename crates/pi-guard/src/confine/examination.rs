//! The examination of what one command leaves: begun before the command, and finished after it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Confined;
#[cfg(target_os = "linux")]
use super::Leftover;

/// A command whose effects on protected files and repositories are examined when it has ended. If
/// the value is dropped before, the examination of the next command includes it.
#[derive(Debug)]
pub struct Examination {
    confined: Arc<Confined>,
    is_finished: AtomicBool,
}

impl Examination {
    /// Takes note of what exists before a command. Create the command afterwards.
    pub fn begin(confined: Arc<Confined>) -> Self {
        #[cfg(target_os = "linux")]
        confined.record_repositories();
        Self { confined, is_finished: AtomicBool::new(false) }
    }

    /// Examines what the command left, once all its processes are gone. A second call examines
    /// nothing.
    #[cfg(target_os = "linux")]
    pub fn finish(&self) -> Vec<Leftover> {
        if self.is_finished.swap(true, Ordering::Relaxed) {
            return Vec::new();
        }
        self.confined.disable_leftovers(false)
    }
}

impl Drop for Examination {
    fn drop(&mut self) {
        #[cfg(target_os = "linux")]
        if !self.is_finished.swap(true, Ordering::Relaxed) {
            self.confined.abandon();
        }
    }
}
