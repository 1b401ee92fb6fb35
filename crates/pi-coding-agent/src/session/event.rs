//! What a session tells those who listen, and how it looks on the wire.
//!
//! Serialised, an event is one record of JSON and RPC mode: deltas without the message they build,
//! since whoever is at the other end has the parts already.

use std::sync::Arc;

use pi_agent::AgentEvent;
use pi_protocol::{
    AgentMessage, AssistantBlock, AssistantEvent, AssistantMessage, Entry, ThinkingLevel, Usage,
};
use serde::ser::{SerializeMap, SerializeStruct};
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::guard::GuardStatus;

/// Something that happened.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum SessionEvent<'a> {
    /// In the loop.
    Agent(LoopEvent<'a>),
    /// Around it.
    Session(SessionNews<'a>),
}

impl SessionEvent<'_> {
    /// More text of the answer, if that is what it is.
    pub fn text_delta(&self) -> Option<&str> {
        match self {
            Self::Agent(LoopEvent {
                event:
                    AgentEvent::MessageUpdate {
                        assistant_message_event: AssistantEvent::TextDelta { delta, .. },
                    },
                ..
            }) => Some(delta),
            _ => None,
        }
    }
}

/// An event of the loop, with what belongs to it.
#[derive(Debug)]
pub struct LoopEvent<'a> {
    /// The event.
    pub event: &'a AgentEvent,
    /// The answer while it grows.
    pub streaming: Option<&'a AssistantMessage>,
    /// At the end of a run: the failed request is made again.
    pub will_retry: bool,
}

/// Why a session is compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CompactionReason {
    /// The user wants it.
    Manual,
    /// The context is nearly full.
    Threshold,
    /// A request did not fit.
    Overflow,
}

/// What a compaction did.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionResult {
    /// What stands for the history now.
    pub summary: String,
    /// The first entry that is kept.
    pub first_kept_entry_id: String,
    /// The size of the context before.
    pub tokens_before: u64,
    /// Its size afterwards, estimated.
    pub estimated_tokens_after: u64,
    /// What the summary took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Facts for later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

/// What happened around the loop.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum SessionNews<'a> {
    /// Nothing is left to do.
    AgentSettled {
        /// It was aborted.
        aborted: bool,
    },
    /// What holds in this session, before its first run. Not told where nothing is held.
    Guard {
        /// What.
        #[serde(flatten)]
        status: &'a GuardStatus,
    },
    /// Other messages wait.
    QueueUpdate {
        /// For as soon as possible.
        steering: &'a [String],
        /// For when the run would end.
        follow_up: &'a [String],
    },
    /// An entry was added that is not a message.
    EntryAppended {
        /// The entry.
        entry: &'a Entry,
    },
    /// The session has another name.
    SessionInfoChanged {
        /// The name.
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<&'a str>,
    },
    /// Another thinking level.
    ThinkingLevelChanged {
        /// The level.
        level: ThinkingLevel,
    },
    /// The session is being compacted.
    CompactionStart {
        /// Why.
        reason: CompactionReason,
    },
    /// It was, or not.
    CompactionEnd {
        /// Why.
        reason: CompactionReason,
        /// What it did.
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<&'a CompactionResult>,
        /// It was stopped.
        aborted: bool,
        /// The failed request is made again.
        will_retry: bool,
        /// What went wrong.
        #[serde(skip_serializing_if = "Option::is_none")]
        error_message: Option<&'a str>,
    },
    /// A failed request is made again after a pause.
    AutoRetryStart {
        /// Which try, counted from 1.
        attempt: u32,
        /// The last there will be.
        max_attempts: u32,
        /// The pause.
        delay_ms: u64,
        /// What failed.
        error_message: &'a str,
    },
    /// No more tries.
    AutoRetryEnd {
        /// It worked in the end.
        success: bool,
        /// The last try.
        attempt: u32,
        /// What failed.
        #[serde(skip_serializing_if = "Option::is_none")]
        final_error: Option<&'a str>,
    },
    /// A failed request for a summary is made again after a pause.
    SummarizationRetryScheduled {
        /// Which try, counted from 1.
        attempt: u32,
        /// The last there will be.
        max_attempts: u32,
        /// The pause.
        delay_ms: u64,
        /// What failed.
        error_message: &'a str,
    },
    /// The pause is over.
    SummarizationRetryAttemptStart {
        /// `compaction` or `branchSummary`.
        source: &'static str,
        /// Why there is a compaction.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<CompactionReason>,
    },
    /// No more tries for this summary.
    SummarizationRetryFinished,
    /// A command of the user prints something.
    BashExecutionUpdate {
        /// Which command.
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
        /// What it printed.
        delta: &'a str,
    },
}

impl Serialize for LoopEvent<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match (self.event, self.streaming) {
            (AgentEvent::MessageUpdate { assistant_message_event: event }, Some(message)) => {
                let mut record = serializer.serialize_struct("MessageUpdate", 3)?;
                record.serialize_field("type", "message_update")?;
                record.serialize_field("usage", &message.usage)?;
                record.serialize_field("assistantMessageEvent", &Delta { event, message })?;
                record.end()
            }
            (AgentEvent::AgentEnd { messages, .. }, _) => {
                let mut record = serializer.serialize_struct("AgentEnd", 3)?;
                record.serialize_field("type", "agent_end")?;
                record.serialize_field("messages", messages)?;
                record.serialize_field("willRetry", &self.will_retry)?;
                record.end()
            }
            (event, _) => event.serialize(serializer),
        }
    }
}

/// A delta with what a client needs to build the message: what ends has its content.
struct Delta<'a> {
    event: &'a AssistantEvent,
    message: &'a AssistantMessage,
}

impl Serialize for Delta<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let block = |index: &usize| self.message.content.get(*index);
        let mut map = serializer.serialize_map(None)?;
        match self.event {
            AssistantEvent::TextEnd { content_index } => {
                map.serialize_entry("type", "text_end")?;
                map.serialize_entry("contentIndex", content_index)?;
                if let Some(AssistantBlock::Text(text)) = block(content_index) {
                    map.serialize_entry("content", &text.text)?;
                }
            }
            AssistantEvent::ThinkingEnd { content_index } => {
                map.serialize_entry("type", "thinking_end")?;
                map.serialize_entry("contentIndex", content_index)?;
                if let Some(AssistantBlock::Thinking(thinking)) = block(content_index) {
                    map.serialize_entry("content", &thinking.thinking)?;
                }
            }
            AssistantEvent::ToolCallStart { content_index } => {
                map.serialize_entry("type", "toolcall_start")?;
                map.serialize_entry("contentIndex", content_index)?;
                if let Some(AssistantBlock::ToolCall(call)) = block(content_index) {
                    map.serialize_entry("id", &call.id)?;
                    map.serialize_entry("toolName", &call.name)?;
                }
            }
            AssistantEvent::ToolCallEnd { content_index } => {
                map.serialize_entry("type", "toolcall_end")?;
                map.serialize_entry("contentIndex", content_index)?;
                if let Some(call @ AssistantBlock::ToolCall(_)) = block(content_index) {
                    map.serialize_entry("toolCall", call)?;
                }
            }
            AssistantEvent::TextStart { content_index } => {
                map.serialize_entry("type", "text_start")?;
                map.serialize_entry("contentIndex", content_index)?;
            }
            AssistantEvent::ThinkingStart { content_index } => {
                map.serialize_entry("type", "thinking_start")?;
                map.serialize_entry("contentIndex", content_index)?;
            }
            AssistantEvent::TextDelta { content_index, delta } => {
                map.serialize_entry("type", "text_delta")?;
                map.serialize_entry("contentIndex", content_index)?;
                map.serialize_entry("delta", delta)?;
            }
            AssistantEvent::ThinkingDelta { content_index, delta } => {
                map.serialize_entry("type", "thinking_delta")?;
                map.serialize_entry("contentIndex", content_index)?;
                map.serialize_entry("delta", delta)?;
            }
            AssistantEvent::ToolCallDelta { content_index, delta } => {
                map.serialize_entry("type", "toolcall_delta")?;
                map.serialize_entry("contentIndex", content_index)?;
                map.serialize_entry("delta", delta)?;
            }
            // The loop tells of these by other events.
            AssistantEvent::Start => map.serialize_entry("type", "start")?,
            AssistantEvent::Done { reason } => {
                map.serialize_entry("type", "done")?;
                map.serialize_entry("reason", reason)?;
            }
            AssistantEvent::Error { reason } => {
                map.serialize_entry("type", "error")?;
                map.serialize_entry("reason", reason)?;
            }
        }
        map.end()
    }
}

/// The last answer among messages.
pub(super) fn last_answer<'a>(
    messages: impl DoubleEndedIterator<Item = &'a AgentMessage>,
) -> Option<&'a Arc<AssistantMessage>> {
    messages.rev().find_map(AgentMessage::as_assistant)
}
