//! A conversation as text. A model continues messages, but summarizes a text about messages.

use pi_protocol::{AssistantBlock, AssistantMessage, Message, UserBlock};

use super::estimate::length;

/// Length of a tool result that the summarizing model reads, in UTF-16 units.
const RESULT_LIMIT: u64 = 2000;

/// Writes a conversation as text. Thinking, images and system messages are left out, and tool
/// results are shortened; the text of user and model is complete.
pub fn serialize_conversation(messages: &[Message]) -> String {
    let mut parts: Vec<String> = Vec::new();
    for message in messages {
        match message {
            Message::System(_) => {}
            Message::User(user) => {
                let text = crate::text_of(&user.content);
                if !text.is_empty() {
                    parts.push(format!("[User]: {text}"));
                }
            }
            Message::Assistant(answer) => add_answer(&mut parts, answer),
            Message::ToolResult(result) => {
                let text: String = result.content.iter().filter_map(UserBlock::as_text).collect();
                if !text.is_empty() {
                    parts.push(format!("[Tool result]: {}", shortened(text)));
                }
            }
        }
    }
    parts.join("\n\n")
}

fn add_answer(parts: &mut Vec<String>, answer: &AssistantMessage) {
    let texts: Vec<&str> = answer.content.iter().filter_map(AssistantBlock::as_text).collect();
    if !texts.is_empty() {
        parts.push(format!("[Assistant]: {}", texts.join("\n")));
    }
    let calls: Vec<String> = answer
        .tool_calls()
        .map(|call| {
            let arguments = call.arguments.iter().map(|(name, value)| format!("{name}={value}"));
            format!("{}({})", call.name, arguments.collect::<Vec<_>>().join(", "))
        })
        .collect();
    if !calls.is_empty() {
        parts.push(format!("[Assistant tool calls]: {}", calls.join("; ")));
    }
}

/// Returns the beginning of a long result and a note on its length.
fn shortened(mut text: String) -> String {
    let all = length(&text);
    if all <= RESULT_LIMIT {
        return text;
    }
    let mut kept = 0;
    let end = text.char_indices().find(|(_, character)| {
        kept += character.len_utf16() as u64;
        kept > RESULT_LIMIT
    });
    if let Some((end, _)) = end {
        text.truncate(end);
    }
    let missing = all - length(&text);
    text + &format!("\n\n[... {missing} more characters truncated]")
}
