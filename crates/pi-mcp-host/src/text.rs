//! Texts of servers: names, descriptions and messages, without what people cannot see.
//!
//! A model reads characters that a screen does not show. Such characters are removed from what a
//! server says about itself, so that a person who reads a description reads what the model reads.

use pi_base::text::{self, cut_bytes};
use serde_json::Value;

/// The longest description of a tool, in bytes.
pub(crate) const DESCRIPTION: usize = 16 << 10;

/// The longest message of an error, in bytes.
pub(crate) const ERROR: usize = 4 << 10;

/// Returns a text without invisible characters, cut to `limit` bytes. Line breaks and tabs stay.
pub(crate) fn clean(text: &str, limit: usize) -> String {
    cut_bytes(&text::clean(text), limit).into_owned()
}

/// Returns the same in one line.
pub(crate) fn clean_line(text: &str, limit: usize) -> String {
    cut_bytes(&text::one_line(text), limit).into_owned()
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
