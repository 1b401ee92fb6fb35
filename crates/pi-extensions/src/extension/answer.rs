//! What a handler returned, as the answer to its question.
//!
//! A handler answers with `{ result, event }`: the value that it returned, and what it left of the
//! parts of the event that may be changed in place.

mod project;
mod request;
mod run;
mod session;
mod user;

use pi_coding_agent::extension::{Answer, Question};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Converts the answer of a handler.
pub(crate) fn from_json(question: &Question, answered: &Value) -> Result<Answer, String> {
    let (result, event) = (&answered["result"], &answered["event"]);
    match question {
        Question::ProjectTrust(_) => Ok(Answer::ProjectTrust(project::trust(result))),
        Question::ResourcesDiscover(_) => project::resources(result).map(Answer::ResourcesDiscover),
        Question::BeforeSwitch(_) => {
            Ok(session::switch(result).map_or(Answer::NoOpinion, Answer::BeforeSwitch))
        }
        Question::BeforeFork(_) => {
            Ok(session::switch(result).map_or(Answer::NoOpinion, Answer::BeforeFork))
        }
        Question::BeforeCompact(_) => session::compaction(result).map(Answer::BeforeCompact),
        Question::BeforeTree(_) => session::tree(result).map(Answer::BeforeTree),
        Question::Context(asked) => {
            request::messages(&asked.messages, result, event).map(Answer::Context)
        }
        Question::ContextWithSystem(asked) => {
            request::messages(&asked.messages, result, event).map(Answer::ContextWithSystem)
        }
        Question::BeforeProviderHeaders(asked) => {
            request::headers(asked, event).map(Answer::BeforeProviderHeaders)
        }
        Question::BeforeProviderRequest(asked) => {
            Ok(Answer::BeforeProviderRequest(request::payload(asked, result, event)))
        }
        Question::CacheWarming(_) => Ok(Answer::CacheWarming(request::warming(result))),
        Question::BeforeAgentStart(asked) => {
            run::start(asked, result, event).map(Answer::BeforeAgentStart)
        }
        Question::TurnEnd(_) => run::boundary(result).map(Answer::TurnEnd),
        Question::BeforeSettle(_) => run::boundary(result).map(Answer::BeforeSettle),
        Question::MessageEnd(_) => run::message(result).map(Answer::MessageEnd),
        Question::ToolCall(asked) => Ok(Answer::ToolCall(user::tool_call(asked, result, event))),
        Question::ToolResult(_) => user::tool_result(result).map(Answer::ToolResult),
        Question::UserBash(_) => user::bash(result).map(Answer::UserBash),
        Question::Input(_) => user::input(result).map(Answer::Input),
        _ => Ok(Answer::NoOpinion),
    }
}

/// Reads a field; an absent one or `null` is `None`.
fn field<T: DeserializeOwned>(value: &Value, name: &str) -> Result<Option<T>, String> {
    match value.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(found) => serde_json::from_value(found.clone())
            .map(Some)
            .map_err(|error| format!("invalid `{name}`: {error}")),
    }
}

/// Returns true if a field is `true`.
fn is_true(value: &Value, name: &str) -> bool {
    value[name].as_bool() == Some(true)
}
