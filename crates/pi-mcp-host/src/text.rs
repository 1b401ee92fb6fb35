//! Texts of servers: names, descriptions and messages, without what people cannot see.
//!
//! A model reads characters that a screen does not show. Such characters are removed from what a
//! server says about itself, so that a person who reads a description reads what the model reads.

use serde_json::Value;

/// The longest description of a tool, in bytes.
pub(crate) const DESCRIPTION: usize = 16 << 10;

/// The longest message of an error, in bytes.
pub(crate) const ERROR: usize = 4 << 10;

/// Returns a text without control characters and invisible ones, cut to `limit` bytes. Line breaks
/// and tabs stay.
pub(crate) fn clean(text: &str, limit: usize) -> String {
    let mut cleaned = String::with_capacity(text.len().min(limit));
    for c in text.chars() {
        if cleaned.len() + c.len_utf8() > limit {
            cleaned.push('…');
            break;
        }
        if matches!(c, '\n' | '\t') || !(c.is_control() || is_invisible(c)) {
            cleaned.push(c);
        }
    }
    cleaned
}

/// Returns the same in one line.
pub(crate) fn clean_line(text: &str, limit: usize) -> String {
    let joined = text.split(|c: char| c.is_whitespace()).filter(|word| !word.is_empty());
    clean(&joined.collect::<Vec<_>>().join(" "), limit)
}

/// Cleans the descriptions and titles inside of a schema.
pub(crate) fn clean_schema(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            for (key, value) in map {
                match value {
                    Value::String(text) if key == "description" || key == "title" => {
                        let cleaned = clean(text, DESCRIPTION);
                        if cleaned != *text {
                            *text = cleaned;
                        }
                    }
                    value => clean_schema(value),
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(clean_schema),
        _ => {}
    }
}

/// Returns true for characters without a width of their own that can hide or reorder text: joiners,
/// marks of direction, and the tags that spell ASCII invisibly.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn hidden_characters_are_removed() {
        assert_eq!(clean("ctl \u{1b}[31mred \u{200b}zero\r\n\tx", 100), "ctl [31mred zero\n\tx");
        let tags: String =
            "ignore".chars().filter_map(|c| char::from_u32(0xe0000 + c as u32)).collect();
        assert_eq!(clean(&format!("a{tags}b\u{202e}c"), 100), "abc");
        assert_eq!(clean("äöü", 4), "äö…");
        assert_eq!(clean_line(" one\n two ", 100), "one two");
        let mut schema =
            json!({"properties": {"a": {"description": "x\u{200b}", "const": "\u{200b}"}}});
        clean_schema(&mut schema);
        assert_eq!(schema, json!({"properties": {"a": {"description": "x", "const": "\u{200b}"}}}));
    }
}
