//! A counter of repetitions in a row.

use serde::{Deserialize, Serialize};

use super::{Judgment, StuckEvidence, StuckSignal, note};

/// The number of repetitions in a row, with a limit; 0 is no limit.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Streak {
    limit: u32,
    count: u32,
    noted: bool,
}

impl Streak {
    pub(super) fn new(limit: u32) -> Self {
        Self { limit, count: 0, noted: false }
    }

    /// Creates a counter without a limit.
    pub(super) fn off() -> Self {
        Self::new(0)
    }

    /// Ends the streak.
    pub(super) fn end(&mut self) {
        (self.count, self.noted) = (0, false);
    }

    /// Counts an occurrence, which begins a new streak unless it is the same as the last one.
    pub(super) fn count(
        &mut self,
        is_same: bool,
        signal: StuckSignal,
        what: impl FnOnce() -> Vec<String>,
        result: impl FnOnce() -> Option<String>,
    ) -> Judgment {
        if !is_same {
            self.end();
        }
        self.add(signal, what, result)
    }

    /// Counts a repetition.
    pub(super) fn add(
        &mut self,
        signal: StuckSignal,
        what: impl FnOnce() -> Vec<String>,
        result: impl FnOnce() -> Option<String>,
    ) -> Judgment {
        self.count += 1;
        let is_over = self.count >= self.limit;
        let is_notable = !self.noted && self.count >= self.note_at();
        if self.limit == 0 || !(is_over || is_notable) {
            return Judgment::Progress;
        }
        self.noted = true;
        let evidence = StuckEvidence {
            signal,
            count: self.count,
            limit: self.limit,
            what: what(),
            result: result().map(|text| note::shortened(&text, 1000)),
        };
        if is_over { Judgment::Stuck(evidence) } else { Judgment::Note(note::text(&evidence)) }
    }

    /// Returns the count at which the agent gets a note: 60 % of the limit, rounded up.
    fn note_at(&self) -> u32 {
        (self.limit.saturating_mul(3)).div_ceil(5).max(2)
    }
}
