//! How often compaction is tried when it does not help.
//!
//! A context that cannot be made smaller would otherwise be compacted before every request, for
//! ever, at the user's expense.

use super::{CompactionSettings, should_compact};

/// Failures in a row after which nothing is tried until the context has changed.
const MOST: u32 = 3;

/// What came of the latest compactions of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompactionAttempts {
    failed: u32,
    tokens: u64,
    cause: String,
}

impl CompactionAttempts {
    /// Why compaction is not tried at this size; `None` if it may be.
    ///
    /// A context that has grown by a tenth since the last failure is another one.
    pub fn refusal(&self, tokens: u64) -> Option<String> {
        let same = tokens < self.tokens.saturating_add(self.tokens / 10);
        (self.failed >= MOST && same).then(|| {
            format!("compaction was tried {} times and did not help: {}", self.failed, self.cause)
        })
    }

    /// A compaction failed at this size.
    pub fn record_failure(&mut self, tokens: u64, cause: impl Into<String>) {
        self.failed += 1;
        self.tokens = tokens;
        self.cause = cause.into();
    }

    /// A compaction was made. If the context is still too full, that is a failure too.
    pub fn record_result(
        &mut self,
        before: u64,
        after: u64,
        window: u64,
        settings: &CompactionSettings,
    ) {
        if after >= before {
            self.record_failure(after, format!("the context has {after} tokens, {before} before"));
        } else if should_compact(after, window, settings) {
            let kept = format!(
                "what has to be kept is {after} tokens, too many for a window of {window}; choose a model with a larger window, or keep less (compaction.keepRecentTokens)"
            );
            self.record_failure(after, kept);
        } else {
            *self = Self::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tries_are_bounded_and_the_cause_is_stated() {
        let settings = CompactionSettings::default();
        let mut tries = CompactionAttempts::default();
        for _ in 0..MOST {
            assert_eq!(tries.refusal(190_000), None);
            tries.record_result(195_000, 190_000, 200_000, &settings);
        }
        let refusal = tries.refusal(190_000).unwrap_or_default();
        assert!(refusal.contains("3 times") && refusal.contains("190000 tokens"), "{refusal}");
        assert_eq!(tries.refusal(210_000), None, "another context");
        tries.record_result(195_000, 40_000, 200_000, &settings);
        assert_eq!(tries.refusal(190_000), None, "it worked");
        tries.record_failure(5, "no model");
        assert_eq!(tries.refusal(5), None, "once is not for ever");
    }
}
