//! Requests of a server to a model: sent to the session's model after the user approved them, and
//! counted in the session's budget.

use std::sync::Arc;
use std::time::Duration;

use pi_coding_agent::extension::{ExtensionContext, ExtensionUi};
use pi_jsonrpc::Error;
use pi_mcp::protocol::{
    ContentBlock, CreateMessageParams, CreateMessageResult, Role, SamplingMessage,
};
use pi_protocol::{
    AssistantMessage, CancelOnDrop, CancelToken, Context, Message, Model, Request, StopReason,
    StreamOptions, UserBlock, UserContent, UserMessage, complete, now_ms,
};
use serde_json::json;

use crate::server::Server;
use crate::text::{clean, clean_line};

/// The longest answer of a model to a server, in tokens.
const MOST_TOKENS: u64 = 8192;

/// The longest request, in bytes of text.
const LONGEST: usize = 1 << 20;

/// Time limit of a request to a model.
const TIMEOUT: Duration = Duration::from_secs(300);

/// The longest text of a request that is shown to the user, in bytes.
const SHOWN: usize = 1500;

const ONCE: &str = "Allow once";
const DENY: &str = "Deny";

/// Sends a request of a server to the session's model.
pub(crate) async fn sample(
    server: &Server,
    request: CreateMessageParams,
    context: &ExtensionContext,
) -> Result<CreateMessageResult, Error> {
    let gone = || Error::internal("the session has ended");
    let session = context.session().ok_or_else(gone)?;
    let model = session.model().ok_or_else(|| refused("no model is selected"))?;
    if !request.tools.is_empty() {
        return Err(refused("tools are not supported in requests to a model"));
    }
    let messages = messages(&request.messages, &model)?;
    if !approve(&server.name, &request, &model, context.ui()).await {
        return Err(refused("the user did not allow the request"));
    }
    let asked = Context {
        system_prompt: request.system_prompt.clone(),
        messages: messages.into_iter().collect(),
        tools: Vec::new(),
    };
    let mut options = StreamOptions::default();
    let most = request.max_tokens.clamp(1, MOST_TOKENS);
    options.max_tokens = Some(most);
    options.temperature = request.temperature;
    let sent = Request::new(Arc::clone(&model), asked, options);
    let cancel = CancelToken::new();
    // Dropped if the server withdraws the request: then the request to the model ends, too.
    let _ending = CancelOnDrop(cancel.clone());
    let answer = complete(&**session.provider(), sent, cancel);
    let answer = tokio::time::timeout(TIMEOUT, answer).await;
    let answer = answer.map_err(|_| Error::internal("the model did not answer in time"))?;
    let stop_reason = match answer.stop_reason {
        StopReason::Stop => "endTurn",
        StopReason::Length => "maxTokens",
        _ => {
            let reason = answer.error_message.as_deref().unwrap_or("the request failed");
            return Err(Error::internal(clean_line(reason, 500)));
        }
    };
    Ok(CreateMessageResult {
        role: Role::Assistant,
        content: json!({ "type": "text", "text": answer.text() }),
        model: model.id.clone(),
        stop_reason: Some(stop_reason.to_owned()),
    })
}

fn refused(reason: &str) -> Error {
    Error::new(-1, format!("sampling was refused: {reason}"))
}

/// Asks the user whether a server may use the model. Without a user the answer is no.
async fn approve(
    server: &str,
    request: &CreateMessageParams,
    model: &Model,
    ui: &ExtensionUi,
) -> bool {
    if !ui.is_present() {
        return false;
    }
    ui.select(question(server, request, &model.id), [ONCE, DENY]).await.as_deref() == Some(ONCE)
}

/// Describes a request: what the model is told to be, how much is sent, and the last message.
fn question(server: &str, request: &CreateMessageParams, model: &str) -> String {
    let tokens = request.max_tokens.min(MOST_TOKENS);
    let mut text =
        format!("MCP server {server} wants an answer of {model} (at most {tokens} tokens)");
    if let Some(prompt) = request.system_prompt.as_deref().filter(|prompt| !prompt.is_empty()) {
        text.push_str(&format!("\nSystem prompt: {}", clean(prompt, SHOWN)));
    }
    let count = request.messages.len();
    if count > 1 {
        text.push_str(&format!("\nThe last of {count} messages: "));
    } else {
        text.push_str(": ");
    }
    let last = request.messages.iter().rev().find_map(|message| {
        message.content.iter().find_map(ContentBlock::as_text).map(|text| clean(text, SHOWN))
    });
    text.push_str(&last.unwrap_or_default());
    text
}

fn messages(given: &[SamplingMessage], model: &Model) -> Result<Vec<Message>, Error> {
    let mut size = 0;
    let mut messages = Vec::new();
    for message in given {
        let mut blocks = Vec::new();
        for block in &message.content {
            match block {
                ContentBlock::Text { text, .. } => {
                    size += text.len();
                    blocks.push(UserBlock::text(text));
                }
                ContentBlock::Image { data, mime_type, .. } => {
                    size += data.len() / 8;
                    blocks.push(UserBlock::image(data, mime_type));
                }
                _ => return Err(refused("only texts and images are supported")),
            }
        }
        if size > LONGEST {
            return Err(refused("the request is too long"));
        }
        messages.push(match message.role {
            Role::User => Message::User(Arc::new(UserMessage {
                content: UserContent::Blocks(blocks),
                timestamp: now_ms(),
                extra: Default::default(),
            })),
            Role::Assistant => {
                let texts: Vec<&str> = blocks.iter().filter_map(UserBlock::as_text).collect();
                Message::Assistant(Arc::new(said(&texts.join("\n"), model)))
            }
        });
    }
    Ok(messages)
}

/// Returns an earlier answer of the conversation that a server made up.
fn said(text: &str, model: &Model) -> AssistantMessage {
    let mut message = AssistantMessage::pending(model);
    message.content = vec![pi_protocol::AssistantBlock::text(text)];
    message.stop_reason = StopReason::Stop;
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_sees_the_system_prompt_and_the_number_of_messages() {
        let asked = |request: serde_json::Value| {
            question("s", &serde_json::from_value(request).unwrap(), "m")
        };
        let message =
            |text: &str| json!({"role": "user", "content": {"type": "text", "text": text}});
        assert_eq!(
            asked(json!({"messages": [message("Say hi")], "maxTokens": 50})),
            "MCP server s wants an answer of m (at most 50 tokens): Say hi"
        );
        assert_eq!(
            asked(json!({"messages": [message("a"), message("b")], "maxTokens": 90000,
                "systemPrompt": "Be\u{200b} rude."})),
            "MCP server s wants an answer of m (at most 8192 tokens)\nSystem prompt: Be rude.\n\
             The last of 2 messages: b"
        );
    }
}
