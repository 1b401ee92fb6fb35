//! Encodes the conversation.
//!
//! Expects the output of `transform_messages`: every call has its result, and images are present
//! only if the model accepts them.

use pi_protocol::{
    Message, MessageContent, Model, SystemMessage, ToolResultMessage, UserBlock, UserContent,
    render_system_update,
};
use serde_json::{Value, json};

use super::compat::Compat;
use super::replay;
use super::tools::{self, GrammarTools};
use crate::wire::EncodeError;

/// Assistant message between tool results and a user message, for endpoints that require one.
const BRIDGE: &str = "I have processed the tool results.";
const IMAGES_FOLLOW: &str = "Attached image(s) from tool result:";
const SEE_IMAGE: &str = "(see attached image)";
const NO_OUTPUT: &str = "(no tool output)";

/// Parameters of the encoding.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wire<'a> {
    /// The requested model.
    pub model: &'a Model,
    /// The dialect of the endpoint.
    pub compat: &'a Compat,
    /// The tools that are sent as custom tools.
    pub grammar_tools: &'a GrammarTools,
    /// Index of the first message whose tools are declared in place.
    pub first_in_place: usize,
}

impl Wire<'_> {
    /// Encodes the messages of `conversation`.
    pub(super) fn messages(&self, conversation: &[Message]) -> Result<Vec<Value>, EncodeError> {
        let mut out = Vec::with_capacity(conversation.len());
        // Images of a run of tool results follow the run: results cannot contain images, and
        // results of one turn must be adjacent.
        let mut images = Vec::new();
        for (index, message) in conversation.iter().enumerate() {
            if !matches!(message, Message::ToolResult(_)) {
                self.flush_images(&mut images, &mut out);
            }
            match message {
                Message::System(system) => self.system(index, system, &mut out)?,
                Message::User(user) => {
                    if let Some(content) = user_content(&user.content) {
                        self.push_user(content, &mut out);
                    }
                }
                Message::Assistant(assistant) => {
                    out.extend(replay::assistant(self, assistant));
                }
                Message::ToolResult(result) => {
                    out.push(self.tool_result(result));
                    images.extend(result.content.iter().filter_map(image_part));
                }
            }
        }
        self.flush_images(&mut images, &mut out);
        Ok(out)
    }

    fn system(
        &self,
        index: usize,
        system: &SystemMessage,
        out: &mut Vec<Value>,
    ) -> Result<(), EncodeError> {
        if index >= self.first_in_place && !system.tools_added.is_empty() {
            let tools = tools::declare(&system.tools_added, self.compat)?;
            out.push(json!({"role": "system", "tools": tools}));
        }
        let text = if index == 0 { system.prompt() } else { render_system_update(system) };
        if !text.is_empty() {
            let developer = self.model.reasoning && self.compat.developer_role;
            let role = if developer { "developer" } else { "system" };
            out.push(json!({"role": role, "content": text}));
        }
        Ok(())
    }

    fn push_user(&self, content: Value, out: &mut Vec<Value>) {
        let after_tool = out.last().is_some_and(|message| message["role"] == "tool");
        if after_tool && self.compat.assistant_after_tool_result {
            out.push(json!({"role": "assistant", "content": BRIDGE}));
        }
        out.push(object([("role", "user".into()), ("content", content)]));
    }

    fn flush_images(&self, images: &mut Vec<Value>, out: &mut Vec<Value>) {
        if !images.is_empty() {
            let mut parts = vec![text_part(IMAGES_FOLLOW)];
            parts.append(images);
            self.push_user(parts.into(), out);
        }
    }

    fn tool_result(&self, result: &ToolResultMessage) -> Value {
        let has_image = result.content.iter().any(|block| matches!(block, UserBlock::Image(_)));
        let text =
            result.content.iter().filter_map(UserBlock::as_text).collect::<Vec<_>>().join("\n");
        let text = match text.trim() {
            "" if has_image => SEE_IMAGE,
            "" => NO_OUTPUT,
            _ => &text,
        };
        let mut message =
            json!({"role": "tool", "content": text, "tool_call_id": result.tool_call_id});
        if self.compat.tool_result_name && !result.tool_name.is_empty() {
            message["name"] = result.tool_name.as_str().into();
        }
        message
    }
}

fn user_content(content: &UserContent) -> Option<Value> {
    match content {
        MessageContent::Text(text) => Some(text.as_str().into()),
        MessageContent::Blocks(blocks) => {
            let parts: Vec<Value> = blocks
                .iter()
                .filter_map(|block| match block {
                    UserBlock::Text(text) => (!text.text.is_empty()).then(|| text_part(&text.text)),
                    other => image_part(other),
                })
                .collect();
            (!parts.is_empty()).then(|| parts.into())
        }
    }
}

pub(super) fn text_part(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn image_part(block: &UserBlock) -> Option<Value> {
    let UserBlock::Image(image) = block else { return None };
    let url = format!("data:{};base64,{}", image.mime_type, image.data);
    let image_url = object([("url", url.into())]);
    Some(object([("type", "image_url".into()), ("image_url", image_url)]))
}

/// Builds an object from moved members: `json!` would copy them, and images are large.
fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
