//! Credentials: the model works with what contains them and does not see them.
//!
//! What tools say is masked. A file that the model writes with a mask in it gets the real text
//! back in its place; a command does not, since whatever is in its words everybody can see.

use std::borrow::Cow;

use pi_agent::{ToolError, ToolOutput, Updates};
use pi_guard::secrets::Secrets;
use pi_protocol::UserBlock;
use serde_json::{Map, Value};

use super::Guard;

impl Guard {
    /// What is known to be secret.
    pub fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// A text as others may see it.
    pub(crate) fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.plan.mask_secrets { self.secrets.redact(text) } else { Cow::Borrowed(text) }
    }

    /// What a tool said, as the model may see it.
    pub(super) fn mask_output(&self, mut output: ToolOutput) -> ToolOutput {
        if !self.plan.mask_secrets {
            return output;
        }
        mask_output(&self.secrets, &mut output);
        output
    }

    /// Reports of progress that are masked on their way.
    pub(super) fn mask_updates(&self, updates: Updates) -> Updates {
        if !self.plan.mask_secrets {
            return updates;
        }
        let secrets = self.secrets.clone();
        Updates::new(move |mut partial| {
            mask_output(&secrets, &mut partial);
            updates.send(partial);
        })
    }

    /// The arguments with the real text where the model wrote a mask.
    pub(super) fn restore(
        &self,
        tool: &str,
        mut arguments: Map<String, Value>,
    ) -> Result<Map<String, Value>, ToolError> {
        match tool {
            "write" | "edit" => {
                for value in arguments.values_mut() {
                    self.restore_value(value)?;
                }
            }
            "bash"
                if arguments.values().any(|v| v.as_str().is_some_and(Secrets::has_placeholder)) =>
            {
                return Err(ToolError::new(
                    "The command has a masked value in it, which was not run: everybody can see \
                     the words of a command. Let the command read the value where it is, from its \
                     file or its variable.",
                ));
            }
            _ => {}
        }
        Ok(arguments)
    }

    fn restore_value(&self, value: &mut Value) -> Result<(), ToolError> {
        match value {
            Value::String(text) => {
                let unknown = |error: pi_guard::secrets::UnknownPlaceholder| {
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

fn mask_output(secrets: &Secrets, output: &mut ToolOutput) {
    for block in &mut output.content {
        if let UserBlock::Text(text) = block
            && let Cow::Owned(masked) = secrets.redact(&text.text)
        {
            text.text = masked;
        }
    }
    for value in [&mut output.details, &mut output.structured_content].into_iter().flatten() {
        secrets.redact_json(value);
    }
}
