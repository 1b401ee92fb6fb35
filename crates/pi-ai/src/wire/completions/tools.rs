//! Encodes tool declarations: functions, and custom tools with a grammar.

use pi_protocol::{ConstrainedSampling, Tool};
use serde_json::{Map, Value, json};

use super::compat::Compat;
use crate::wire::{EncodeError, strict};

/// Encodes the declarations of `tools`.
pub(super) fn declare(tools: &[Tool], compat: &Compat) -> Result<Vec<Value>, EncodeError> {
    tools.iter().map(|tool| declare_one(tool, compat)).collect()
}

fn declare_one(tool: &Tool, compat: &Compat) -> Result<Value, EncodeError> {
    if compat.grammar_tools
        && let Some(ConstrainedSampling::Grammar { .. }) = &tool.constrained_sampling
    {
        return declare_grammar(tool);
    }
    let strict = strict::strict_parameters(tool, compat.strict_tools)?;
    let mut function = Map::new();
    function.insert("name".to_owned(), tool.name.as_str().into());
    function.insert("description".to_owned(), tool.description.as_str().into());
    let is_strict = strict.is_some();
    let parameters = strict.unwrap_or_else(|| match &tool.parameters {
        Value::Null => json!({"type": "object", "properties": {}}),
        schema => schema.clone(),
    });
    function.insert("parameters".to_owned(), parameters);
    // Endpoints that do not support the field reject it, even if it is false.
    if compat.strict_tools {
        function.insert("strict".to_owned(), is_strict.into());
    }
    Ok(json!({"type": "function", "function": function}))
}

fn declare_grammar(tool: &Tool) -> Result<Value, EncodeError> {
    let Some((mut grammar, _)) = strict::grammar(tool) else {
        let reason = if strict::only_string_argument(&tool.parameters).is_none() {
            "its schema must have exactly one argument, a required string"
        } else {
            "no supported grammar variant was provided"
        };
        return Err(EncodeError::GrammarTool { tool: tool.name.clone(), reason });
    };
    let format = json!({
        "type": "grammar",
        "grammar": {"syntax": grammar["syntax"].take(), "definition": grammar["definition"].take()},
    });
    Ok(json!({
        "type": "custom",
        "custom": {"name": tool.name, "description": tool.description, "format": format},
    }))
}

/// Names of the tools that are sent as custom tools, with the argument that holds their input.
#[derive(Debug, Default)]
pub(super) struct GrammarTools(Vec<(String, String)>);

impl GrammarTools {
    /// Selects those of `tools` that this endpoint accepts as custom tools.
    pub(super) fn among(tools: &[Tool], compat: &Compat) -> Self {
        if !compat.grammar_tools {
            return Self::default();
        }
        let argument_of = |tool: &Tool| {
            strict::grammar(tool).map(|(_, name)| (tool.name.clone(), name.to_owned()))
        };
        Self(tools.iter().filter_map(argument_of).collect())
    }

    /// Returns the argument that holds the input of this tool.
    pub(super) fn argument(&self, tool: &str) -> Option<&str> {
        self.0.iter().find(|(name, _)| name == tool).map(|(_, argument)| argument.as_str())
    }
}
