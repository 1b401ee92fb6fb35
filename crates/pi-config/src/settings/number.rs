//! Numbers as JavaScript programs write them: 3 may be `3.0`, and a timeout may be a string.

use std::fmt::Display;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error, Unexpected};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The largest integer up to which JavaScript represents every integer exactly.
const MAX_SAFE: f64 = 9_007_199_254_740_991.0;

/// Reads a non-negative whole number.
pub(super) fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let number = f64::deserialize(deserializer)?;
    if number.fract() == 0.0 && (0.0..=MAX_SAFE).contains(&number) {
        // In range and without a fraction, so the conversion is exact.
        return Ok(number as u64);
    }
    Err(D::Error::invalid_value(Unexpected::Float(number), &"a whole number from 0"))
}

/// Reads a non-negative whole number, or nothing.
pub(super) fn optional<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<u64>, D::Error> {
    #[derive(Deserialize)]
    #[serde(transparent)]
    struct Whole(#[serde(deserialize_with = "whole")] u64);
    Ok(Option::<Whole>::deserialize(deserializer)?.map(|Whole(number)| number))
}

/// Reads a non-negative whole number, of which the nearest one within the limits counts.
pub(super) fn within<'de, const LEAST: usize, const MOST: usize, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<usize, D::Error> {
    let number = usize::try_from(whole(deserializer)?).unwrap_or(MOST);
    Ok(number.clamp(LEAST, MOST))
}

/// Reads a number of attempts.
pub(super) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    whole(deserializer).map(saturate)
}

/// Returns the number, or the largest that fits.
pub(super) fn saturate(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Reads a number of lines, from 1.
pub(super) fn lines<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    match usize::try_from(whole(deserializer)?) {
        Ok(0) => Err(D::Error::custom("expected a whole number from 1")),
        lines => Ok(lines.unwrap_or(usize::MAX)),
    }
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Timeout(pub(super) u64);

impl Timeout {
    /// Returns the timeout; `None` for no limit.
    pub fn duration(self) -> Option<Duration> {
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
