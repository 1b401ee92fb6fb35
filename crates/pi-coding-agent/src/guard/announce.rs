//! Announcing calls before they are executed, so that no call of a run that was killed is repeated.

use std::io;
use std::sync::Arc;

use pi_agent::ToolError;

use super::Guard;

/// A call that is about to be executed.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct StartedCall<'a> {
    /// Id of the tool call.
    pub id: &'a str,
    /// Name of the tool.
    pub tool: &'a str,
}

/// Records that a call is about to be executed. Called after all checks and approvals, right before
/// the tool itself. An error refuses the call.
pub type AnnounceCall = Arc<dyn Fn(StartedCall<'_>) -> io::Result<()> + Send + Sync>;

impl Guard {
    /// Records a call before it is executed.
    pub(super) fn announce(&self, id: &str, tool: &str) -> Result<(), ToolError> {
        let Some(announce) = &self.announce else { return Ok(()) };
        announce(StartedCall { id, tool }).map_err(|error| {
            ToolError::new(format!("This was not run: it could not be recorded: {error}"))
        })
    }
}
