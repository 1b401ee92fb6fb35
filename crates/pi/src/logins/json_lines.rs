//! Logins for scripts: events as JSON lines on stdout, answers as JSON lines on stdin.
//!
//! `docs/logins.md` describes the lines.

use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use pi_ai::HookFuture;
use pi_host::browser;
use pi_web::oauth::{Cancelled, Interaction, LoginEvent, Prompt, PromptKind};
use serde_json::{Value, json};

use crate::input_lines::Lines;

/// A script at the other end of stdin and stdout.
#[derive(Default)]
pub(crate) struct JsonInteraction {
    /// The program that opens pages; `None` if no browser is opened.
    pub(crate) browser: Option<String>,
    lines: Arc<OnceLock<Lines>>,
    questions: AtomicU64,
}

impl JsonInteraction {
    pub(crate) fn new(browser: Option<String>) -> Self {
        Self { browser, ..Self::default() }
    }

    fn open(&self, url: &str) {
        if let Some(program) = &self.browser {
            browser::open(program, url);
        }
    }
}

/// Writes a line to stdout.
pub(crate) fn emit(line: &Value) {
    let mut stdout = std::io::stdout().lock();
    // A reader that is gone does not answer either, which ends the login.
    let _ = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
}

impl Interaction for JsonInteraction {
    fn show(&self, event: LoginEvent) {
        match event {
            LoginEvent::Info(message) => emit(&json!({ "type": "info", "message": message })),
            LoginEvent::Progress(message) => {
                emit(&json!({ "type": "progress", "message": message }));
            }
            LoginEvent::AuthorizeUrl(url) => {
                emit(&json!({ "type": "auth_url", "url": url }));
                self.open(&url);
            }
            LoginEvent::DeviceCode { user_code, verification_url, complete_url, expires_in } => {
                emit(&json!({
                    "type": "device_code",
                    "userCode": user_code,
                    "verificationUrl": verification_url,
                    "completeUrl": complete_url,
                    "expiresIn": expires_in.as_secs(),
                }));
                self.open(complete_url.as_deref().unwrap_or(&verification_url));
            }
            _ => {}
        }
    }

    fn ask(&self, prompt: Prompt) -> HookFuture<Result<String, Cancelled>> {
        let id = self.questions.fetch_add(1, Ordering::Relaxed) + 1;
        let lines = Arc::clone(&self.lines);
        Box::pin(async move {
            emit(&question(id, &prompt));
            let mut open = Open { id, is_answered: false };
            let lines = match lines.get() {
                Some(lines) => lines.clone(),
                None => {
                    let started = Lines::start().map_err(|_| Cancelled)?;
                    lines.get_or_init(|| started).clone()
                }
            };
            loop {
                let Some(line) = lines.next().await else {
                    // Without an answer, a code may still come from the browser.
                    if prompt.kind == PromptKind::ManualCode {
                        return std::future::pending().await;
                    }
                    return Err(Cancelled);
                };
                match reply(&line, id) {
                    Some(answer) => {
                        open.is_answered = true;
                        return answer.ok_or(Cancelled);
                    }
                    None => emit(&json!({
                        "type": "info",
                        "message": format!("ignored a line that does not answer the prompt {id}"),
                    })),
                }
            }
        })
    }
}

/// A question without an answer. Reports if the answer is no longer needed.
struct Open {
    id: u64,
    is_answered: bool,
}

impl Drop for Open {
    fn drop(&mut self) {
        if !self.is_answered {
            emit(&json!({ "type": "prompt_end", "id": self.id }));
        }
    }
}

fn question(id: u64, prompt: &Prompt) -> Value {
    let mut line = json!({ "type": "prompt", "id": id, "message": prompt.message });
    let kind = match &prompt.kind {
        PromptKind::Text { default } => {
            if let Some(default) = default {
                line["default"] = default.as_str().into();
            }
            "text"
        }
        PromptKind::Secret => "secret",
        PromptKind::Select { choices } => {
            let choice =
                |(value, label): &(String, String)| json!({ "value": value, "label": label });
            line["choices"] = choices.iter().map(choice).collect();
            "select"
        }
        _ => "manual_code",
    };
    line["kind"] = kind.into();
    line
}

/// Reads an answer: `Some(None)` cancels, `None` is no answer to this question.
fn reply(line: &str, id: u64) -> Option<Option<String>> {
    let answer: Value = serde_json::from_str(line).ok()?;
    if answer.get("id")?.as_u64()? != id {
        return None;
    }
    if answer.get("cancel").and_then(Value::as_bool) == Some(true) {
        return Some(None);
    }
    Some(Some(answer.get("value")?.as_str()?.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_belong_to_a_question() {
        assert_eq!(reply(r#"{"id":3,"value":"x"}"#, 3), Some(Some("x".to_owned())));
        assert_eq!(reply(r#"{"id":3,"cancel":true}"#, 3), Some(None));
        for other in [r#"{"id":2,"value":"x"}"#, r#"{"id":3}"#, "x", "{", r#"{"id":3,"value":7}"#] {
            assert_eq!(reply(other, 3), None, "{other}");
        }
    }

    #[test]
    fn questions_have_everything_a_script_needs() {
        let choices = vec![("a".to_owned(), "The first".to_owned())];
        let prompt = Prompt { message: "Which?".to_owned(), kind: PromptKind::Select { choices } };
        assert_eq!(
            question(1, &prompt),
            json!({ "type": "prompt", "id": 1, "kind": "select", "message": "Which?",
                "choices": [{ "value": "a", "label": "The first" }] })
        );
    }
}
