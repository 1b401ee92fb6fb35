//! A limit on compactions that do not help.
//!
//! A context that cannot be made smaller would otherwise be compacted before every request, at the
//! user's expense.

use super::{CompactionSettings, should_compact};

/// Consecutive failures after which no compaction is attempted until the context has grown.
const LIMIT: u32 = 3;

/// The results of the latest compactions of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompactionAttempts {
    failed: u32,
    tokens: u64,
    cause: String,
}

impl CompactionAttempts {
    /// Returns the reason why a context of this size is not compacted; `None` if it may be.
    ///
    /// A context that has grown by a tenth since the last failure may be compacted again.
    pub fn refusal(&self, tokens: u64) -> Option<String> {
        let has_grown = tokens >= self.tokens.saturating_add(self.tokens / 10);
        if self.failed < LIMIT || has_grown {
            return None;
        }
        Some(format!("compaction failed {} times: {}", self.failed, self.cause))
    }

    /// Records a compaction that failed at this size.
    pub fn record_failure(&mut self, tokens: u64, cause: impl Into<String>) {
        self.failed += 1;
        self.tokens = tokens;
        self.cause = cause.into();
    }

    /// Records a compaction that succeeded. A context that is still too large counts as a failure.
    pub fn record_result(
        &mut self,
        before: u64,
        after: u64,
        window: u64,
        settings: &CompactionSettings,
    ) {
        if after >= before {
            let cause = format!("the context grew from {before} to {after} tokens");
            self.record_failure(after, cause);
        } else if should_compact(after, window, settings) {
            let cause = format!(
                "the kept messages have {after} tokens, too many for a context window of {window}; use a model with a larger window, or keep fewer tokens (compaction.keepRecentTokens)"
            );
            self.record_failure(after, cause);
        } else {
            *self = Self::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_are_limited_and_the_cause_is_named() {
        let settings = CompactionSettings::default();
        let mut attempts = CompactionAttempts::default();
        for _ in 0..LIMIT {
            assert_eq!(attempts.refusal(190_000), None);
            attempts.record_result(195_000, 190_000, 200_000, &settings);
        }
        let refusal = attempts.refusal(190_000).unwrap_or_default();
        assert!(refusal.contains("3 times") && refusal.contains("190000 tokens"), "{refusal}");
        assert_eq!(attempts.refusal(210_000), None, "the context has grown");
        attempts.record_result(195_000, 40_000, 200_000, &settings);
        assert_eq!(attempts.refusal(190_000), None, "a success resets the count");
        attempts.record_failure(5, "no model");
        assert_eq!(attempts.refusal(5), None, "one failure is allowed");
    }
}
