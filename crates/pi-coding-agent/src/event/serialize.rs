//! Messages in events, with their roles.

use std::sync::Arc;

use pi_protocol::{AssistantMessage, Message, ToolResultMessage};
use serde::{Serialize as _, Serializer};

/// Serializes an answer as a message.
pub(super) fn assistant<S: Serializer>(
    message: &Arc<AssistantMessage>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    Message::Assistant(Arc::clone(message)).serialize(serializer)
}

/// Serializes results as messages.
pub(super) fn results<S: Serializer>(
    results: &[Arc<ToolResultMessage>],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(results.iter().map(|result| Message::ToolResult(Arc::clone(result))))
}
