//! The tool `submit_result`: receives the result, checks it, and ends the turn if it is valid.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use pi_agent::{AgentTool, BoxFuture, ExecutionMode, Invocation, ToolError, ToolOutput};
use pi_base::lock;
use pi_protocol::{ConstrainedSampling, Effects, StrictMode, Tool};
use serde_json::{Map, Value, json};

use super::schema::OutputContract;
use super::violation::Violation;

/// Name of the tool.
pub const SUBMIT_RESULT: &str = "submit_result";

const DESCRIPTION: &str = "Submit the final result of the task. Call this tool once, when all work \
    is done. The arguments are the result and must match the schema exactly. If the result is \
    refused, correct the reported problems and call the tool again.";

/// Argument that holds a result that is not an object.
const WRAPPED: &str = "result";

/// The submissions of one round. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Submissions(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    accepted: Option<Arc<Value>>,
    refused: u32,
    last_refused: Option<Refused>,
}

/// A result that was refused.
#[derive(Debug, Clone)]
pub(crate) struct Refused {
    /// The result, or the answer, as text.
    pub(crate) text: String,
    pub(crate) violations: Vec<Violation>,
}

impl Submissions {
    /// Forgets everything, for the next round.
    pub(crate) fn reset(&self) {
        *lock(&self.0) = State::default();
    }

    pub(crate) fn accepted(&self) -> Option<Arc<Value>> {
        lock(&self.0).accepted.clone()
    }

    pub(crate) fn last_refused(&self) -> Option<Refused> {
        lock(&self.0).last_refused.clone()
    }

    /// Returns the number of results that were refused.
    pub(crate) fn refused(&self) -> u32 {
        lock(&self.0).refused
    }

    /// Records a result that was refused. Returns the number of them.
    pub(crate) fn refuse(&self, refused: Refused) -> u32 {
        let mut state = lock(&self.0);
        state.refused += 1;
        state.last_refused = Some(refused);
        state.refused
    }
}

/// The tool. It has no effects outside of the agent.
pub(crate) struct SubmitResult {
    declaration: Tool,
    guidelines: Vec<String>,
    contract: OutputContract,
    submissions: Submissions,
    repairs: u32,
}

impl SubmitResult {
    pub(crate) fn new(contract: OutputContract, submissions: Submissions, repairs: u32) -> Self {
        let mut declaration = Tool::new(SUBMIT_RESULT, DESCRIPTION, parameters(contract.schema()));
        declaration.constrained_sampling =
            Some(ConstrainedSampling::JsonSchema { strict: StrictMode::Prefer });
        let guidelines = vec![format!(
            "Finish by calling {SUBMIT_RESULT} with the result. Do not end with text only."
        )];
        Self { declaration, guidelines, contract, submissions, repairs }
    }

    async fn submit(&self, arguments: Map<String, Value>) -> ToolOutput {
        let value = Arc::new(read(&self.contract, arguments));
        let violations = self.contract.check(&value).await;
        if violations.is_empty() {
            lock(&self.submissions.0).accepted = Some(value);
            return ToolOutput::text("The result was accepted.").terminating();
        }
        let text = serde_json::to_string_pretty(&*value).unwrap_or_default();
        let problems = listed(&violations);
        let refused = self.submissions.refuse(Refused { text, violations });
        if refused > self.repairs {
            let text = format!(
                "The result does not match the schema, and no attempt is left:\n{problems}"
            );
            return ToolOutput::error(text).terminating();
        }
        ToolOutput::error(format!(
            "The result does not match the schema:\n{problems}\nCorrect these problems and call \
             {SUBMIT_RESULT} again with the complete result."
        ))
    }
}

impl AgentTool for SubmitResult {
    fn declaration(&self) -> &Tool {
        &self.declaration
    }

    fn prompt_snippet(&self) -> Option<&str> {
        Some("Submit the final result of the task")
    }

    fn prompt_guidelines(&self) -> &[String] {
        &self.guidelines
    }

    /// Work that the model starts in the same turn is complete before the result counts.
    fn execution_mode(&self) -> ExecutionMode {
        ExecutionMode::Sequential
    }

    /// Problems are reported by pointer, counted, and judged by the whole schema.
    fn validates_arguments(&self) -> bool {
        true
    }

    fn effects(&self, _arguments: &Map<String, Value>) -> Effects {
        Effects::none()
    }

    fn execute(&self, invocation: Invocation) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move { Ok(self.submit(invocation.arguments).await) })
    }
}

/// Lists violations for the model.
pub(crate) fn listed(violations: &[Violation]) -> String {
    let mut text = String::new();
    for violation in violations {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "- {violation}");
    }
    text.truncate(text.trim_end().len());
    text
}

/// Returns the result in the arguments of a call.
pub(crate) fn read(contract: &OutputContract, mut arguments: Map<String, Value>) -> Value {
    let value = if takes_object(contract.schema()) {
        Value::Object(arguments)
    } else {
        // A call without the argument is reported as the wrong value that it is.
        let wrapped = arguments.remove(WRAPPED).filter(|_| arguments.is_empty());
        wrapped.unwrap_or(Value::Object(arguments))
    };
    contract.without_nulls(value)
}

/// Returns true if every result is an object and the schema can be the parameters of a tool.
fn takes_object(schema: &Value) -> bool {
    schema.get("type").is_some_and(|kind| kind == "object")
}

/// Returns the parameters of the tool. They are always an object, so any other result is an
/// argument.
fn parameters(schema: &Value) -> Value {
    if takes_object(schema) {
        return schema.clone();
    }
    let mut inner = schema.clone();
    relocate(&mut inner);
    let mut outer = json!({
        "type": "object",
        "properties": {},
        "required": [WRAPPED],
        "additionalProperties": false,
    });
    // References such as `#/$defs/item` stay right if the definitions stay at the root.
    for name in ["$defs", "definitions", "$schema"] {
        if let Some(moved) = inner.as_object_mut().and_then(|inner| inner.remove(name)) {
            outer[name] = moved;
        }
    }
    outer["properties"][WRAPPED] = inner;
    outer
}

/// Rewrites references to the root, which moves down.
fn relocate(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            for (name, member) in members {
                match member {
                    Value::String(target) if name == "$ref" => *target = relocated(target),
                    member => relocate(member),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(relocate),
        _ => {}
    }
}

fn relocated(target: &str) -> String {
    match target.strip_prefix('#') {
        Some("") => format!("#/properties/{WRAPPED}"),
        Some(path)
            if path.starts_with('/')
                && !path.starts_with("/$defs/")
                && !path.starts_with("/definitions/") =>
        {
            format!("#/properties/{WRAPPED}{path}")
        }
        _ => target.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_results_than_objects_are_an_argument() {
        let list = json!({
            "type": "array",
            "items": {"$ref": "#/$defs/item"},
            "$defs": {"item": {"anyOf": [{"type": "string"}, {"$ref": "#"}]}},
        });
        assert_eq!(
            parameters(&list),
            json!({
                "type": "object",
                "properties": {"result": {"type": "array", "items": {"$ref": "#/$defs/item"}}},
                "required": ["result"],
                "additionalProperties": false,
                "$defs": {"item": {"anyOf": [
                    {"type": "string"}, {"$ref": "#/properties/result"},
                ]}},
            })
        );
        let contract = OutputContract::compile(&list).unwrap();
        let arguments = |value: Value| value.as_object().cloned().unwrap_or_default();
        assert_eq!(read(&contract, arguments(json!({"result": [1]}))), json!([1]));
        assert_eq!(read(&contract, arguments(json!({"a": 1}))), json!({"a": 1}));
    }
}
