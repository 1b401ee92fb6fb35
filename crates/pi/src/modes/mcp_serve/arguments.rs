//! The arguments of the tools.

use serde_json::{Map, Value};

/// The longest prompt, in bytes.
const PROMPT: usize = 4 << 20;

/// Arguments that are checked one by one.
pub(super) struct Given(Map<String, Value>);

impl Given {
    /// Takes the arguments of a tool. Unknown ones are an error: a caller must not believe that a
    /// misspelled limit applies.
    pub(super) fn new(arguments: Map<String, Value>, known: &[&str]) -> Result<Self, String> {
        match arguments.keys().find(|name| !known.contains(&name.as_str())) {
            Some(name) => {
                Err(format!("unknown argument \"{name}\": expected {}", known.join(", ")))
            }
            None => Ok(Self(arguments)),
        }
    }

    /// Returns a text.
    pub(super) fn text(&self, name: &str) -> Result<Option<&str>, String> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(format!("{name} must be a text")),
        }
    }

    /// Returns an object.
    pub(super) fn object(&self, name: &str) -> Result<Option<&Map<String, Value>>, String> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Object(object)) => Ok(Some(object)),
            Some(_) => Err(format!("{name} must be an object")),
        }
    }

    /// Returns the prompt.
    pub(super) fn prompt(&self) -> Result<&str, String> {
        let prompt = self.text("prompt")?.filter(|prompt| !prompt.trim().is_empty());
        let prompt = prompt.ok_or("prompt is required")?;
        match prompt.len() > PROMPT {
            true => Err(format!("the prompt is longer than {PROMPT} bytes")),
            false => Ok(prompt),
        }
    }

    /// Returns the id of a session. It is never a path.
    pub(super) fn session(&self) -> Result<&str, String> {
        self.text("sessionId")?.ok_or_else(|| "sessionId is required".to_owned())
    }
}
