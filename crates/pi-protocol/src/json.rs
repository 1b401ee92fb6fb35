//! Tolerant JSON parsing: repair of the mistakes that models and servers make.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Map, Value};

/// Parses `text`; if that fails, parses it after [`repair`]. The error is that of the first parse.
pub fn from_str_repairing<T: DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    serde_json::from_str(text).or_else(|error| match repair(text) {
        Cow::Borrowed(_) => Err(error),
        Cow::Owned(repaired) => serde_json::from_str(&repaired).map_err(|_| error),
    })
}

/// Parses `text`, which must be valid JSON, except that unpaired surrogates in its strings are
/// dropped. For text that a program wrote, where every other mistake is damage.
pub fn from_str_lossy<T: DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    serde_json::from_str(text).or_else(|error| {
        serde_json::from_str::<IgnoredAny>(text)?;
        serde_json::from_str(&repair(text)).map_err(|_| error)
    })
}

/// Parses the finished argument text of a tool call.
///
/// Blank text is an empty object. Any other text must be one JSON object, possibly after
/// [`repair`]. The error repeats the text, for the model to correct it.
pub fn parse_tool_arguments(text: &str) -> Result<Map<String, Value>, ArgumentsError> {
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    match from_str_repairing::<Value>(text) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(_) => Err(ArgumentsError::NotAnObject { received: text.to_owned() }),
        Err(source) => Err(ArgumentsError::InvalidJson { received: text.to_owned(), source }),
    }
}

/// The argument text of a tool call cannot be used. The message is written for the model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)] // `received` is the whole argument text.
pub enum ArgumentsError {
    /// The text is JSON, but not an object.
    #[error("Tool arguments must be a JSON object\n\nReceived arguments:\n{received}")]
    NotAnObject { received: String },
    /// The text is not JSON, even after repair.
    #[error("Invalid JSON: {source}\n\nReceived arguments:\n{received}")]
    InvalidJson { received: String, source: serde_json::Error },
}

/// Repairs mistakes inside string literals and nothing else: raw control characters are escaped, a
/// backslash that starts no valid escape is doubled, and `\u` escapes of unpaired surrogates, which
/// a Rust string cannot hold, are dropped.
pub fn repair(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut out = String::new();
    let mut copied = 0;
    let mut in_string = false;
    let mut at = 0;
    // `replace(from, to, with)`: everything before `from` is kept, `from..to` becomes `with`.
    let mut replace = |from: usize, to: usize, with: &str| {
        out.push_str(&text[copied..from]);
        out.push_str(with);
        copied = to;
    };
    while at < bytes.len() {
        match bytes[at] {
            b'"' => in_string = !in_string,
            b'\\' if in_string => {
                let Escape { length, repair } = escape_at(&bytes[at..]);
                match repair {
                    Repair::None => {}
                    Repair::DoubleBackslash => replace(at, at + 1, "\\\\"),
                    Repair::Drop => replace(at, at + length, ""),
                }
                at += length;
                continue;
            }
            control @ 0..=0x1f if in_string => {
                let escaped = match control {
                    b'\n' => "\\n".to_owned(),
                    b'\r' => "\\r".to_owned(),
                    b'\t' => "\\t".to_owned(),
                    other => format!("\\u{other:04x}"),
                };
                replace(at, at + 1, &escaped);
            }
            _ => {}
        }
        at += 1;
    }
    if copied == 0 && out.is_empty() {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// An escape sequence in a string literal.
struct Escape {
    length: usize,
    repair: Repair,
}

enum Repair {
    None,
    DoubleBackslash,
    Drop,
}

/// Reads the escape sequence at the start of `bytes`.
fn escape_at(bytes: &[u8]) -> Escape {
    let escape = |length, repair| Escape { length, repair };
    match bytes.get(1) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => escape(2, Repair::None),
        Some(b'u') => match hex4(&bytes[2..]) {
            None => escape(1, Repair::DoubleBackslash),
            Some(0xd800..=0xdbff) => match bytes.get(6..8) {
                Some(b"\\u") if matches!(hex4(&bytes[8..]), Some(0xdc00..=0xdfff)) => {
                    escape(12, Repair::None)
                }
                _ => escape(6, Repair::Drop),
            },
            Some(0xdc00..=0xdfff) => escape(6, Repair::Drop),
            Some(_) => escape(6, Repair::None),
        },
        _ => escape(1, Repair::DoubleBackslash),
    }
}

/// Returns the value of four leading hexadecimal digits.
pub(crate) fn hex4(bytes: &[u8]) -> Option<u16> {
    let digits = bytes.get(..4)?;
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// Deserializes a field leniently: a value of the wrong shape counts as absent.
///
/// For optional fields (`usage` details of a server that counts in its own way), where failing the
/// whole event would lose the answer.
pub fn lenient<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: DeserializeOwned,
{
    let value = Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repair_changes_only_invalid_text() {
        let cases: &[(&str, &str)] = &[
            (r#"{"a":"b"}"#, r#"{"a":"b"}"#),
            ("{\"a\":\"line\nbreak\ttab\"}", r#"{"a":"line\nbreak\ttab"}"#),
            ("{\"a\":\"\u{1}\"}", r#"{"a":"\u0001"}"#),
            (r#"{"re":"\d+\s"}"#, r#"{"re":"\\d+\\s"}"#),
            (r#"{"a":"\u12"}"#, r#"{"a":"\\u12"}"#),
            (r#"{"a":"x\ud83dy"}"#, r#"{"a":"xy"}"#),
            (r#"{"a":"x\ude00y"}"#, r#"{"a":"xy"}"#),
            (r#"{"a":"\ud83d\ude00"}"#, r#"{"a":"\ud83d\ude00"}"#),
            (r#"{"a":"\ud83d\ud83d\ude00"}"#, r#"{"a":"\ud83d\ude00"}"#),
            (r#"{"a":"\"#, r#"{"a":"\\"#),
            (r#"{"a":"C:\\x\q"}"#, r#"{"a":"C:\\x\\q"}"#),
            ("{\n\"a\":1}", "{\n\"a\":1}"),
        ];
        for (input, expected) in cases {
            assert_eq!(repair(input), *expected, "repairing {input:?}");
        }
    }

    #[test]
    fn tool_arguments_must_be_one_object() {
        assert_eq!(parse_tool_arguments(" \n").unwrap(), Map::new());
        assert_eq!(parse_tool_arguments(r#"{"a":1}"#).unwrap()["a"], 1);
        assert_eq!(parse_tool_arguments("{\"a\":\"x\ny\"}").unwrap()["a"], "x\ny");
        for bad in ["[1]", "\"x\"", "null", "{\"a\":", "{\"a\":1}}", "{'a':1}"] {
            let error = parse_tool_arguments(bad).unwrap_err().to_string();
            assert!(error.ends_with(&format!("\n\nReceived arguments:\n{bad}")), "{error}");
        }
    }
}
