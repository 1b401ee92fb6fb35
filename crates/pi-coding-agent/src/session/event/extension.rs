//! The form in which extension handlers of the TypeScript pi receive an event.

use serde_json::{Value, json};

use super::SessionEvent;

impl SessionEvent {
    /// Returns the name and payload under which extension handlers know the event; `None` for
    /// events that extensions have no name for.
    ///
    /// `turn_end` and `message_end` are questions
    /// ([`Question`](crate::extension::Question)) and not listed here. A host adds `message` to
    /// `message_update`: it has the parts already.
    pub fn extension_event(&self) -> Option<(&'static str, Value)> {
        let name = match self {
            Self::SessionStart { .. } => "session_start",
            Self::SessionShutdown { .. } => "session_shutdown",
            Self::SessionInfoChanged { .. } => "session_info_changed",
            Self::SessionTree { .. } => "session_tree",
            Self::McpServersChange { .. } => "mcp_servers_change",
            Self::AgentStart => "agent_start",
            Self::AgentSettled { .. } => "agent_settled",
            Self::MessageStart { .. } => "message_start",
            Self::MessageUpdate { .. } => "message_update",
            Self::ToolExecutionStart { .. } => "tool_execution_start",
            Self::ToolExecutionUpdate { .. } => "tool_execution_update",
            Self::ToolExecutionEnd { .. } => "tool_execution_end",
            Self::ModelSelect { .. } => "model_select",
            Self::AfterProviderResponse { .. } => "after_provider_response",
            Self::ProviderStreamEvent { .. } => "provider_stream_event",
            Self::UiPromptStart { .. } => "ui_prompt_start",
            Self::UiPromptEnd { .. } => "ui_prompt_end",
            Self::AgentEnd { messages, .. } => {
                return named("agent_end", json!({ "messages": messages }));
            }
            Self::TurnStart { turn_index, timestamp } => {
                let payload = json!({ "turnIndex": turn_index, "timestamp": timestamp });
                return named("turn_start", payload);
            }
            Self::ThinkingLevelChanged { level, previous_level } => {
                let payload = json!({ "level": level, "previousLevel": previous_level });
                return named("thinking_level_select", payload);
            }
            Self::CompactionEnd {
                reason,
                result,
                aborted,
                will_retry,
                error_message,
                entry,
                from_extension,
            } => {
                let mut payload = json!({
                    "fromExtension": from_extension,
                    "reason": reason,
                    "willRetry": will_retry,
                });
                if result.is_some() {
                    payload["compactionEntry"] = json!(entry);
                    return named("session_compact", payload);
                }
                payload["aborted"] = json!(aborted);
                if let Some(error) = error_message {
                    payload["errorMessage"] = json!(error);
                }
                return named("session_compact_failed", payload);
            }
            Self::TurnEnd { .. }
            | Self::MessageEnd { .. }
            | Self::Guard { .. }
            | Self::QueueUpdate { .. }
            | Self::EntryAppended { .. }
            | Self::CompactionStart { .. }
            | Self::AutoRetryStart { .. }
            | Self::AutoRetryEnd { .. }
            | Self::SummarizationRetryScheduled { .. }
            | Self::SummarizationRetryAttemptStart { .. }
            | Self::SummarizationRetryFinished
            | Self::BashExecutionUpdate { .. }
            | Self::ExtensionError { .. } => return None,
        };
        named(name, serde_json::to_value(self).ok()?)
    }
}

fn named(name: &'static str, mut payload: Value) -> Option<(&'static str, Value)> {
    payload["type"] = name.into();
    Some((name, payload))
}
