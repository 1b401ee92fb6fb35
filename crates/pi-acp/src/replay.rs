//! The history of a session as reports, for a client that opens it.

use std::collections::HashMap;
use std::sync::Arc;

use pi_base::text::clean;
use pi_coding_agent::AgentSession;
use pi_protocol::{AgentMessage, AssistantBlock, AssistantMessage, EntryBody, Message};
use pi_session::{ExtensionMessage, SessionError};

use crate::events::{Reporter, content, extension_message, message_id, thought_id};
use crate::tool_calls::{self, Before, Output};
use crate::update::{Status, ToolCall, ToolContent, Update};

/// Reports the current branch of a session, from its beginning: what was compacted, too.
pub(crate) fn replay(reporter: &Reporter, session: &AgentSession) -> Result<(), SessionError> {
    let items = history(session)?;
    let mut differences: HashMap<String, Vec<ToolContent>> = HashMap::new();
    for item in items {
        let mut updates = Vec::new();
        let message = match &item {
            Item::Message(message) => message,
            Item::Extension(message) => {
                for update in extension_message(message) {
                    reporter.report(update);
                }
                continue;
            }
        };
        match message {
            Message::User(prompt) => updates.push(Update::UserMessage {
                id: message_id("prompt", prompt.timestamp),
                content: content(&prompt.content),
            }),
            Message::Assistant(answer) => {
                answered(session, answer, &mut differences, &mut updates);
            }
            Message::ToolResult(result) => {
                let output = Output {
                    content: &result.content,
                    details: result.details.as_ref(),
                    is_error: result.is_error,
                };
                let known = differences.remove(&result.tool_call_id).unwrap_or_default();
                let call = tool_calls::finished(&result.tool_call_id, &output, &known);
                updates.push(Update::ToolCallChange(call));
                updates.extend(tool_calls::plan(output.details).map(Update::Plan));
            }
            Message::System(_) => {}
        }
        for update in updates {
            reporter.report(update);
        }
    }
    // Calls whose results were never written.
    for call in differences.into_keys() {
        let call = ToolCall { id: call, status: Some(Status::Cancelled), ..ToolCall::default() };
        reporter.report(Update::ToolCallChange(call));
    }
    Ok(())
}

/// A part of the history.
enum Item {
    Message(Message),
    Extension(ExtensionMessage),
}

/// Returns the messages of the current branch.
fn history(session: &AgentSession) -> Result<Vec<Item>, SessionError> {
    session.with_log(|log| {
        let mut items = Vec::new();
        for entry in log.branch_entries(None)? {
            match entry {
                Ok(entry) => {
                    if let Some(message) = ExtensionMessage::from_entry(&entry) {
                        items.push(Item::Extension(message));
                    } else if let EntryBody::Message(AgentMessage::Llm(message)) = entry.body {
                        items.push(Item::Message(message));
                    }
                }
                // A line that cannot be read is missing here as it is in the context.
                Err(SessionError::Damaged { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(items)
    })
}

fn answered(
    session: &AgentSession,
    answer: &Arc<AssistantMessage>,
    differences: &mut HashMap<String, Vec<ToolContent>>,
    updates: &mut Vec<Update>,
) {
    let id = message_id("answer", answer.timestamp);
    for block in &answer.content {
        match block {
            AssistantBlock::Text(text) if !text.text.is_empty() => {
                let text = clean(&text.text).into_owned();
                updates.push(Update::Text { id: id.clone(), text });
            }
            AssistantBlock::Thinking(thinking) if !thinking.thinking.is_empty() => {
                let text = clean(&thinking.thinking).into_owned();
                updates.push(Update::Thought { id: thought_id(&id), text });
            }
            AssistantBlock::ToolCall(call) => {
                let effects = session.effects_of(&call.name, &call.arguments);
                let workspace = session.workspace();
                let resolve = |path: &str| workspace.resolve(path);
                let mut shown =
                    tool_calls::describe(&call.id, &call.name, &call.arguments, &effects, &resolve);
                // The old content of a file that was replaced is gone.
                let changes =
                    tool_calls::differences(&call.arguments, &effects, &resolve, Before::Unknown);
                shown.status = Some(Status::Pending);
                shown.content = (!changes.is_empty()).then(|| changes.clone());
                differences.insert(call.id.clone(), changes);
                updates.push(Update::ToolCall(shown));
            }
            _ => {}
        }
    }
}
