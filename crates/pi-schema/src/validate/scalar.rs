//! Keywords for text and numbers.

use serde_json::{Number, Value};

use super::{Node, Validator};
use crate::document::Keywords;
use crate::mismatch::Detail;
use crate::{format, number};

impl<'s, 'v> Validator<'_, 's, 'v> {
    pub(super) fn check_text(&mut self, node: Node<'_, 's, 'v>, text: &str) {
        self.check_count(node, ["minLength", "maxLength"], || text.chars().count());
        if let Some(expected @ Value::String(source)) = node.get("pattern") {
            match self.document.pattern(source) {
                Some(pattern) if !pattern.matches(text) => {
                    self.report(node, "pattern", expected, Detail::None);
                }
                Some(_) => {}
                None => self.document.skip(),
            }
        }
        if let Some(expected @ Value::String(name)) = node.get("format")
            && format::is_violated(name, text)
        {
            self.report(node, "format", expected, Detail::None);
        }
    }

    pub(super) fn check_number(&mut self, node: Node<'_, 's, 'v>, value: &Number) {
        let value = number::as_f64(value);
        let limits: [(&'static str, &str, fn(f64, f64) -> bool); 5] = [
            ("minimum", "", |value, limit| value >= limit),
            ("maximum", "", |value, limit| value <= limit),
            ("exclusiveMinimum", "minimum", |value, limit| value > limit),
            ("exclusiveMaximum", "maximum", |value, limit| value < limit),
            ("multipleOf", "", is_multiple),
        ];
        for (keyword, limited, holds) in limits {
            // In draft 4, `true` makes the limit exclusive.
            let expected = match node.get(keyword) {
                Some(Value::Bool(true)) if self.document.keywords == Keywords::All => {
                    node.get(limited)
                }
                expected => expected,
            };
            if let Some(expected) = expected
                && let Some(limit) = number::of_keyword(expected)
                && !holds(value, limit)
            {
                self.report(node, keyword, expected, Detail::None);
            }
        }
    }

    /// Checks the keywords for the least and the most parts of a value.
    pub(super) fn check_count(
        &mut self,
        node: Node<'_, 's, 'v>,
        [least, most]: [&'static str; 2],
        count: impl Fn() -> usize,
    ) {
        let is_too_small = |count: f64, limit: f64| count < limit;
        let is_too_large = |count: f64, limit: f64| count > limit;
        let limits: [(&'static str, fn(f64, f64) -> bool); 2] =
            [(least, is_too_small), (most, is_too_large)];
        for (keyword, is_violated) in limits {
            // The count is exact up to 2^53, and no value in memory has more parts.
            if let Some(expected) = node.get(keyword)
                && let Some(limit) = number::of_keyword(expected)
                && is_violated(count() as f64, limit)
            {
                self.report(node, keyword, expected, Detail::None);
            }
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
