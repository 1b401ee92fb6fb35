//! The usage of a run: the requests, calls, tokens and cost of its entries in the log.

use pi_protocol::Usage;

use crate::session::AgentSession;

/// The usage of a run.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct RunUsage {
    /// Tokens and cost, those of summaries and sub-agents included.
    pub tokens: Usage,
    /// Answers of the model.
    pub turns: u64,
    /// Tool calls of these answers.
    pub tool_calls: u64,
}

impl AgentSession {
    /// Returns the number of entries in the log.
    pub fn entry_count(&self) -> usize {
        self.log().len()
    }

    /// Returns the usage of the entries from an index on. A log that cannot be read counts nothing.
    pub fn usage_since(&self, first_entry: usize) -> RunUsage {
        let stats = self.log().stats_since(first_entry).unwrap_or_default();
        let mut tokens = Usage {
            input: stats.tokens.input,
            output: stats.tokens.output,
            cache_read: stats.tokens.cache_read,
            cache_write: stats.tokens.cache_write,
            total_tokens: stats.tokens.total,
            ..Usage::default()
        };
        tokens.cost.total = stats.cost;
        RunUsage { tokens, turns: stats.assistant_messages, tool_calls: stats.tool_calls }
    }
}
