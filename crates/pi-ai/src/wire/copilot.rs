//! Headers that determine billing and routing at GitHub Copilot.

use pi_protocol::{Message, MessageContent, UserBlock};

use crate::wire::{Call, Headers};

/// Adds the headers, if `call` goes to Copilot.
pub(crate) fn add_headers(call: &Call, headers: &mut Headers) {
    if call.model.provider != "github-copilot" {
        return;
    }
    let by_user = matches!(call.messages.last(), Some(Message::User(_)));
    headers.set("X-Initiator", if by_user { "user" } else { "agent" });
    headers.set("Openai-Intent", "conversation-edits");
    if call.messages.iter().any(has_image) {
        headers.set("Copilot-Vision-Request", "true");
    }
}

fn has_image(message: &Message) -> bool {
    let blocks = match message {
        Message::User(user) => match &user.content {
            MessageContent::Blocks(blocks) => blocks,
            MessageContent::Text(_) => return false,
        },
        Message::ToolResult(result) => &result.content,
        Message::System(_) | Message::Assistant(_) => return false,
    };
    blocks.iter().any(|block| matches!(block, UserBlock::Image(_)))
}
