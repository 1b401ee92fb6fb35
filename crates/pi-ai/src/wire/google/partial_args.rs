//! Tool arguments that arrive leaf by leaf (Vertex AI's `partialArgs`).
//!
//! Each part has a path (`$.recipe.steps[2]`) and a value; a string can arrive in several parts.
//! Normally the paths follow the order of the JSON text, so the text can be written part by part,
//! and the caller streams it like any other argument text. A path out of order cannot be written
//! into text that was already emitted: writing then stops, the arguments are still collected, and
//! the whole text is returned at the end.
//!
//! Key invariant: the cost of a part depends on its length and its path, not on earlier parts.

use serde_json::{Map, Value};

use super::chunk::PartialArg;
use crate::wire::StreamError;

/// Most items by which one part can extend an array: a large index is cheap to send.
const MAX_GAP: usize = 1000;

/// The arguments of one call so far.
#[derive(Debug)]
pub(super) struct PartialArguments {
    tree: Value,
    /// The containers that are open in the text, inside the root object.
    open: Vec<Container>,
    /// The path of the string that is still open, as sent and as parsed.
    growing: Option<(String, Vec<Step>)>,
    /// True if text was written.
    begun: bool,
    /// True if the text so far is a prefix of the text of `tree`.
    in_order: bool,
}

/// A container that is open in the text, with the step that leads to it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Container {
    step: Step,
    is_array: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Key(String),
    Index(usize),
}

impl PartialArguments {
    /// Starts without arguments.
    pub(super) fn new() -> Self {
        Self {
            tree: Value::Object(Map::new()),
            open: Vec::new(),
            growing: None,
            begun: false,
            in_order: true,
        }
    }

    /// Adds a part; appends its JSON to `text`.
    pub(super) fn push(
        &mut self,
        piece: &PartialArg<'_>,
        text: &mut String,
    ) -> Result<(), StreamError> {
        let continues = piece.will_continue.unwrap_or(false);
        let same = self.growing.as_ref().is_some_and(|(path, _)| *path == piece.json_path);
        let value = value_of(piece, same || continues);
        let before = text.len();
        if same && let Value::String(more) = &value {
            self.grow(more, continues, text);
        } else {
            self.set(piece, value, continues, text)?;
        }
        if !self.in_order {
            text.truncate(before);
        }
        Ok(())
    }

    /// Appends to the string that is open.
    fn grow(&mut self, more: &str, continues: bool, text: &mut String) {
        let Some((_, steps)) = &self.growing else { return };
        let leaf = steps.iter().try_fold(&mut self.tree, |node, step| match step {
            Step::Key(key) => node.get_mut(key),
            Step::Index(index) => node.get_mut(index),
        });
        if let Some(Value::String(leaf)) = leaf {
            leaf.push_str(more);
        }
        push_escaped(more, text);
        if !continues {
            text.push('"');
            self.growing = None;
        }
    }

    /// Sets the value at a path.
    fn set(
        &mut self,
        piece: &PartialArg<'_>,
        value: Value,
        continues: bool,
        text: &mut String,
    ) -> Result<(), StreamError> {
        let path = &*piece.json_path;
        let steps = parse_path(path).ok_or_else(|| invalid_path(path))?;
        if self.growing.take().is_some() {
            text.push('"');
        }
        if !self.begun {
            self.begun = true;
            text.push('{');
        }
        let shared = self.close_all_but(&steps, text);

        let mut node = &mut self.tree;
        for (depth, step) in steps.iter().enumerate() {
            let slot = enter(node, step).ok_or_else(|| invalid_path(path))?;
            if depth >= shared {
                self.in_order &= slot.fresh;
                if !slot.first {
                    text.push(',');
                }
                if let Step::Key(key) = step {
                    text.push('"');
                    push_escaped(key, text);
                    text.push_str("\":");
                }
                if let Some(next) = steps.get(depth + 1) {
                    let is_array = matches!(next, Step::Index(_));
                    text.push(if is_array { '[' } else { '{' });
                    self.open.push(Container { step: step.clone(), is_array });
                }
            }
            node = slot.node;
        }
        match &value {
            Value::String(string) => {
                text.push('"');
                push_escaped(string, text);
                if continues {
                    self.growing = Some((path.to_owned(), steps));
                } else {
                    text.push('"');
                }
            }
            other => text.push_str(&other.to_string()),
        }
        *node = value;
        Ok(())
    }

    /// Completes the call: appends the missing JSON to `text`. If the text so far cannot be
    /// completed, returns the whole text instead.
    pub(super) fn finish(self, text: &mut String) -> Option<String> {
        if !self.in_order {
            return Some(self.tree.to_string());
        }
        if !self.begun {
            text.push('{');
        }
        if self.growing.is_some() {
            text.push('"');
        }
        close(&self.open, text);
        text.push('}');
        None
    }

    /// Closes the containers that are not on the path `steps`; returns the number that stay open.
    fn close_all_but(&mut self, steps: &[Step], text: &mut String) -> usize {
        let leads_through = |(open, pair): &(&Container, &[Step])| {
            matches!(pair, [step, next]
                if *step == open.step && matches!(next, Step::Index(_)) == open.is_array)
        };
        let shared = self.open.iter().zip(steps.windows(2)).take_while(leads_through).count();
        close(&self.open[shared..], text);
        self.open.truncate(shared);
        shared
    }
}

/// Returns the value of a part. A part without one ends a string, if a string is open or announced;
/// otherwise the value is null, the only value whose JSON looks like its absence.
fn value_of(piece: &PartialArg<'_>, is_string: bool) -> Value {
    match (&piece.string_value, &piece.number_value, piece.bool_value) {
        (Some(string), _, _) => Value::String(string.0.as_ref().to_owned()),
        (None, Some(number), _) => number.clone(),
        (None, None, Some(truth)) => Value::Bool(truth),
        (None, None, None) if is_string => Value::String(String::new()),
        (None, None, None) => Value::Null,
    }
}

struct Slot<'t> {
    node: &'t mut Value,
    /// True if the slot is new and the next one in the order of the text.
    fresh: bool,
    /// True if the container was empty.
    first: bool,
}

/// Descends one step and creates the slot if necessary. `None` if the step is not possible.
fn enter<'t>(node: &'t mut Value, step: &Step) -> Option<Slot<'t>> {
    // A scalar in the way is replaced, but then the text that contains it is wrong. Null is the
    // content of a slot that was just created for a container; if null was sent as a value, the
    // slot was not fresh one level above.
    let clean = node.is_null();
    match step {
        Step::Key(key) => {
            let kept = node.is_object();
            if !kept {
                *node = Value::Object(Map::new());
            }
            let members = node.as_object_mut()?;
            let first = members.is_empty();
            let fresh = (kept || clean) && !members.contains_key(key);
            Some(Slot { fresh, first, node: members.entry(key.as_str()).or_insert(Value::Null) })
        }
        Step::Index(index) => {
            let kept = node.is_array();
            if !kept {
                *node = Value::Array(Vec::new());
            }
            let items = node.as_array_mut()?;
            let length = items.len();
            if *index > length + MAX_GAP {
                return None;
            }
            if *index >= length {
                items.resize(index + 1, Value::Null);
            }
            let fresh = (kept || clean) && *index == length;
            Some(Slot { fresh, first: length == 0, node: items.get_mut(*index)? })
        }
    }
}

/// Writes the ends of containers, innermost first.
fn close(open: &[Container], text: &mut String) {
    text.extend(open.iter().rev().map(|container| if container.is_array { ']' } else { '}' }));
}

fn push_escaped(string: &str, text: &mut String) {
    let quoted = Value::String(string.to_owned()).to_string();
    text.push_str(&quoted[1..quoted.len() - 1]);
}

fn invalid_path(path: &str) -> StreamError {
    StreamError::malformed("a streamed argument", &"its path cannot be followed", path)
}

/// Parses `$.a.b[0]['c d']`. The first step must be a key: arguments are an object.
fn parse_path(path: &str) -> Option<Vec<Step>> {
    let mut rest = path.strip_prefix('$')?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        let step;
        (step, rest) = parse_step(rest)?;
        steps.push(step);
    }
    matches!(steps.first(), Some(Step::Key(_))).then_some(steps)
}

fn parse_step(path: &str) -> Option<(Step, &str)> {
    if let Some(rest) = path.strip_prefix('.') {
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        let (key, rest) = rest.split_at(end);
        return (!key.is_empty()).then(|| (Step::Key(key.to_owned()), rest));
    }
    let rest = path.strip_prefix('[')?;
    let quote = rest.chars().next()?;
    if quote == '\'' || quote == '"' {
        let (key, rest) = parse_quoted(&rest[1..], quote)?;
        return Some((Step::Key(key), rest.strip_prefix(']')?));
    }
    let (index, rest) = rest.split_once(']')?;
    Some((Step::Index(index.parse().ok()?), rest))
}

/// Returns the text up to the closing quote, and the rest after it.
fn parse_quoted(text: &str, quote: char) -> Option<(String, &str)> {
    let mut key = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => key.push(chars.next()?.1),
            c if c == quote => return Some((key, &text[at + c.len_utf8()..])),
            c => key.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Adds parts; returns the streamed text and the resulting arguments.
    fn run(pieces: &[Value]) -> (String, Value) {
        let mut arguments = PartialArguments::new();
        let mut text = String::new();
        for piece in pieces {
            let piece = piece.to_string();
            arguments.push(&serde_json::from_str(&piece).unwrap(), &mut text).unwrap();
        }
        match arguments.finish(&mut text) {
            Some(whole) => (text, serde_json::from_str(&whole).unwrap()),
            None => (text.clone(), serde_json::from_str(&text).unwrap()),
        }
    }

    fn piece(path: &str, field: &str, value: impl Into<Value>) -> Value {
        json!({"jsonPath": path, field: value.into()})
    }

    #[test]
    fn ordered_parts_are_written_at_once() {
        let (text, _) = run(&[
            json!({"jsonPath": "$.a.list[0].n", "stringValue": "x\"", "willContinue": true}),
            json!({"jsonPath": "$.a.list[0].n", "stringValue": "\ny", "willContinue": true}),
            json!({"jsonPath": "$.a.list[0].n", "stringValue": ""}),
            piece("$.a.list[1].n", "numberValue", 2.5),
            piece("$.a.list[1]['o p']", "boolValue", true),
            piece("$.a.m[0][0]", "numberValue", 1),
            piece("$.a.m[0][1]", "numberValue", 2),
            piece("$.a.m[1][0]", "nullValue", Value::Null),
            json!({"jsonPath": "$.z", "stringValue": "left open", "willContinue": true}),
        ]);
        let expected = concat!(
            r#"{"a":{"list":[{"n":"x\"\ny"},{"n":2.5,"o p":true}],"#,
            r#""m":[[1,2],[null]]},"z":"left open"}"#
        );
        assert_eq!(text, expected);
    }

    #[test]
    fn no_arguments_are_an_empty_object() {
        assert_eq!(run(&[]), ("{}".to_owned(), json!({})));
    }

    #[test]
    fn paths_out_of_order_are_still_collected() {
        let cases = [
            // A path into a container that was closed.
            (
                vec![
                    piece("$.a.x", "numberValue", 1),
                    piece("$.b", "numberValue", 2),
                    piece("$.a.y", "numberValue", 3),
                ],
                json!({"a": {"x": 1, "y": 3}, "b": 2}),
            ),
            // The same path twice.
            (
                vec![piece("$.a", "stringValue", "x"), piece("$.a", "stringValue", "y")],
                json!({"a": "y"}),
            ),
            // A gap, then the missing item.
            (
                vec![piece("$.a[1]", "numberValue", 1), piece("$.a[0]", "numberValue", 0)],
                json!({"a": [0, 1]}),
            ),
            // A scalar where a container is required.
            (
                vec![piece("$.a", "numberValue", 1), piece("$.a.b", "numberValue", 2)],
                json!({"a": {"b": 2}}),
            ),
            (
                vec![piece("$.a.b", "numberValue", 1), piece("$.a[0]", "numberValue", 2)],
                json!({"a": [2]}),
            ),
            // A string interrupted by another argument.
            (
                vec![
                    json!({"jsonPath": "$.a", "stringValue": "x", "willContinue": true}),
                    piece("$.b", "numberValue", 2),
                ],
                json!({"a": "x", "b": 2}),
            ),
        ];
        for (pieces, expected) in cases {
            assert_eq!(run(&pieces).1, expected, "{pieces:?}");
        }
    }

    #[test]
    fn invalid_paths_are_errors() {
        for path in
            ["", "$", "a", "$.", "$[0]", "$.a[", "$.a[x]", "$.a['b]", "$.a[99999999]", "$..a"]
        {
            let piece = piece(path, "numberValue", 1).to_string();
            let piece = serde_json::from_str(&piece).unwrap();
            let result = PartialArguments::new().push(&piece, &mut String::new());
            assert!(result.is_err(), "{path}");
        }
    }
}
