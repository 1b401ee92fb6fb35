//! The end of a run from outside: a signal, or a replay that differs.

use std::sync::{Arc, OnceLock};

use pi_agent::CancelToken;

use crate::outcome::Outcome;

/// Ends a run early, with an outcome. Clones are the same interrupt.
#[derive(Debug, Clone, Default)]
pub struct Interrupt {
    cancel: CancelToken,
    outcome: Arc<OnceLock<Outcome>>,
}

impl Interrupt {
    /// Ends the run. The first call decides the outcome.
    pub fn interrupt(&self, outcome: Outcome) {
        // A later signal changes nothing.
        let _ = self.outcome.set(outcome);
        self.cancel.cancel();
    }

    /// Returns the outcome if the run was interrupted.
    pub fn outcome(&self) -> Option<Outcome> {
        self.outcome.get().copied()
    }

    pub(crate) fn token(&self) -> &CancelToken {
        &self.cancel
    }
}
