//! What a session amounts to.

use std::path::PathBuf;

use pi_session::{SessionError, SessionStats};
use serde::Serialize;

use super::AgentSession;

/// How full the context is.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextUsage {
    /// Tokens; unknown after a compaction until a provider has counted again.
    pub tokens: Option<u64>,
    /// What there is room for.
    pub context_window: u64,
    /// The one as a part of the other, in percent.
    #[serde(serialize_with = "pi_protocol::number::js_option::serialize")]
    pub percent: Option<f64>,
}

/// What a session amounts to.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionTotals {
    /// Its file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_file: Option<PathBuf>,
    /// Its id.
    pub session_id: String,
    /// Counts over all branches.
    #[serde(flatten)]
    pub stats: SessionStats,
    /// How full the context is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_usage: Option<ContextUsage>,
}

impl AgentSession {
    /// What the session amounts to. Reads all of it.
    pub fn totals(&self) -> Result<SessionTotals, SessionError> {
        let stats = self.entries().stats()?;
        let context_usage = self.context_usage()?;
        Ok(SessionTotals { session_file: self.file(), session_id: self.id(), stats, context_usage })
    }

    /// How full the context is; `None` without a model whose window is known.
    pub fn context_usage(&self) -> Result<Option<ContextUsage>, SessionError> {
        let window = self.model().map_or(0, |model| model.context_window);
        if window == 0 {
            return Ok(None);
        }
        let tokens = self.entries().context_tokens()?;
        let percent = tokens.map(|tokens| tokens as f64 / window as f64 * 100.0);
        Ok(Some(ContextUsage { tokens, context_window: window, percent }))
    }
}
