//! Conversion of scalars from one type to another.

use serde_json::{Number, Value};

use crate::document::Type;
use crate::number;

/// The rules of a pass.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Rules {
    /// Blank text is 0, `"TRUE"` is true, and a fraction is cut to an integer.
    Generous,
    Strict,
}

/// Converts a value to a scalar type. Returns `None` if the value has no meaning in that type.
pub(super) fn convert(kind: Type, value: &Value, rules: Rules) -> Option<Value> {
    match kind {
        Type::String => match value {
            Value::Number(number) => Some(Value::String(number::to_text(number))),
            Value::Null if rules == Rules::Strict => Some(Value::String(String::new())),
            Value::Bool(_) | Value::Null => Some(Value::String(value.to_string())),
            Value::String(_) => Some(value.clone()),
            Value::Array(_) | Value::Object(_) => None,
        },
        Type::Number => to_number(value, rules).map(Value::Number),
        Type::Integer => {
            let number = to_number(value, rules)?;
            match rules {
                Rules::Generous => number::truncate(&number).map(Value::Number),
                Rules::Strict => number::is_integer(&number).then_some(Value::Number(number)),
            }
        }
        Type::Boolean => to_boolean(value, rules).map(Value::Bool),
        Type::Null => is_null(value, rules).then_some(Value::Null),
        Type::Array | Type::Object => None,
    }
}

fn to_number(value: &Value, rules: Rules) -> Option<Number> {
    match value {
        Value::Number(number) => Some(number.clone()),
        Value::Bool(truth) => Some(Number::from(u8::from(*truth))),
        Value::Null => Some(Number::from(0)),
        Value::String(text) if rules == Rules::Strict => {
            if number::is_blank_text(text) {
                None
            } else {
                number::parse(text)
            }
        }
        Value::String(text) if text.eq_ignore_ascii_case("true") => Some(Number::from(1)),
        Value::String(text) if text.eq_ignore_ascii_case("false") => Some(Number::from(0)),
        Value::String(text) => number::parse(text).or_else(|| number::parse_big_integer(text)),
        Value::Array(_) | Value::Object(_) => None,
    }
}

fn to_boolean(value: &Value, rules: Rules) -> Option<bool> {
    let reads_as = |text: &str, word: &str, digit: &str| match rules {
        Rules::Generous => text == digit || text.eq_ignore_ascii_case(word),
        Rules::Strict => text == word,
    };
    match value {
        Value::Bool(truth) => Some(*truth),
        Value::Null => Some(false),
        Value::Number(number) if number::is(number, 1) => Some(true),
        Value::Number(number) if number::is(number, 0) => Some(false),
        Value::String(text) if reads_as(text, "true", "1") => Some(true),
        Value::String(text) if reads_as(text, "false", "0") => Some(false),
        _ => None,
    }
}

fn is_null(value: &Value, rules: Rules) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Number(number) => number::is(number, 0),
        Value::String(text) if text.is_empty() => true,
        Value::String(text) => {
            rules == Rules::Generous
                && (text == "0"
                    || text.eq_ignore_ascii_case("null")
                    || text.eq_ignore_ascii_case("undefined"))
        }
        _ => false,
    }
}
