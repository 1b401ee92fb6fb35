//! Numbers as JavaScript parses and prints them.
//!
//! Unlike in JavaScript, integers of up to 64 bits stay exact: an id that a model passes as text
//! must not change on its way to the tool.

use serde_json::{Number, Value};

/// The largest integer up to which JavaScript numbers are exact.
const MAX_SAFE_INTEGER: i64 = 9_007_199_254_740_991;

/// 2^63, the smallest positive float that is not an `i64`.
const I64_END: f64 = 9_223_372_036_854_775_808.0;

/// Parses text as `Number(text)` does: surrounding blanks are ignored, blank text is 0, and
/// hexadecimal, octal and binary prefixes are supported. Returns `None` for infinities, which JSON
/// does not have.
pub(crate) fn parse(text: &str) -> Option<Number> {
    let text = text.trim_matches(is_blank);
    if text.is_empty() {
        return Some(Number::from(0));
    }
    for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        if let Some((head, digits)) = text.split_at_checked(2)
            && head.eq_ignore_ascii_case(prefix)
        {
            return parse_radix(digits, radix);
        }
    }
    // Rust also parses "inf" and "nan"; otherwise it agrees with JavaScript.
    if !text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E')) {
        return None;
    }
    if let Ok(integer) = text.parse::<i64>() {
        return Some(Number::from(integer));
    }
    if let Ok(integer) = text.parse::<u64>() {
        return Some(Number::from(integer));
    }
    from_f64(text.parse().ok()?)
}

/// Parses a JavaScript big integer (`5n`) that is exact as a JavaScript number.
pub(crate) fn parse_big_integer(text: &str) -> Option<Number> {
    let digits = text.strip_suffix('n')?;
    let magnitude = digits.strip_prefix('-').unwrap_or(digits);
    let leading_zero = magnitude.len() > 1 && magnitude.starts_with('0');
    if leading_zero || !magnitude.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let integer: i64 = digits.parse().ok()?;
    (integer.unsigned_abs() <= MAX_SAFE_INTEGER.unsigned_abs()).then(|| Number::from(integer))
}

/// Returns true if JavaScript considers all of the text blank.
pub(crate) fn is_blank_text(text: &str) -> bool {
    text.chars().all(is_blank)
}

fn is_blank(character: char) -> bool {
    // In JavaScript the byte order mark is a blank and "next line" is not.
    character == '\u{feff}' || (character.is_whitespace() && character != '\u{85}')
}

fn parse_radix(digits: &str, radix: u32) -> Option<Number> {
    if digits.is_empty() {
        return None;
    }
    let mut value = 0.0;
    for digit in digits.chars() {
        value = value * f64::from(radix) + f64::from(digit.to_digit(radix)?);
    }
    from_f64(value)
}

/// Returns the JSON number of a float, as an integer if it is one; `None` for NaN and infinities.
pub(crate) fn from_f64(value: f64) -> Option<Number> {
    if value.fract() == 0.0 && (-I64_END..I64_END).contains(&value) {
        // In range by the check above.
        return Some(Number::from(value as i64));
    }
    Number::from_f64(value)
}

/// Returns the number without its fraction.
pub(crate) fn truncate(number: &Number) -> Option<Number> {
    if number.is_f64() { from_f64(as_f64(number).trunc()) } else { Some(number.clone()) }
}

/// Returns true if a number is an integer in the sense of JSON Schema, as `1.0` is.
pub(crate) fn is_integer(number: &Number) -> bool {
    !number.is_f64() || as_f64(number).fract() == 0.0
}

/// Returns the value as a float. Every number has one, unless serde_json is built with arbitrary
/// precision.
pub(crate) fn as_f64(number: &Number) -> f64 {
    number.as_f64().unwrap_or(f64::NAN)
}

/// Returns the limit in a keyword such as `minimum`.
pub(crate) fn of_keyword(value: &Value) -> Option<f64> {
    value.as_number().map(as_f64)
}

/// Returns true if two numbers are equal, in any notation.
pub(crate) fn equal(a: &Number, b: &Number) -> bool {
    match (a.as_i64(), b.as_i64(), a.as_u64(), b.as_u64()) {
        (Some(a), Some(b), ..) => a == b,
        (.., Some(a), Some(b)) => a == b,
        // Both are finite and neither was computed, so an exact comparison is right.
        _ => as_f64(a) == as_f64(b),
    }
}

/// Returns true if a number equals a small integer.
pub(crate) fn is(number: &Number, integer: u8) -> bool {
    equal(number, &Number::from(integer))
}

/// Formats a number as `String(number)` does.
pub(crate) fn to_text(number: &Number) -> String {
    if !number.is_f64() {
        return number.to_string();
    }
    let value = as_f64(number);
    if value == 0.0 {
        return "0".to_owned();
    }
    // The shortest digits that parse to the same number, with their exponent.
    let scientific = format!("{:e}", value.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let digits = mantissa.replace('.', "");
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if value < 0.0 { "-" } else { "" };
    format!("{sign}{}", place_point(&digits, exponent))
}

/// Formats `d.ddd × 10^exponent` in the notation that JavaScript chooses for the magnitude.
fn place_point(digits: &str, exponent: i32) -> String {
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
    let split = |at: i32| digits.split_at_checked(usize::try_from(at).unwrap_or(0));
    match exponent {
        0..=20 if count <= exponent + 1 => format!("{digits}{}", zeros(exponent + 1 - count)),
        0..=20 => {
            let (whole, fraction) = split(exponent + 1).unwrap_or((digits, ""));
            format!("{whole}.{fraction}")
        }
        -6..=-1 => format!("0.{}{digits}", zeros(-exponent - 1)),
        _ => {
            let (first, rest) = split(1).unwrap_or((digits, ""));
            let point = if rest.is_empty() { "" } else { "." };
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{first}{point}{rest}e{sign}{}", exponent.unsigned_abs())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_formatted_as_in_javascript() {
        let cases = [
            (5.0, "5"),
            (-0.0, "0"),
            (0.1, "0.1"),
            (-1.5, "-1.5"),
            (123.456, "123.456"),
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (1.5e21, "1.5e+21"),
            (0.000_001, "0.000001"),
            (1e-7, "1e-7"),
            (-1.25e-9, "-1.25e-9"),
            (5e-324, "5e-324"),
            (1.797_693_134_862_315_7e308, "1.7976931348623157e+308"),
        ];
        for (value, text) in cases {
            assert_eq!(to_text(&Number::from_f64(value).unwrap()), text);
        }
        assert_eq!(to_text(&Number::from(u64::MAX)), "18446744073709551615");
    }

    #[test]
    fn numbers_are_parsed_as_in_javascript() {
        let cases = [
            ("", Some("0")),
            (" \u{a0}42\n\u{feff}", Some("42")),
            ("\u{85}1", None),
            ("0x10", Some("16")),
            ("-0x10", None),
            ("0b", None),
            ("1e3", Some("1000")),
            (".5", Some("0.5")),
            ("5.", Some("5")),
            (".", None),
            ("1e400", None),
            ("Infinity", None),
            ("inf", None),
            ("1_0", None),
            ("9007199254740993", Some("9007199254740993")),
        ];
        for (text, number) in cases {
            assert_eq!(parse(text).map(|number| to_text(&number)).as_deref(), number, "{text:?}");
        }
    }
}
