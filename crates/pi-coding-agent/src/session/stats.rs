//! Totals of a session and the size of its context.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pi_session::{SessionError, SessionStats};
use serde::Serialize;

use super::{AgentSession, ReportedLimits};

/// Size of the context.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextUsage {
    /// Tokens in the context; unknown after a compaction until a provider has counted again.
    pub tokens: Option<u64>,
    /// Tokens that the model can read.
    pub context_window: u64,
    /// Tokens in percent of the window.
    #[serde(serialize_with = "pi_protocol::number::js_option::serialize")]
    pub percent: Option<f64>,
}

/// Totals of a session.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionTotals {
    /// File of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_file: Option<PathBuf>,
    /// Id of the session.
    pub session_id: String,
    /// Counts over all branches.
    #[serde(flatten)]
    pub stats: SessionStats,
    /// Size of the context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_usage: Option<ContextUsage>,
    /// Limits that providers reported last, by the name of the credential.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub rate_limits: BTreeMap<String, ReportedLimits>,
}

impl AgentSession {
    /// Returns the totals of the session. Reads the whole log.
    pub fn totals(&self) -> Result<SessionTotals, SessionError> {
        let stats = self.log().stats()?;
        let context_usage = self.context_usage()?;
        Ok(SessionTotals {
            session_file: self.file(),
            session_id: self.id(),
            stats,
            context_usage,
            rate_limits: self.rate_limits(),
        })
    }

    /// Returns the size of the context; `None` without a model whose window is known.
    pub fn context_usage(&self) -> Result<Option<ContextUsage>, SessionError> {
        let window = self.effective_model().map_or(0, |model| model.context_window);
        if window == 0 {
            return Ok(None);
        }
        let tokens = self.log().context_tokens()?;
        let percent = tokens.map(|tokens| tokens as f64 / window as f64 * 100.0);
        Ok(Some(ContextUsage { tokens, context_window: window, percent }))
    }
}
