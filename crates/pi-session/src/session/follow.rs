//! Following a session while it grows: a signal for every append, and lines by position.
//!
//! The position of an entry in the file is its sequence number. Lines are only appended, so the
//! number names the same entry in every process and at any time.

use std::ops::Range;
use std::sync::Arc;

use super::Session;
use crate::SessionError;
use crate::log::Log;
use crate::tree::Index;

/// Called with the number of entries after each append. It runs inside of the append: it returns at
/// once and does not use the session.
#[derive(Clone)]
pub struct GrowthListener(Arc<dyn Fn(usize) + Send + Sync>);

impl GrowthListener {
    /// Creates a listener from a function.
    pub fn new(listener: impl Fn(usize) + Send + Sync + 'static) -> Self {
        Self(Arc::new(listener))
    }
}

impl std::fmt::Debug for GrowthListener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("GrowthListener")
    }
}

impl Session {
    /// Sets the listener of appends; `None` removes it.
    pub fn set_growth_listener(&mut self, listener: Option<GrowthListener>) {
        self.growth = listener;
    }

    /// Reads the lines of the entries in a range of positions, exactly as they are in the file.
    /// Damaged entries are left out.
    pub fn raw_entries(
        &self,
        range: Range<usize>,
    ) -> impl Iterator<Item = Result<(usize, String), SessionError>> {
        let mut reader = self.log.reader();
        range.take_while(|position| *position < self.tree.len()).filter_map(move |position| {
            let index = Index::try_from(position).ok()?;
            if self.tree.node(index).damaged {
                return None;
            }
            Some(self.raw_line(&mut reader, index).map(|line| (position, line)))
        })
    }

    /// Adds the entries that other programs have appended since, to a session that was opened with
    /// [`OpenOptions::follow`](super::OpenOptions::follow). Returns true if there are any. Fails
    /// with [`SessionError::Replaced`] if the path names another file by now.
    pub fn refresh(&mut self) -> Result<bool, SessionError> {
        let Log::File(file) = &mut self.log else { return Ok(false) };
        let Some(grown) = file.growth()? else { return Ok(false) };
        file.leave_out_partial_line(grown.start)?;
        if file.len() == grown.start {
            return Ok(false);
        }
        let before = self.tree.len();
        self.scan(grown.start)?;
        let has_grown = self.tree.len() > before;
        if has_grown {
            self.signal_growth();
        }
        Ok(has_grown)
    }

    /// Calls the listener of appends.
    pub(super) fn signal_growth(&self) {
        if let Some(GrowthListener(listener)) = &self.growth {
            listener(self.tree.len());
        }
    }
}
