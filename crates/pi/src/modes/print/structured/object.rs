//! The object of `--output-format json`: everything about a run, also if it failed.
//!
//! Programs read the object: fields are only added. docs/unattended.md describes them.

use std::time::Instant;

use pi_coding_agent::session::AgentSession;
use serde_json::{Value, json};

use super::Run;
use crate::exit::{Exit, Failure};
use crate::secrets::redacted;

impl Run {
    /// Returns the object as one line.
    pub(super) fn object(&self, failure: Option<&Failure>, started: Instant) -> String {
        let exit = failure.map_or(Exit::Completed, |failure| failure.exit);
        let mut object = json!({
            "type": "result",
            "ok": failure.is_none(),
            "exitCode": exit.exit_code(),
            "text": Value::Null,
            "durationMs": u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        });
        if let Some(result) = &self.result {
            object["result"] = (**result).clone();
        }
        if let Some(failure) = failure {
            object["error"] = json!({ "message": redacted(&failure.message) });
            if let Some(hint) = &failure.hint {
                object["error"]["hint"] = json!(hint);
            }
        }
        if let Some(session) = &self.session {
            self.add_session(session, &mut object);
        }
        if let Some(invalid) = &self.invalid {
            object["text"] = json!(invalid.text);
            object["problems"] = json!(invalid.problems());
        }
        format!("{object}\n")
    }

    fn add_session(&self, session: &AgentSession, object: &mut Value) {
        let usage = session.usage_since(self.first_entry);
        object["usage"] = json!({
            "input": usage.tokens.input,
            "output": usage.tokens.output,
            "cacheRead": usage.tokens.cache_read,
            "cacheWrite": usage.tokens.cache_write,
            "totalTokens": usage.tokens.total_tokens,
        });
        object["cost"] = json!(usage.tokens.cost.total);
        object["numTurns"] = json!(usage.turns);
        object["sessionId"] = json!(session.id());
        if let Some(file) = session.file() {
            object["sessionFile"] = json!(file);
        }
        if let Some(model) = session.model() {
            object["model"] = json!(format!("{}/{}", model.provider, model.id));
        }
        // Without an answer of this run, the last one belongs to an earlier run.
        if usage.turns > 0 {
            object["text"] = json!(session.last_assistant_text());
            let messages = session.messages();
            let last = messages.iter().rev().find_map(|message| message.as_assistant());
            object["stopReason"] = json!(last.map(|answer| &answer.stop_reason));
        }
    }
}
