//! The answer of a command: from its exit code and from what it wrote.
//!
//! Exit code 0 lets stdout decide, 2 blocks with stderr as the reason, any other code is a failure.
//! Pure: no process and no session.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::HookEvent;

/// The exit code that blocks.
const BLOCK: i32 = 2;

/// The longest text of a hook that a model reads, in characters.
const MAX_TEXT: usize = 32 * 1024;

/// A command that ended by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinishedCommand {
    /// Exit code; 128 plus the signal if a signal killed the command.
    pub code: i32,
    /// Output for the agent.
    pub stdout: String,
    /// Errors and refusals.
    pub stderr: String,
}

/// The answer of one hook.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HookDecision {
    /// The decision; `None` if the hook leaves it to others.
    pub verdict: Option<HookVerdict>,
    /// Reason of the decision.
    pub reason: Option<String>,
    /// Replacement for the arguments of a tool call, or for the text of a prompt.
    pub updated_input: Option<Value>,
    /// Replacement for the result of a tool call.
    pub updated_output: Option<String>,
    /// Text that the model gets in addition.
    pub additional_context: Option<String>,
    /// Reason why the run ends.
    pub stop: Option<String>,
    /// Message for the user.
    pub system_message: Option<String>,
}

/// The decision of a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HookVerdict {
    /// The action is allowed without a question.
    Allow,
    /// The user is asked.
    Ask,
    /// The action is blocked.
    Block,
}

/// The object that a hook writes. Fields of the widespread format for hooks are accepted, too; others are
/// ignored.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Written {
    decision: Option<WrittenVerdict>,
    permission_decision: Option<WrittenVerdict>,
    reason: Option<String>,
    permission_decision_reason: Option<String>,
    updated_input: Option<Value>,
    updated_output: Option<String>,
    additional_context: Option<String>,
    #[serde(rename = "continue")]
    continues: Option<bool>,
    stop_reason: Option<String>,
    system_message: Option<String>,
    hook_specific_output: Option<Box<Written>>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum WrittenVerdict {
    Allow,
    Approve,
    Ask,
    Deny,
    Block,
}

impl From<WrittenVerdict> for HookVerdict {
    fn from(written: WrittenVerdict) -> Self {
        match written {
            WrittenVerdict::Allow | WrittenVerdict::Approve => Self::Allow,
            WrittenVerdict::Ask => Self::Ask,
            WrittenVerdict::Deny | WrittenVerdict::Block => Self::Block,
        }
    }
}

impl HookDecision {
    /// Reads the answer of a hook. The error describes the failure.
    pub fn read(event: HookEvent, finished: &FinishedCommand) -> Result<Self, String> {
        match finished.code {
            0 => Self::from_output(event, finished.stdout.trim()),
            BLOCK => {
                let reason = limited(finished.stderr.trim());
                let reason = Some(reason).filter(|reason| !reason.is_empty());
                Ok(Self { verdict: Some(HookVerdict::Block), reason, ..Self::default() })
            }
            code => Err(with_text(&format!("it exited with code {code}"), &finished.stderr)),
        }
    }

    /// Reads the answer of a command that has to give one: its output is empty or an object.
    pub fn read_strict(finished: &FinishedCommand) -> Result<Self, String> {
        let output = finished.stdout.trim();
        match finished.code {
            0 if output.is_empty() => Ok(Self::default()),
            0 => Self::from_object(output),
            // Exit code 2 and failures do not depend on the event.
            _ => Self::read(HookEvent::BeforeTool, finished),
        }
    }

    fn from_output(event: HookEvent, output: &str) -> Result<Self, String> {
        if output.is_empty() {
            return Ok(Self::default());
        }
        if !output.starts_with('{') {
            if event.takes_text() {
                return Ok(Self { additional_context: Some(limited(output)), ..Self::default() });
            }
            // Programs such as formatters report what they did.
            if !event.decides() {
                return Ok(Self::default());
            }
            return Err(with_text("its output is not a JSON object", output));
        }
        let decision = Self::from_object(output)?;
        decision.check(event)?;
        Ok(decision)
    }

    fn from_object(output: &str) -> Result<Self, String> {
        let object: Map<String, Value> = serde_json::from_str(output)
            .map_err(|error| format!("its output is invalid JSON: {error}"))?;
        let written = Written::deserialize(Value::Object(object))
            .map_err(|error| format!("its output is invalid: {error}"))?;
        Ok(Self::from_written(written))
    }

    fn from_written(written: Written) -> Self {
        let inner = written.hook_specific_output.map(|inner| *inner).unwrap_or_default();
        let stops = written.continues == Some(false) || inner.continues == Some(false);
        let reason = inner.permission_decision_reason.or(inner.reason);
        let reason = reason.or(written.permission_decision_reason).or(written.reason);
        let stop_reason = written.stop_reason.or(inner.stop_reason).or_else(|| reason.clone());
        let stop_reason = stop_reason.unwrap_or_else(|| "it returned \"continue\": false".into());
        let verdict = inner.permission_decision.or(inner.decision);
        let verdict = verdict.or(written.permission_decision).or(written.decision);
        Self {
            verdict: verdict.map(Into::into),
            reason: reason.map(|text| limited(&text)),
            updated_input: inner.updated_input.or(written.updated_input),
            updated_output: inner.updated_output.or(written.updated_output),
            additional_context: inner
                .additional_context
                .or(written.additional_context)
                .filter(|text| !text.trim().is_empty())
                .map(|text| limited(&text)),
            stop: stops.then(|| limited(&stop_reason)),
            system_message: written.system_message.map(|text| limited(&text)),
        }
    }

    /// Refuses what the event has no place for: a change that is dropped would be a lie.
    fn check(&self, event: HookEvent) -> Result<(), String> {
        match (event, &self.updated_input) {
            (_, None) | (HookEvent::BeforeTool, Some(Value::Object(_))) => {}
            (HookEvent::BeforePrompt, Some(Value::String(_))) => {}
            (HookEvent::BeforeTool, Some(_)) => return Err("updatedInput is not an object".into()),
            (HookEvent::BeforePrompt, Some(_)) => return Err("updatedInput is not a text".into()),
            _ => return Err(format!("updatedInput has no effect at {}", event.name())),
        }
        if self.updated_output.is_some() && event != HookEvent::AfterTool {
            return Err(format!("updatedOutput has no effect at {}", event.name()));
        }
        if self.verdict == Some(HookVerdict::Ask) && event != HookEvent::BeforeTool {
            return Err(format!("the decision \"ask\" has no effect at {}", event.name()));
        }
        Ok(())
    }
}

/// Cuts a text that is too long for a model.
fn limited(text: &str) -> String {
    match text.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => format!("{} […]", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Adds the beginning of an output to a description.
fn with_text(problem: &str, output: &str) -> String {
    let output = output.trim();
    if output.is_empty() {
        return problem.to_owned();
    }
    let shown: String = output.chars().take(500).collect();
    format!("{problem}: {shown}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(event: HookEvent, code: i32, stdout: &str, stderr: &str) -> String {
        let finished =
            FinishedCommand { code, stdout: stdout.to_owned(), stderr: stderr.to_owned() };
        match HookDecision::read(event, &finished) {
            Ok(decision) => format!("{decision:?}").replace("HookDecision ", ""),
            Err(error) => format!("failure: {error}"),
        }
    }

    #[test]
    fn answers_are_read() {
        use HookEvent::{AfterTool, BeforePrompt, BeforeTool, Stop};
        let cases = [
            (BeforeTool, 0, "", ""),
            (BeforeTool, 0, "{}", ""),
            (BeforeTool, 2, "{\"decision\": \"allow\"}", "No network.\n"),
            (BeforeTool, 2, "", ""),
            (BeforeTool, 1, "", "Traceback\n"),
            (BeforeTool, 137, "", ""),
            (BeforeTool, 0, r#"{"decision": "deny", "reason": "No."}"#, ""),
            (BeforeTool, 0, r#"{"decision": "ask"}"#, ""),
            (BeforeTool, 0, r#"{"decision": "maybe"}"#, ""),
            (BeforeTool, 0, r#"{"updatedInput": {"command": "ls"}}"#, ""),
            (BeforeTool, 0, r#"{"updatedInput": "ls"}"#, ""),
            (BeforeTool, 0, "checked", ""),
            (BeforeTool, 0, "{\"decision\": ", ""),
            (BeforeTool, 0, "[]", ""),
            (
                BeforeTool,
                0,
                r#"{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "No."}}"#,
                "",
            ),
            (BeforeTool, 0, r#"{"continue": false, "stopReason": "Enough."}"#, ""),
            (BeforeTool, 0, r#"{"continue": false}"#, ""),
            (BeforePrompt, 0, "It is Monday.\n", ""),
            (BeforePrompt, 0, r#"{"updatedInput": "Say hello."}"#, ""),
            (BeforePrompt, 0, r#"{"decision": "ask"}"#, ""),
            (AfterTool, 0, "formatted 1 file", ""),
            (AfterTool, 0, r#"{"updatedOutput": "ok", "additionalContext": "More."}"#, ""),
            (Stop, 0, r#"{"decision": "block", "reason": "Run the tests."}"#, ""),
            (Stop, 0, r#"{"updatedOutput": "x"}"#, ""),
        ];
        let read = cases.map(|(event, code, stdout, stderr)| {
            format!("{} {code} {stdout}\n    {}", event.name(), read(event, code, stdout, stderr))
        });
        insta::assert_snapshot!(read.join("\n"));
    }

    proptest::proptest! {
        #[test]
        fn any_output_is_an_answer_or_a_failure(code in 0..3i32, stdout: String, stderr: String) {
            for event in HookEvent::ALL {
                let finished =
                    FinishedCommand { code, stdout: stdout.clone(), stderr: stderr.clone() };
                let _ = HookDecision::read(*event, &finished);
            }
        }
    }
}
