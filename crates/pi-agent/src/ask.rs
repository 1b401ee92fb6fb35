//! One question to a model whose answer is a JSON object, outside of any run.
//!
//! The answer decides something, so this fails closed: an answer that is late, cut off, or more than
//! one object of the expected type is no answer.

use std::sync::Arc;
use std::time::Duration;

use pi_protocol::{
    CancelToken, Context, Message, Model, Provider, Request, StopReason, StreamOptions, complete,
};
use serde::de::{DeserializeOwned, Error as _};

/// A question to a model.
#[derive(Debug, Clone)]
pub struct ModelQuestion<'a> {
    /// The model that answers.
    pub model: Arc<Model>,
    /// The task of the model, with the form of the answer.
    pub system_prompt: &'a str,
    /// The subject.
    pub text: String,
    /// The longest time that the answer may take.
    pub timeout: Duration,
}

/// The reasons why a question has no answer.
#[derive(Debug, thiserror::Error)]
pub enum Unanswered {
    /// The question was cancelled.
    #[error("it was aborted")]
    Aborted,
    /// The answer took too long.
    #[error("it took longer than {} s", .0.as_secs_f64())]
    TimedOut(Duration),
    /// The request failed, or the answer is incomplete.
    #[error("{0}")]
    Failed(String),
    /// The answer is not one JSON object of the expected type.
    #[error("its answer is not clear: {0}")]
    Unclear(serde_json::Error),
}

/// Asks a model for a JSON object of type `T`.
pub async fn ask_for<T: DeserializeOwned>(
    provider: &dyn Provider,
    question: ModelQuestion<'_>,
    cancel: &CancelToken,
) -> Result<T, Unanswered> {
    let ModelQuestion { model, system_prompt, text, timeout } = question;
    let context = Context {
        system_prompt: Some(system_prompt.to_owned()),
        messages: std::iter::once(Message::user(text)).collect(),
        tools: Vec::new(),
    };
    let request = Request::new(model, context, StreamOptions::default());
    let ended = CancelToken::new();
    let answer = tokio::select! {
        biased;
        () = cancel.cancelled() => Err(Unanswered::Aborted),
        answer = complete(provider, request, ended.clone()) => Ok(answer),
        () = tokio::time::sleep(timeout) => Err(Unanswered::TimedOut(timeout)),
    };
    ended.cancel();
    let answer = answer?;
    if answer.stop_reason != StopReason::Stop {
        let error = answer.error_message.as_deref().unwrap_or("its answer is incomplete");
        return Err(Unanswered::Failed(error.to_owned()));
    }
    read_object(&answer.text()).map_err(Unanswered::Unclear)
}

/// Reads an answer that is one JSON object and nothing else. A code fence around the object is
/// accepted: many models write one in spite of instructions.
pub fn read_object<T: DeserializeOwned>(answer: &str) -> Result<T, serde_json::Error> {
    let answer = answer.trim();
    let fenced = answer.strip_prefix("```json").or_else(|| answer.strip_prefix("```"));
    let object = fenced.and_then(|inner| inner.strip_suffix("```")).unwrap_or(answer).trim();
    let read = serde_json::from_str(object)?;
    // An array would be read as the fields of a struct.
    if !object.starts_with('{') {
        return Err(serde_json::Error::custom("expected an object"));
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Ruling {
        allow: bool,
        reason: String,
    }

    #[test]
    fn one_object_counts_with_or_without_a_fence() {
        let object = r#"{"allow": true, "reason": "Fine."}"#;
        for (answer, expected) in [
            (object.to_owned(), true),
            (format!("  {object}\n"), true),
            (format!("```json\n{object}\n```"), true),
            (format!("```\n{object}```"), true),
            (format!("Yes: {object}"), false),
            (format!("{object} {object}"), false),
            (format!("```json\n{object}\n```\nThat is all."), false),
            (format!("```json\n{object}"), false),
            (format!("```json\n{object}\n```\n```json\n{object}\n```"), false),
            (r#"[true, "Fine."]"#.to_owned(), false),
            (r#"{"allow": true}"#.to_owned(), false),
            (r#"{"allow": true, "reason": "", "sure": true}"#.to_owned(), false),
            (String::new(), false),
        ] {
            assert_eq!(read_object::<Ruling>(&answer).is_ok(), expected, "{answer}");
        }
    }
}
