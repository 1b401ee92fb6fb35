//! Merging events of progress, for readers that are far behind. Pure.
//!
//! Two deltas of the same block are one longer delta; of two states of a running tool, the later
//! one counts. Everything else stays as it is.

use super::{MessageDelta, SessionEvent};
use crate::merge_queue::Merge;

impl Merge for SessionEvent {
    fn is_progress(&self) -> bool {
        Self::is_progress(self)
    }

    fn merge(&mut self, later: Self) -> Option<Self> {
        match (self, later) {
            (
                Self::MessageUpdate { assistant_message_event: delta, usage, message },
                Self::MessageUpdate { assistant_message_event, usage: newer, message: grown },
            ) => match append(delta, assistant_message_event) {
                Ok(()) => {
                    (*usage, *message) = (newer, grown);
                    None
                }
                Err(assistant_message_event) => Some(Self::MessageUpdate {
                    assistant_message_event,
                    usage: newer,
                    message: grown,
                }),
            },
            (
                Self::ToolExecutionUpdate { tool_call_id: id, partial_result, .. },
                Self::ToolExecutionUpdate { tool_call_id, partial_result: newer, .. },
            ) if *id == tool_call_id => {
                *partial_result = newer;
                None
            }
            (
                Self::BashExecutionUpdate { id, delta },
                Self::BashExecutionUpdate { id: later, delta: more },
            ) if *id == later => {
                delta.push_str(&more);
                None
            }
            (_, later) => Some(later),
        }
    }
}

/// Appends a delta to one of the same block, or returns it.
fn append(delta: &mut MessageDelta, later: MessageDelta) -> Result<(), MessageDelta> {
    use MessageDelta::{TextDelta, ThinkingDelta, ToolCallDelta};
    match (delta, later) {
        (TextDelta { content_index: at, delta }, TextDelta { content_index, delta: more })
        | (
            ThinkingDelta { content_index: at, delta },
            ThinkingDelta { content_index, delta: more },
        )
        | (
            ToolCallDelta { content_index: at, delta },
            ToolCallDelta { content_index, delta: more },
        ) if *at == content_index => {
            delta.push_str(&more);
            Ok(())
        }
        (_, later) => Err(later),
    }
}
