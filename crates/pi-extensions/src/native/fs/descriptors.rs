//! Open files by number. The numbers are those of the operating system.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::sync::{Arc, Mutex};

use pi_base::lock;

/// The files that the JavaScript of a thread has open. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Descriptors(Arc<Mutex<BTreeMap<i32, Arc<File>>>>);

impl Descriptors {
    /// Adds a file and returns its number.
    pub(super) fn add(&self, file: File) -> i32 {
        let number = file.as_raw_fd();
        lock(&self.0).insert(number, Arc::new(file));
        number
    }

    /// Returns an open file.
    pub(crate) fn get(&self, number: i32) -> Option<Arc<File>> {
        lock(&self.0).get(&number).cloned()
    }

    /// Removes a file, which is closed when its last operation ends.
    pub(super) fn remove(&self, number: i32) -> Option<Arc<File>> {
        lock(&self.0).remove(&number)
    }
}
