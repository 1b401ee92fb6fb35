//! What holds in a session, told and recorded once, before its first run.

use pi_session::SessionError;

use super::{AgentSession, SessionNews};

/// The entry that records it.
const ENTRY: &str = "guard";

impl AgentSession {
    /// Tells those who listen, and the file.
    pub(super) async fn announce_guard(&self) {
        let Some(status) = self.0.guard.as_ref().and_then(|guard| guard.status()) else { return };
        if std::mem::replace(&mut self.state().guard_told, true) {
            return;
        }
        self.news(SessionNews::Guard { status: &status }).await;
        let data = serde_json::to_value(&status).ok();
        let recorded: Result<String, SessionError> = self.entries().append_custom(ENTRY, data);
        if let Err(error) = recorded {
            let message = format!("What holds in this session could not be recorded: {error}");
            self.0.ui.notify(&message, "warning");
        }
    }
}
