//! What a handler returned, as the answer to its question.
//!
//! `js/pi/extensions.js` returns `{ result, event }`: the value of the handler, and the event as the
//! handler left it, because some questions are answered by changing it.

use pi_coding_agent::extension::{Answer, InputAction, Question, ToolDecision};
use serde_json::Value;

/// Converts the answer of a handler.
pub(crate) fn from_json(question: &Question, answered: &Value) -> Result<Answer, String> {
    let result = &answered["result"];
    let event = &answered["event"];
    match question {
        Question::ToolCall(call) => {
            if result["block"].as_bool() == Some(true) {
                let reason = result["reason"].as_str().map(str::to_owned);
                let terminate = result["terminate"].as_bool() == Some(true);
                return Ok(Answer::ToolCall(ToolDecision::Block { reason, terminate }));
            }
            let input = event["input"].as_object().filter(|input| **input != *call.input);
            Ok(Answer::ToolCall(ToolDecision::Allow { input: input.cloned() }))
        }
        Question::Input(_) => Ok(Answer::Input(match result["action"].as_str() {
            Some("handled") => InputAction::Handled,
            Some("transform") => InputAction::Transform {
                text: result["text"].as_str().unwrap_or_default().to_owned(),
                images: serde_json::from_value(result["images"].clone()).unwrap_or_default(),
            },
            _ => InputAction::Continue,
        })),
        _ => Ok(Answer::NoOpinion),
    }
}
