//! Numbers as JavaScript programs write them: 3 may be `3.0`, and a timeout may be a string.

use std::fmt::Display;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{Deserializer, Error, Unexpected};
use serde_json::Value;

/// The largest integer up to which JavaScript represents every integer exactly.
const MAX_SAFE: f64 = 9_007_199_254_740_991.0;

/// Reads a non-negative whole number.
pub(super) fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let Some(number) = Option::<f64>::deserialize(deserializer)? else { return Ok(None) };
    if number.fract() == 0.0 && (0.0..=MAX_SAFE).contains(&number) {
        // In range and without a fraction, so the conversion is exact.
        return Ok(Some(number as u64));
    }
    Err(D::Error::invalid_value(Unexpected::Float(number), &"a whole number from 0"))
}

/// Reads a number of lines, from 1.
pub(super) fn lines<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let lines = whole(deserializer)?.filter(|lines| *lines > 0);
    lines.ok_or_else(|| D::Error::custom("expected a whole number from 1"))
}

/// Reads a non-negative number.
pub(super) fn amount<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    let Some(number) = Option::<f64>::deserialize(deserializer)? else { return Ok(None) };
    if number >= 0.0 {
        return Ok(Some(number));
    }
    Err(D::Error::invalid_value(Unexpected::Float(number), &"a number from 0"))
}

/// A timeout in milliseconds; 0 for no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Timeout(pub(super) u64);

impl Timeout {
    /// Returns the timeout; `None` for no limit.
    pub(super) fn duration(self) -> Option<Duration> {
        if self.0 > 0 { Some(Duration::from_millis(self.0)) } else { None }
    }
}

impl<'de> Deserialize<'de> for Timeout {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wrong = |value: &dyn Display| {
            D::Error::custom(format!("expected milliseconds or \"disabled\", not {value}"))
        };
        let value = Value::deserialize(deserializer)?;
        let number = match &value {
            Value::String(text) if text.trim() == "disabled" => Some(0.0),
            Value::String(text) => text.trim().parse().ok(),
            other => other.as_f64(),
        };
        match number.filter(|number| (0.0..=MAX_SAFE).contains(number)) {
            // Fractions of a millisecond are dropped.
            Some(number) => Ok(Self(number as u64)),
            None => Err(wrong(&value)),
        }
    }
}

impl JsonSchema for Timeout {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Timeout".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "number", "minimum": 0 }, { "const": "disabled" }] })
    }
}
