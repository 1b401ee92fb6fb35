//! Redaction: the model works with files that contain credentials without seeing them.
//!
//! Tool results are redacted: a placeholder stands for each credential. If the model writes a file
//! with a placeholder, the credential is put back. A command with a placeholder is refused,
//! because other processes can see command lines.

use std::borrow::Cow;

use pi_agent::{ToolError, ToolOutput, Updates};
use pi_guard::secrets::{Secrets, UnknownPlaceholder};
use pi_protocol::{Effects, UserBlock};
use serde_json::{Map, Value};

use super::Guard;

impl Guard {
    /// Returns the secrets known to this session.
    pub fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// Redacts a text that leaves the session.
    pub(crate) fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.plan.redact_secrets { self.secrets.redact(text) } else { Cow::Borrowed(text) }
    }

    /// Redacts a tool result.
    pub(super) fn redact_output(&self, mut output: ToolOutput) -> ToolOutput {
        if self.plan.redact_secrets {
            redact_output(&self.secrets, &mut output);
        }
        output
    }

    /// Redacts progress reports before they are passed on.
    pub(super) fn redact_updates(&self, updates: Updates) -> Updates {
        if !self.plan.redact_secrets {
            return updates;
        }
        let secrets = self.secrets.clone();
        Updates::new(move |mut partial| {
            redact_output(&secrets, &mut partial);
            updates.send(partial);
        })
    }

    /// Replaces placeholders in the arguments of a call that writes files by the secrets they
    /// stand for. Refuses placeholders in a call that runs commands.
    pub(super) fn restore(
        &self,
        effects: &Effects,
        mut arguments: Map<String, Value>,
    ) -> Result<Map<String, Value>, ToolError> {
        if !effects.runs.is_empty() && arguments.values().any(has_placeholder) {
            return Err(ToolError::new(
                "The command was not run: it contains a placeholder for a redacted secret, and \
                 other processes can see command lines. Let the command read the secret from its \
                 file or environment variable.",
            ));
        }
        if !effects.writes.is_empty() {
            for value in arguments.values_mut() {
                self.restore_value(value)?;
            }
        }
        Ok(arguments)
    }

    fn restore_value(&self, value: &mut Value) -> Result<(), ToolError> {
        match value {
            Value::String(text) => {
                let unknown = |error: UnknownPlaceholder| {
                    ToolError::new(format!("Nothing was written: {error}."))
                };
                if let Cow::Owned(restored) = self.secrets.restore(text).map_err(unknown)? {
                    *text = restored;
                }
            }
            Value::Array(values) => values.iter_mut().try_for_each(|v| self.restore_value(v))?,
            Value::Object(fields) => fields.values_mut().try_for_each(|v| self.restore_value(v))?,
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
        Ok(())
    }
}

fn has_placeholder(value: &Value) -> bool {
    match value {
        Value::String(text) => Secrets::has_placeholder(text),
        Value::Array(values) => values.iter().any(has_placeholder),
        Value::Object(fields) => fields.values().any(has_placeholder),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn redact_output(secrets: &Secrets, output: &mut ToolOutput) {
    for block in &mut output.content {
        if let UserBlock::Text(text) = block
            && let Cow::Owned(redacted) = secrets.redact(&text.text)
        {
            text.text = redacted;
        }
    }
    for value in [&mut output.details, &mut output.structured_content].into_iter().flatten() {
        secrets.redact_json(value);
    }
}
