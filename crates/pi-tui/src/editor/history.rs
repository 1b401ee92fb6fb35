//! Earlier inputs, and browsing through them.

/// Inputs that are kept.
const MAX: usize = 100;

/// Earlier inputs, newest first.
#[derive(Debug, Clone, Default)]
pub(crate) struct History {
    entries: Vec<String>,
    /// The entry that is shown, and the text from before.
    browsing: Option<(usize, String)>,
}

impl History {
    /// Adds an input, unless it is empty or equals the newest one.
    pub(crate) fn add(&mut self, entry: &str) {
        let entry = entry.trim();
        if entry.is_empty() || self.entries.first().is_some_and(|newest| newest == entry) {
            return;
        }
        self.entries.insert(0, entry.to_owned());
        self.entries.truncate(MAX);
    }

    pub(crate) fn is_browsing(&self) -> bool {
        self.browsing.is_some()
    }

    /// Ends browsing; what is shown stays.
    pub(crate) fn leave(&mut self) {
        self.browsing = None;
    }

    /// Returns the next older input. `current` is kept when browsing begins.
    pub(crate) fn older(&mut self, current: impl FnOnce() -> String) -> Option<String> {
        let index = self.browsing.as_ref().map_or(0, |(index, _)| index + 1);
        let entry = self.entries.get(index)?.clone();
        match &mut self.browsing {
            Some((shown, _)) => *shown = index,
            None => self.browsing = Some((index, current())),
        }
        Some(entry)
    }

    /// Returns the next newer input, after the newest the text from before.
    pub(crate) fn newer(&mut self) -> Option<Newer> {
        let (index, draft) = self.browsing.take()?;
        match index.checked_sub(1) {
            Some(newer) => {
                self.browsing = Some((newer, draft));
                self.entries.get(newer).cloned().map(Newer::Entry)
            }
            None => Some(Newer::Draft(draft)),
        }
    }
}

/// The text that browsing towards newer inputs shows.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Newer {
    /// An input.
    Entry(String),
    /// The text from before browsing, with markers.
    Draft(String),
}
