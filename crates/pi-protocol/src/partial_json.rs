//! Incremental, tolerant parser for the arguments of a tool call while they stream.
//!
//! Each byte is read once. The value under construction is the caller's own map, changed in place,
//! so the work for a megabyte of arguments does not depend on the cuts. The result is a preview:
//! [`json::parse_tool_arguments`](crate::json) decides when the call is complete.
//!
//! An open string shows its characters so far, an open container its members so far, the
//! beginning of `true`, `false` or `null` shows that literal, and an open number its value so far.
//! Missing commas and colons are tolerated, words that are not literals are dropped, and text after
//! the root object is ignored. A root that is not an object shows nothing.

use serde_json::{Map, Number, Value};

use self::escape::read_string;

mod escape;

/// Containers nested deeper than this are not shown; serde_json rejects them at the end anyway.
const MAX_DEPTH: usize = 128;

/// A number longer than this is not shown until it is complete.
const MAX_NUMBER_PREVIEW: usize = 64;

/// The state of the parser between two chunks of text.
#[derive(Debug, Default)]
pub struct PartialJson {
    /// The open containers, outermost first.
    frames: Vec<Frame>,
    scalar: Scalar,
    root: Root,
    /// Number of open containers below `MAX_DEPTH`, which are skipped.
    skipped: usize,
}

#[derive(Debug, Default, PartialEq, Eq, Clone, Copy)]
enum Root {
    #[default]
    Expected,
    Open,
    Done,
}

#[derive(Debug)]
enum Frame {
    /// `key` is the member being read; `None` where a key is expected.
    Object {
        key: Option<String>,
    },
    Array,
}

/// The scalar being read, if any.
#[derive(Debug, Default)]
enum Scalar {
    #[default]
    None,
    /// The beginning of a member name.
    Key {
        text: String,
        escape: String,
    },
    /// A string value; its text is in the tree. `escape` is an incomplete escape sequence.
    String {
        escape: String,
    },
    Number {
        text: String,
        shown: bool,
    },
    Word {
        text: String,
        shown: bool,
    },
}

impl PartialJson {
    /// Creates a parser at the beginning of the text.
    pub fn new() -> Self {
        Self::default()
    }

    /// Parses the next chunk. `arguments` must be the map of the previous calls.
    pub fn push(&mut self, text: &str, arguments: &mut Map<String, Value>) {
        let mut input = text;
        if self.root == Root::Expected {
            // Words, fences and comments before the root are tolerated.
            let Some(start) = input.find(|c: char| matches!(c, '{' | '[' | '"' | '-' | '0'..='9'))
            else {
                return;
            };
            if input.as_bytes()[start] == b'{' {
                self.root = Root::Open;
                self.frames.push(Frame::Object { key: None });
                input = &input[start + 1..];
            } else {
                self.root = Root::Done;
            }
        }
        if self.root == Root::Open {
            self.read_object(0, arguments, &mut input);
            if self.frames.is_empty() {
                self.root = Root::Done;
            }
        }
    }

    /// Continues the object of frame `depth` until it closes or the input ends.
    fn read_object(&mut self, depth: usize, members: &mut Map<String, Value>, input: &mut &str) {
        self.resume_child(depth, input, |key| members.get_mut(key?));
        while let Some(&byte) = input.as_bytes().first() {
            if matches!(self.scalar, Scalar::Key { .. }) {
                self.read_key(depth, input);
                continue;
            }
            if !matches!(self.scalar, Scalar::None) {
                let key = self.key(depth).unwrap_or_default().to_owned();
                let mut slot = members.get_mut(&key).map(std::mem::take);
                self.read_scalar(&mut slot, input);
                match slot {
                    Some(value) => drop(members.insert(key, value)),
                    None => drop(members.shift_remove(&key)),
                }
                if matches!(self.scalar, Scalar::None) {
                    self.set_key(depth, None);
                }
                continue;
            }
            if self.skip_deep(byte, input) {
                continue;
            }
            match (byte, self.key(depth).is_some()) {
                (b'}', _) => {
                    *input = &input[1..];
                    self.frames.truncate(depth);
                    return;
                }
                (b'"', false) => {
                    *input = &input[1..];
                    self.scalar = Scalar::Key { text: String::new(), escape: String::new() };
                }
                (b',', _) => {
                    *input = &input[1..];
                    self.set_key(depth, None);
                }
                (_, true) => {
                    let key = self.key(depth).unwrap_or_default().to_owned();
                    if let Some(value) = self.begin_value(depth, input) {
                        let slot = members.entry(key).or_insert(Value::Null);
                        *slot = value;
                        if self.frames.len() > depth + 1 {
                            self.descend(depth + 1, slot, input);
                            if self.frames.len() == depth + 1 {
                                self.set_key(depth, None);
                            }
                        }
                    }
                }
                (_, false) => skip_char(input),
            }
        }
    }

    /// Continues the array of frame `depth` until it closes or the input ends.
    fn read_array(&mut self, depth: usize, items: &mut Vec<Value>, input: &mut &str) {
        self.resume_child(depth, input, |_| items.last_mut());
        while let Some(&byte) = input.as_bytes().first() {
            if !matches!(self.scalar, Scalar::None) {
                // A scalar is in the list only while it is shown.
                let shown = self.scalar.is_shown();
                let mut slot = if shown { items.pop() } else { None };
                self.read_scalar(&mut slot, input);
                items.extend(slot);
                continue;
            }
            if self.skip_deep(byte, input) {
                continue;
            }
            if byte == b']' {
                *input = &input[1..];
                self.frames.truncate(depth);
                return;
            }
            if let Some(value) = self.begin_value(depth, input) {
                items.push(value);
                if self.frames.len() > depth + 1
                    && let Some(slot) = items.last_mut()
                {
                    self.descend(depth + 1, slot, input);
                }
            }
        }
    }

    /// Continues a container inside frame `depth` that an earlier chunk left open.
    fn resume_child<'v>(
        &mut self,
        depth: usize,
        input: &mut &str,
        child: impl FnOnce(Option<&str>) -> Option<&'v mut Value>,
    ) {
        if self.frames.len() <= depth + 1 {
            return;
        }
        if let Some(slot) = child(self.key(depth)) {
            self.descend(depth + 1, slot, input);
        }
        if self.frames.len() == depth + 1 {
            self.set_key(depth, None);
        }
    }

    fn descend(&mut self, depth: usize, slot: &mut Value, input: &mut &str) {
        match slot {
            Value::Object(members) => self.read_object(depth, members, input),
            Value::Array(items) => self.read_array(depth, items, input),
            _ => {}
        }
    }

    /// Starts a value at the head of the input. Returns the preview of it, if there is one yet.
    fn begin_value(&mut self, depth: usize, input: &mut &str) -> Option<Value> {
        let byte = *input.as_bytes().first()?;
        match byte {
            b'{' | b'[' => {
                *input = &input[1..];
                if depth + 1 >= MAX_DEPTH {
                    self.skipped = 1;
                    return None;
                }
                if byte == b'{' {
                    self.frames.push(Frame::Object { key: None });
                    Some(Value::Object(Map::new()))
                } else {
                    self.frames.push(Frame::Array);
                    Some(Value::Array(Vec::new()))
                }
            }
            b'"' => {
                *input = &input[1..];
                self.scalar = Scalar::String { escape: String::new() };
                Some(Value::String(String::new()))
            }
            b'-' | b'0'..=b'9' => {
                self.scalar = Scalar::Number { text: String::new(), shown: false };
                None
            }
            b'a'..=b'z' | b'A'..=b'Z' => {
                self.scalar = Scalar::Word { text: String::new(), shown: false };
                None
            }
            _ => {
                skip_char(input);
                None
            }
        }
    }

    /// Skips a container that is nested too deeply. Brackets inside its strings are miscounted,
    /// which does not matter: such arguments are rejected when complete.
    fn skip_deep(&mut self, byte: u8, input: &mut &str) -> bool {
        if self.skipped == 0 {
            return false;
        }
        match byte {
            b'{' | b'[' => self.skipped += 1,
            b'}' | b']' => self.skipped -= 1,
            _ => {}
        }
        skip_char(input);
        true
    }

    fn key(&self, depth: usize) -> Option<&str> {
        match self.frames.get(depth) {
            Some(Frame::Object { key }) => key.as_deref(),
            _ => None,
        }
    }

    fn set_key(&mut self, depth: usize, new: Option<String>) {
        if let Some(Frame::Object { key }) = self.frames.get_mut(depth) {
            *key = new;
        }
    }

    fn read_key(&mut self, depth: usize, input: &mut &str) {
        let Scalar::Key { text, escape } = &mut self.scalar else { return };
        if read_string(text, escape, input) {
            let key = std::mem::take(text);
            self.scalar = Scalar::None;
            self.set_key(depth, Some(key));
        }
    }

    /// Continues the current scalar; `slot` is the preview of it.
    fn read_scalar(&mut self, slot: &mut Option<Value>, input: &mut &str) {
        let ended = match &mut self.scalar {
            Scalar::String { escape } => match slot {
                Some(Value::String(text)) => read_string(text, escape, input),
                _ => true,
            },
            Scalar::Number { text, shown } => {
                let ended = read_run(text, input, |byte| {
                    matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E')
                });
                if ended || text.len() <= MAX_NUMBER_PREVIEW {
                    *slot = number_so_far(text);
                } else {
                    *slot = None;
                }
                *shown = slot.is_some();
                ended
            }
            Scalar::Word { text, shown } => {
                let ended = read_run(text, input, |byte| byte.is_ascii_alphanumeric());
                *slot = literal_so_far(text, ended);
                *shown = slot.is_some();
                ended
            }
            Scalar::Key { .. } | Scalar::None => true,
        };
        if ended {
            self.scalar = Scalar::None;
        }
    }
}

impl Scalar {
    fn is_shown(&self) -> bool {
        match self {
            Self::String { .. } => true,
            Self::Number { shown, .. } | Self::Word { shown, .. } => *shown,
            Self::Key { .. } | Self::None => false,
        }
    }
}

fn skip_char(input: &mut &str) {
    let width = input.chars().next().map_or(0, char::len_utf8);
    *input = &input[width..];
}

/// Moves the leading bytes that `belongs` accepts to `text`. Returns true if other bytes follow.
fn read_run(text: &mut String, input: &mut &str, belongs: impl Fn(u8) -> bool) -> bool {
    let length = input.bytes().take_while(|byte| belongs(*byte)).count();
    let (run, rest) = input.split_at(length);
    text.push_str(run);
    *input = rest;
    !rest.is_empty()
}

/// Returns the value of an incomplete number; a dangling exponent is ignored.
fn number_so_far(text: &str) -> Option<Value> {
    let mantissa = text.strip_suffix(['+', '-']).unwrap_or(text);
    let complete = mantissa.strip_suffix(['e', 'E']).unwrap_or(text);
    serde_json::from_str::<Number>(complete).ok().map(Value::Number)
}

fn literal_so_far(text: &str, ended: bool) -> Option<Value> {
    [("true", Value::Bool(true)), ("false", Value::Bool(false)), ("null", Value::Null)]
        .into_iter()
        .find(|(word, _)| if ended { *word == text } else { word.starts_with(text) })
        .map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn read(pieces: &[&str]) -> Value {
        let mut reader = PartialJson::new();
        let mut arguments = Map::new();
        for piece in pieces {
            reader.push(piece, &mut arguments);
        }
        Value::Object(arguments)
    }

    #[test]
    fn incomplete_text_gives_a_preview() {
        let cases: &[(&str, Value)] = &[
            ("", json!({})),
            ("  {", json!({})),
            (r#"{"a"#, json!({})),
            (r#"{"a""#, json!({})),
            (r#"{"a":"#, json!({})),
            (r#"{"a":""#, json!({"a": ""})),
            (r#"{"a":"x"#, json!({"a": "x"})),
            (r#"{"a":"x\"#, json!({"a": "x"})),
            (r#"{"a":"x\n"#, json!({"a": "x\n"})),
            (r#"{"a":"\u00"#, json!({"a": ""})),
            (r#"{"a":"\u00e9"#, json!({"a": "é"})),
            (r#"{"a":"\ud83d"#, json!({"a": ""})),
            (r#"{"a":"\ud83d\ude00"#, json!({"a": "😀"})),
            (r#"{"a":"\ud83dx"#, json!({"a": "x"})),
            (r#"{"a":"\ud83d\n"#, json!({"a": "\n"})),
            (r#"{"a":"\ude00x"#, json!({"a": "x"})),
            (r#"{"a":"\d+"#, json!({"a": "\\d+"})),
            (r#"{"a":"\u0g"#, json!({"a": "\\u0g"})),
            ("{\"a\":\"x\ny\"", json!({"a": "x\ny"})),
            (r#"{"a":t"#, json!({"a": true})),
            (r#"{"a":fal"#, json!({"a": false})),
            (r#"{"a":n"#, json!({"a": null})),
            (r#"{"a":nope"#, json!({})),
            (r#"{"a":nope,"b":1}"#, json!({"b": 1})),
            (r#"{"a":-"#, json!({})),
            (r#"{"a":1"#, json!({"a": 1})),
            (r#"{"a":1."#, json!({})),
            (r#"{"a":1.5e-"#, json!({"a": 1.5})),
            (r#"{"a":1.5e"#, json!({"a": 1.5})),
            (r#"{"a":1.5e+3,"#, json!({"a": 1500.0})),
            (r#"{"a":[1,2"#, json!({"a": [1, 2]})),
            (r#"{"a":[true,fa"#, json!({"a": [true, false]})),
            (r#"{"a":[{"b":["x"#, json!({"a": [{"b": ["x"]}]})),
            (
                r#"{"a":[[],{}],"b":{"c":{}},"d":"e"}"#,
                json!({"a": [[], {}], "b": {"c": {}}, "d": "e"}),
            ),
            (r#"{"a" "x" "b" 2}"#, json!({"a": "x", "b": 2})),
            (r#"{"a":1,"a":2}"#, json!({"a": 2})),
            (r#"{"a":,"b":1}"#, json!({"b": 1})),
            (r#"{"a":1} {"b":2}"#, json!({"a": 1})),
            (r#"["a"]"#, json!({})),
            ("null", json!({})),
            ("```json\n{\"a\":1}", json!({"a": 1})),
        ];
        for (text, expected) in cases {
            assert_eq!(read(&[text]), *expected, "whole: {text}");
            let alone: Vec<String> = text.chars().map(String::from).collect();
            let alone: Vec<&str> = alone.iter().map(String::as_str).collect();
            assert_eq!(read(&alone), *expected, "character by character: {text}");
        }
    }

    #[test]
    fn long_numbers_are_shown_when_complete() {
        let digits = "1".repeat(70);
        assert_eq!(read(&[&format!("{{\"a\":{digits}")]), json!({}));
        assert!(read(&[&format!("{{\"a\":{digits},")])["a"].is_number());
    }

    #[test]
    fn depth_is_bounded() {
        let deep = "[".repeat(100_000);
        let shown = read(&[&format!("{{\"a\":{deep}")]);
        assert!(shown["a"].is_array());
        let closed = format!("{{\"a\":{}{},\"b\":1}}", "[".repeat(500), "]".repeat(500));
        assert_eq!(read(&[&closed])["b"], 1);
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            (-1e9..1e9_f64).prop_map(Value::from),
            ".{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::vec((".{0,6}", inner), 0..5)
                    .prop_map(|members| members.into_iter().collect::<Map<_, _>>().into()),
            ]
        })
    }

    proptest! {
        #[test]
        fn complete_text_gives_the_result_of_a_strict_parser(
            members in prop::collection::vec((".{0,6}", any_json()), 0..5),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        ) {
            let value: Value = members.into_iter().collect::<Map<_, _>>().into();
            let text = value.to_string();
            let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
            at.retain(|cut| text.is_char_boundary(*cut));
            at.extend([0, text.len()]);
            at.sort_unstable();
            let pieces: Vec<&str> = at.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect();
            prop_assert_eq!(read(&pieces), value);
        }

        #[test]
        fn cuts_do_not_change_the_result(
            text in r#"[{}\[\]",:\\a-u0-9.+é -]{0,60}"#,
            cut in any::<prop::sample::Index>(),
        ) {
            let cut = cut.index(text.len() + 1);
            if text.is_char_boundary(cut) {
                let text = format!("{{{text}");
                prop_assert_eq!(read(&[&text[..=cut], &text[cut + 1..]]), read(&[&text]));
            }
        }
    }
}
