//! Keywords for text and numbers.

use serde_json::Number;
use serde_json::Value;

use super::{Keywords, Location, Validator};
use crate::arguments::{format, number};

impl<'s> Validator<'_, 's> {
    pub(super) fn check_text(&mut self, keywords: &'s Keywords, text: &str, at: Location<'_>) {
        self.check_count(keywords, "Length", "characters", || text.chars().count(), at);
        if let Some(source) = keywords.get("pattern").and_then(Value::as_str) {
            match self.schema.pattern(source) {
                Some(pattern) if !pattern.matches(text) => {
                    self.report(at.path, || format!("expected to match {source}"));
                }
                Some(_) => {}
                None => self.schema.skip(),
            }
        }
        if let Some(name) = keywords.get("format").and_then(Value::as_str)
            && format::is_violated(name, text)
        {
            self.report(at.path, || format!("expected format {name}"));
        }
    }

    pub(super) fn check_number(
        &mut self,
        keywords: &'s Keywords,
        value: &Number,
        at: Location<'_>,
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
                self.report(at.path, || format!("expected {relation} {}", number::to_text(number)));
            }
        }
    }

    /// Checks `minX` and `maxX`, where X is the property that is counted.
    pub(super) fn check_count(
        &mut self,
        keywords: &'s Keywords,
        property: &str,
        unit: &str,
        count: impl FnOnce() -> usize,
        at: Location<'_>,
    ) {
        let limit = |end: &str| number::of_keyword(keywords.get(&format!("{end}{property}")));
        let (least, most) = (limit("min"), limit("max"));
        if least.is_none() && most.is_none() {
            return;
        }
        // Exact up to 2^53, and no value in memory has more parts.
        let count = count() as f64;
        if let Some((number, least)) = least
            && count < least
        {
            let number = number::to_text(number);
            self.report(at.path, || format!("expected at least {number} {unit}"));
        }
        if let Some((number, most)) = most
            && count > most
        {
            let number = number::to_text(number);
            self.report(at.path, || format!("expected at most {number} {unit}"));
        }
    }
}

/// Returns true if `value` is a multiple of `unit`, up to the rounding of decimal fractions: 0.3
/// is a multiple of 0.1. A unit of zero constrains nothing.
fn is_multiple(value: f64, unit: f64) -> bool {
    let count = value / unit;
    let tolerance = count.abs() * 4.0 * f64::EPSILON;
    unit == 0.0 || !count.is_finite() || (count - count.round()).abs() <= tolerance
}
