//! Errors that no call returns: of timers, of promises without a handler, of code that was stopped.

use pi_coding_agent::extension::ExtensionContext;
use tokio::runtime::Handle;

/// An error that no call returned to its caller.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Report {
    /// Path of the extension; `None` if it cannot be told.
    pub extension: Option<String>,
    /// Kind of the error: `uncaught`, `unhandledRejection`, `interrupted`.
    pub event: &'static str,
    /// The error with its stack.
    pub error: String,
    /// The surroundings of an extension, and the runtime of its session.
    pub(crate) session: Option<(ExtensionContext, Handle)>,
}

impl Report {
    pub(crate) fn new(
        extension: Option<String>,
        event: &'static str,
        error: impl Into<String>,
    ) -> Self {
        Self { extension, event, error: error.into(), session: None }
    }

    /// Reports the error in the session of the extension, as an error of the event `uncaught`.
    /// Returns false if there is no session.
    pub fn send_to_session(&self) -> bool {
        let Some((context, runtime)) = &self.session else { return false };
        if context.session().is_none() {
            return false;
        }
        let event = if self.event == "interrupted" { "interrupted" } else { "uncaught" };
        let path = self.extension.clone().unwrap_or_else(|| "<unknown>".to_owned());
        let (context, error) = (context.clone(), self.error.clone());
        runtime.spawn(async move { context.report_failure(&path, event, &error).await });
        true
    }
}
