//! JSON with the place of every value.
//!
//! The value comes from the JSON parser of the program; a scan of the valid text then finds the
//! places, which that parser does not report.

use pi_config::yaml::{Place, Places};
use pi_schema::child_pointer;
use serde_json::Value;

/// Invalid JSON, with the place of the problem.
#[derive(Debug)]
pub(super) struct InvalidJson {
    pub(super) place: Place,
    pub(super) reason: String,
}

/// A container that has not ended, and the pointer of it.
struct Open {
    pointer: String,
    /// The number of items so far, if it is a list.
    items: Option<usize>,
}

/// Parses a text.
pub(super) fn parse(text: &str) -> Result<(Value, Places), InvalidJson> {
    let value: Value = serde_json::from_str(text).map_err(|error| InvalidJson {
        place: Place { line: error.line(), column: error.column() },
        reason: without_place(&error.to_string()).to_owned(),
    })?;
    let places = scan(text)?;
    Ok((value, places))
}

/// The place is reported on its own.
fn without_place(message: &str) -> &str {
    message.rfind(" at line ").map_or(message, |end| &message[..end])
}

/// Finds the places of members and items. The text is valid JSON.
fn scan(text: &str) -> Result<Places, InvalidJson> {
    let mut places = Places::new();
    let mut open: Vec<Open> = Vec::new();
    // The pointer of the value that follows a key and a colon.
    let mut next: Option<String> = None;
    let mut place = Place { line: 1, column: 1 };
    let mut characters = text.char_indices().peekable();
    while let Some((start, character)) = characters.next() {
        let here = place;
        advance(&mut place, character);
        match character {
            '}' | ']' => drop(open.pop()),
            ',' | ':' => {}
            character if character.is_ascii_whitespace() => {}
            _ => {
                let mut end = start + character.len_utf8();
                let mut escaped = false;
                // The rest of a string, number or literal.
                while let Some((at, inside)) = characters.peek().copied() {
                    let ends = match character {
                        '"' => text.get(start + 1..at).is_some() && inside == '"' && !escaped,
                        '{' | '[' => true,
                        _ => matches!(inside, ',' | '}' | ']') || inside.is_ascii_whitespace(),
                    };
                    if ends && character != '"' {
                        break;
                    }
                    escaped = inside == '\\' && !escaped;
                    advance(&mut place, inside);
                    end = at + inside.len_utf8();
                    characters.next();
                    if ends {
                        break;
                    }
                }
                let is_key = next.is_none()
                    && open.last().is_some_and(|container| container.items.is_none());
                if is_key {
                    let parent = open.last().map_or("", |container| container.pointer.as_str());
                    let key: String = text
                        .get(start..end)
                        .and_then(|key| serde_json::from_str(key).ok())
                        .unwrap_or_default();
                    let pointer = child_pointer(parent, &key);
                    if places.insert(pointer.clone(), here).is_some() {
                        let reason = format!("duplicate key `{key}`");
                        return Err(InvalidJson { place: here, reason });
                    }
                    next = Some(pointer);
                    continue;
                }
                let pointer = next.take().unwrap_or_else(|| match open.last_mut() {
                    Some(Open { pointer, items: Some(count) }) => {
                        let item = child_pointer(pointer, &count.to_string());
                        *count += 1;
                        places.insert(item.clone(), here);
                        item
                    }
                    _ => String::new(),
                });
                match character {
                    '{' => open.push(Open { pointer, items: None }),
                    '[' => open.push(Open { pointer, items: Some(0) }),
                    _ => {}
                }
            }
        }
    }
    Ok(places)
}

fn advance(place: &mut Place, character: char) {
    if character == '\n' {
        place.line += 1;
        place.column = 1;
    } else {
        place.column += 1;
    }
}
