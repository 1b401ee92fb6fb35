//! Constrained final answers: support of a model, and the schema in the form that providers accept.

#[cfg(feature = "http")]
mod rejection;

use pi_protocol::{Declarations, Model, OutputSchema};
use serde_json::{Map, Value};

use super::{Call, strict};

#[cfg(feature = "http")]
pub(crate) use rejection::without_schema;

/// The ability of a model to constrain its final answer to a JSON Schema.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OutputSupport {
    /// The endpoint ignores or rejects a schema, or its behavior is unknown.
    #[default]
    Unsupported,
    /// The endpoint accepts a schema in requests without tools. With tools, the constraint would
    /// keep the model from calling them.
    WithoutTools,
    /// The endpoint accepts a schema in every request.
    Supported,
}

impl OutputSupport {
    /// Returns the support of a model: `default`, unless the record of the model has the keys
    /// `supportsOutputSchema` or `supportsOutputSchemaWithTools`.
    pub(super) fn of(model: &Model, default: Self) -> Self {
        let flag = |key: &str| model.compat.get(key).and_then(Value::as_bool);
        let support = match flag("supportsOutputSchema") {
            Some(false) => return Self::Unsupported,
            Some(true) if default == Self::Unsupported => Self::WithoutTools,
            Some(true) | None => default,
        };
        match (support, flag("supportsOutputSchemaWithTools")) {
            (Self::Unsupported, _) | (_, None) => support,
            (_, Some(true)) => Self::Supported,
            (_, Some(false)) => Self::WithoutTools,
        }
    }

    /// Returns full support if a condition holds.
    pub(super) fn if_true(condition: bool) -> Self {
        if condition { Self::Supported } else { Self::Unsupported }
    }

    fn covers(self, has_tools: bool) -> bool {
        match self {
            Self::Supported => true,
            Self::WithoutTools => !has_tools,
            Self::Unsupported => false,
        }
    }
}

/// Returns true if requests to `model` enforce the schema. `has_tools` is true if the requests
/// declare tools.
pub fn enforces_output(model: &Model, schema: &OutputSchema, has_tools: bool) -> bool {
    let Some(format) = super::format(&model.api) else { return false };
    !schema.is_rejected()
        && (format.output_support)(model).covers(has_tools)
        && reduced(schema.schema(), Bounds::Described).is_some()
}

/// The treatment of keywords that bound numbers, texts and lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bounds {
    /// The provider enforces the bounds of numbers and lists.
    Enforced,
    /// The provider rejects them; the model reads them in the description.
    Described,
}

impl Call {
    /// Returns the schema to send; `None` if there is none, if the endpoint does not support it, or
    /// if strict sampling cannot express it.
    pub(super) fn output_schema(
        &self,
        support: OutputSupport,
        bounds: Bounds,
    ) -> Option<(&str, Value)> {
        let wanted = self.options.output_schema.as_ref().filter(|schema| !schema.is_rejected())?;
        let has_tools = || !Declarations::replay(&self.messages).tools.is_empty();
        let is_covered = support.covers(false) && support.covers(has_tools());
        if !is_covered {
            return None;
        }
        Some((wanted.name(), reduced(wanted.schema(), bounds)?))
    }
}

/// Annotations that some providers reject.
const ANNOTATIONS: &[&str] =
    &["$schema", "$id", "$comment", "default", "examples", "deprecated", "readOnly", "writeOnly"];

/// Bounds that some providers enforce.
const ENFORCED_BOUNDS: &[&str] = &[
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minItems",
    "maxItems",
    "pattern",
];

/// Bounds that no provider enforces reliably.
const OTHER_BOUNDS: &[&str] =
    &["minLength", "maxLength", "uniqueItems", "minProperties", "maxProperties"];

/// Formats that providers know.
const FORMATS: &[&str] =
    &["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];

/// Returns a copy of a schema for strict sampling. The copy may accept more than the schema, never
/// less, except for optional properties, which are null instead of absent.
fn reduced(schema: &Value, bounds: Bounds) -> Option<Value> {
    let mut copy = schema.clone();
    reduce(&mut copy, bounds);
    strict::convert_root(&copy).ok()
}

fn reduce(schema: &mut Value, bounds: Bounds) {
    let Value::Object(object) = schema else { return };
    object.retain(|key, _| !ANNOTATIONS.contains(&key.as_str()));
    describe_bounds(object, bounds);
    if let Some(Value::Object(properties)) = object.get_mut("properties") {
        properties.values_mut().for_each(|property| reduce(property, bounds));
    }
    if let Some(items) = object.get_mut("items") {
        reduce(items, bounds);
    }
    if let Some(Value::Array(members)) = object.get_mut("anyOf") {
        members.iter_mut().for_each(|member| reduce(member, bounds));
    }
}

/// Moves bounds that the provider does not enforce into the description.
fn describe_bounds(object: &mut Map<String, Value>, bounds: Bounds) {
    let mut notes = Vec::new();
    object.retain(|key, value| {
        let is_kept = if key == "format" {
            value.as_str().is_some_and(|format| FORMATS.contains(&format))
        } else if ENFORCED_BOUNDS.contains(&key.as_str()) {
            bounds == Bounds::Enforced
        } else {
            !OTHER_BOUNDS.contains(&key.as_str())
        };
        if !is_kept {
            notes.push(format!("{key}: {value}"));
        }
        is_kept
    });
    if notes.is_empty() {
        return;
    }
    let notes = notes.join(", ");
    let text = match object.get("description").and_then(Value::as_str) {
        Some(text) if !text.is_empty() => format!("{text} ({notes})"),
        _ => notes,
    };
    object.insert("description".to_owned(), text.into());
}
