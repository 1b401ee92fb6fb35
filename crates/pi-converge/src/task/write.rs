//! Writing YAML with a comment on each value.
//!
//! What is written here is read back by `yaml.rs` as the same value: every text that could be taken
//! for something else is quoted.

use std::fmt::Write as _;

use pi_schema::child_pointer;
use serde_json::Value;

/// Returns a value as YAML. The function returns the comment on a value, by its pointer.
pub(super) fn write(value: &Value, comment: &dyn Fn(&str) -> Option<String>) -> String {
    let mut writer = Writer { text: String::new(), comment };
    writer.value(value, "", 0);
    writer.text
}

struct Writer<'a> {
    text: String,
    comment: &'a dyn Fn(&str) -> Option<String>,
}

impl Writer<'_> {
    /// Writes a value on lines of its own.
    fn value(&mut self, value: &Value, pointer: &str, indent: usize) {
        match value {
            Value::Object(map) if !map.is_empty() => {
                for (name, member) in map {
                    let pointer = child_pointer(pointer, name);
                    let name = if is_plain(name) { name.clone() } else { quoted(name) };
                    let _ = write!(self.text, "{:indent$}{name}:", "");
                    self.member(member, &pointer, indent);
                }
            }
            Value::Array(items) if !items.is_empty() => {
                for (index, item) in items.iter().enumerate() {
                    let pointer = child_pointer(pointer, &index.to_string());
                    let start = self.text.len();
                    if is_nested(item) {
                        self.value(item, &pointer, indent + 2);
                        // The first line of the item begins at its dash.
                        self.text.replace_range(start + indent..start + indent + 1, "-");
                    } else {
                        let _ = write!(self.text, "{:indent$}-", "");
                        self.member(item, &pointer, indent);
                    }
                }
            }
            scalar => {
                self.text.push_str(scalar_text(scalar).trim_start());
                self.end_of_line(pointer);
            }
        }
    }

    /// Writes a value after its key or dash.
    fn member(&mut self, value: &Value, pointer: &str, indent: usize) {
        match value {
            value if is_nested(value) => {
                self.text.push('\n');
                self.value(value, pointer, indent + 2);
            }
            Value::String(text) if is_literal(text) => {
                self.text.push_str(if text.ends_with('\n') { " |" } else { " |-" });
                self.end_of_line(pointer);
                for line in text.lines() {
                    let indent = if line.is_empty() { 0 } else { indent + 2 };
                    let _ = writeln!(self.text, "{:indent$}{line}", "");
                }
            }
            scalar => {
                self.text.push_str(&scalar_text(scalar));
                self.end_of_line(pointer);
            }
        }
    }

    fn end_of_line(&mut self, pointer: &str) {
        if let Some(comment) = (self.comment)(pointer) {
            let _ = write!(self.text, "  # {comment}");
        }
        self.text.push('\n');
    }
}

fn is_nested(value: &Value) -> bool {
    match value {
        Value::Object(map) => !map.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    }
}

/// Returns a scalar or an empty container, with a space before it.
fn scalar_text(value: &Value) -> String {
    match value {
        Value::String(text) if is_plain(text) => format!(" {text}"),
        Value::String(text) => format!(" {}", quoted(text)),
        other => format!(" {other}"),
    }
}

/// Returns true if a text needs no quotes, for simple texts only.
fn is_plain(text: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ' ');
    let reserved = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    text.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '/'))
        && !text.ends_with(' ')
        && text.chars().all(is_word)
        && !reserved.contains(&text.to_ascii_lowercase().as_str())
}

/// Returns true if a text can be written as a block of lines.
fn is_literal(text: &str) -> bool {
    let special = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
    };
    text.trim_end_matches('\n').contains('\n')
        && !text.starts_with([' ', '\n'])
        && !text.ends_with("\n\n")
        && !text.chars().any(special)
        && !text.lines().any(|line| !line.is_empty() && line.trim().is_empty())
}

/// Returns a text in double quotes: JSON, with the characters escaped that YAML treats specially.
fn quoted(text: &str) -> String {
    let json = Value::from(text).to_string();
    let mut quoted = String::with_capacity(json.len());
    for character in json.chars() {
        match character {
            '\u{7f}'..='\u{9f}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{feff}'
            | '\u{fffe}'
            | '\u{ffff}' => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(character));
            }
            other => quoted.push(other),
        }
    }
    quoted
}
