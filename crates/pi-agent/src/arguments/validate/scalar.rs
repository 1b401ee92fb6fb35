//! Keywords for text and for numbers.

use serde_json::{Map, Number, Value};

use super::{At, Found};
use crate::arguments::format::{self, Verdict};
use crate::arguments::number;
use crate::arguments::schema::Schema;

pub(super) fn check_text(
    schema: &Schema<'_>,
    keywords: &Map<String, Value>,
    text: &str,
    at: At<'_>,
    found: &mut Found,
) {
    check_count(keywords, "Length", "characters", || text.chars().count(), at, found);
    if let Some(source) = keywords.get("pattern").and_then(Value::as_str) {
        match schema.pattern(source) {
            Some(pattern) if !pattern.matches(text) => {
                found.add(at.path, || format!("expected to match {source}"));
            }
            Some(_) => {}
            None => schema.skip(),
        }
    }
    if let Some(name) = keywords.get("format").and_then(Value::as_str)
        && format::judge(name, text) == Verdict::Violated
    {
        found.add(at.path, || format!("expected format {name}"));
    }
}

pub(super) fn check_number(
    keywords: &Map<String, Value>,
    value: &Number,
    at: At<'_>,
    found: &mut Found,
) {
    let value = number::as_f64(value);
    let limits: [(&str, &str, fn(f64, f64) -> bool); 5] = [
        ("minimum", ">=", |value, limit| value >= limit),
        ("maximum", "<=", |value, limit| value <= limit),
        ("exclusiveMinimum", ">", |value, limit| value > limit),
        ("exclusiveMaximum", "<", |value, limit| value < limit),
        ("multipleOf", "a multiple of", is_multiple),
    ];
    for (keyword, relation, holds) in limits {
        if let Some((number, limit)) = number::of_keyword(keywords.get(keyword))
            && !holds(value, limit)
        {
            found.add(at.path, || format!("expected {relation} {}", number::to_text(number)));
        }
    }
}

/// Whether `value` is a whole number of `unit`s, up to the rounding of decimal fractions: 0.3 is a
/// multiple of 0.1. Nothing is measured in units of zero.
fn is_multiple(value: f64, unit: f64) -> bool {
    let count = value / unit;
    let tolerance = count.abs() * 4.0 * f64::EPSILON;
    unit == 0.0 || !count.is_finite() || (count - count.round()).abs() <= tolerance
}

/// Checks `minX` and `maxX`, where X is a way to count.
pub(super) fn check_count(
    keywords: &Map<String, Value>,
    what: &str,
    unit: &str,
    count: impl FnOnce() -> usize,
    at: At<'_>,
    found: &mut Found,
) {
    let limit = |end: &str| number::of_keyword(keywords.get(&format!("{end}{what}")));
    let (least, most) = (limit("min"), limit("max"));
    if least.is_none() && most.is_none() {
        return;
    }
    // Exact up to 2^53, and nothing in memory has more parts.
    let count = count() as f64;
    if let Some((number, least)) = least
        && count < least
    {
        found.add(at.path, || format!("expected at least {} {unit}", number::to_text(number)));
    }
    if let Some((number, most)) = most
        && count > most
    {
        found.add(at.path, || format!("expected at most {} {unit}", number::to_text(number)));
    }
}
