//! Requests that continue the last response of a socket.
//!
//! The server still has the previous input and its own answer. If a request differs from the previous
//! one only in its input, and the input begins with what the server has, only the rest is sent. The
//! items of the answer come back in our own encoding, so they are compared by content. In doubt, the
//! request is sent whole.

use serde_json::{Map, Value};

/// An answered request of a socket.
#[derive(Debug)]
pub struct Answered {
    /// The body without its input.
    body: Map<String, Value>,
    input: Vec<Value>,
    /// The items of the answer.
    output: Vec<Value>,
    id: String,
}

/// Records the answer to a request that was sent over a socket.
#[derive(Debug)]
pub struct Recording {
    body: Map<String, Value>,
    input: Vec<Value>,
    output: Vec<Value>,
    id: Option<String>,
}

impl Recording {
    /// Begins with the whole body of a request.
    pub fn new(body: &Value) -> Self {
        let mut body = body.as_object().cloned().unwrap_or_default();
        let input = match body.remove("input") {
            Some(Value::Array(input)) => input,
            _ => Vec::new(),
        };
        Self { body, input, output: Vec::new(), id: None }
    }

    /// Records an event of the answer.
    pub fn event(&mut self, frame: &str) {
        // Deltas are many and say nothing that the end of an item does not repeat.
        let kinds = ["response.output_item.done", "response.completed", "response.done"];
        if !kinds.iter().any(|kind| frame.contains(kind)) {
            return;
        }
        let Ok(mut event) = serde_json::from_str::<Value>(frame) else { return };
        match event.get("type").and_then(Value::as_str) {
            Some("response.output_item.done") => {
                self.output.extend(event.get_mut("item").map(Value::take));
            }
            Some("response.completed" | "response.done") => {
                let id = event.pointer("/response/id").and_then(Value::as_str);
                self.id = id.map(str::to_owned);
            }
            _ => {}
        }
    }

    /// Returns the id of the response, if it is complete.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// Ends the recording. `None` if the answer is not one that can be continued.
    pub fn into_answered(self) -> Option<Answered> {
        let Self { body, input, output, id } = self;
        Some(Answered { body, input, output, id: id? })
    }
}

impl Answered {
    /// Returns the id of the response.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the items of `body` that the server does not have; `None` if the request does not
    /// continue the answer.
    pub fn new_items(&self, body: &Value) -> Option<Vec<Value>> {
        let body = body.as_object()?;
        let rest = body.iter().filter(|(name, _)| *name != "input");
        let is_equal = rest.clone().count() == self.body.len()
            && rest.into_iter().all(|(name, value)| self.body.get(name) == Some(value));
        if !is_equal {
            return None;
        }
        let input = body.get("input")?.as_array()?;
        let after = input.strip_prefix(self.input.as_slice())?;
        let answer: Vec<&Value> = self.output.iter().filter(|item| is_sent_back(item)).collect();
        if after.len() <= answer.len() {
            return None;
        }
        let (back, new) = after.split_at(answer.len());
        let matches = answer.iter().zip(back).all(|(theirs, ours)| is_same_item(theirs, ours));
        // An item of ours that the server produced itself, such as a call, would be there twice.
        (matches && !new.iter().any(is_own_item)).then(|| new.to_vec())
    }
}

fn text<'a>(item: &'a Value, member: &str) -> &'a str {
    item.get(member).and_then(Value::as_str).unwrap_or_default()
}

/// Returns true if an item of an answer is sent back with the next request.
fn is_sent_back(item: &Value) -> bool {
    matches!(text(item, "type"), "message" | "reasoning" | "function_call" | "custom_tool_call")
}

/// Returns true if an item of a request comes from a model.
fn is_own_item(item: &Value) -> bool {
    is_sent_back(item) && (text(item, "type") != "message" || text(item, "role") == "assistant")
}

/// Returns true if an item of a request is this item of the answer.
fn is_same_item(theirs: &Value, ours: &Value) -> bool {
    let same = |member: &str| text(theirs, member) == text(ours, member);
    if !same("type") {
        return false;
    }
    match text(theirs, "type") {
        "message" => same("id") && message_text(theirs) == message_text(ours),
        "reasoning" => same("id") && same("encrypted_content"),
        "function_call" => {
            let (theirs, ours) = (arguments(theirs), arguments(ours));
            same("call_id") && same("name") && theirs.is_some() && theirs == ours
        }
        "custom_tool_call" => same("call_id") && same("name") && same("input"),
        _ => false,
    }
}

/// Returns the arguments of a call. They are compared as values, since we write them anew.
fn arguments(item: &Value) -> Option<Value> {
    match text(item, "arguments") {
        "" => Some(Value::Object(Map::new())),
        arguments => serde_json::from_str(arguments).ok(),
    }
}

fn message_text(item: &Value) -> String {
    let parts = item.get("content").and_then(Value::as_array).into_iter().flatten();
    parts.map(|part| [text(part, "text"), text(part, "refusal")].concat()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn user(text: &str) -> Value {
        json!({"role": "user", "content": [{"type": "input_text", "text": text}]})
    }

    fn body(input: &[Value]) -> Value {
        json!({"model": "m", "instructions": "p", "input": input, "tools": []})
    }

    fn answered(items: &[Value]) -> Answered {
        let mut recording = Recording::new(&body(&[user("hi")]));
        recording.event(&json!({"type": "response.created", "response": {"id": "r"}}).to_string());
        for item in items {
            let event = json!({"type": "response.output_item.done", "item": item});
            recording.event(&event.to_string());
        }
        let end = json!({"type": "response.completed", "response": {"id": "resp_1"}});
        recording.event(&end.to_string());
        recording.into_answered().unwrap()
    }

    fn call() -> Value {
        json!({
            "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "bash",
            "arguments": "{\"command\": \"ls\"}", "status": "completed",
        })
    }

    fn call_sent_back() -> Value {
        json!({
            "type": "function_call", "arguments": "{\"command\":\"ls\"}", "call_id": "call_1",
            "name": "bash", "id": "fc_1",
        })
    }

    fn result() -> Value {
        json!({"type": "function_call_output", "call_id": "call_1", "output": "a"})
    }

    #[test]
    fn only_what_is_new_is_sent() {
        let reasoning = json!({"type": "reasoning", "id": "rs_1", "encrypted_content": "e"});
        let message = |text: &str| {
            json!({
                "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": text, "annotations": []}],
            })
        };
        let search = json!({"type": "web_search_call", "id": "ws_1"});
        type Row = (&'static str, Vec<Value>, Value, Option<Vec<Value>>);
        let other_prompt = json!({
            "model": "m", "instructions": "q", "input": [user("hi"), call_sent_back(), result()],
            "tools": [],
        });
        let rows: Vec<Row> = vec![
            (
                "a result",
                vec![call()],
                body(&[user("hi"), call_sent_back(), result()]),
                Some(vec![result()]),
            ),
            (
                "reasoning, text and the next question",
                vec![reasoning.clone(), message("Done.")],
                body(&[user("hi"), reasoning, message("Done."), user("next")]),
                Some(vec![user("next")]),
            ),
            (
                "items that are not sent back",
                vec![search, message("Done.")],
                body(&[user("hi"), message("Done."), user("next")]),
                Some(vec![user("next")]),
            ),
            ("nothing new", vec![call()], body(&[user("hi"), call_sent_back()]), None),
            (
                "edited history",
                vec![call()],
                body(&[user("hello"), call_sent_back(), result()]),
                None,
            ),
            (
                "edited answer",
                vec![message("Done.")],
                body(&[user("hi"), message("Not done."), user("next")]),
                None,
            ),
            ("another branch", vec![message("Done.")], body(&[user("hi"), user("next")]), None),
            (
                "an answer of another request in between",
                vec![message("Done.")],
                body(&[user("hi"), message("Done."), call_sent_back(), result()]),
                None,
            ),
            ("another prompt", vec![call()], other_prompt, None),
            ("no input", vec![call()], json!({"model": "m"}), None),
        ];
        for (what, answer, body, expected) in rows {
            assert_eq!(answered(&answer).new_items(&body), expected, "{what}");
        }
    }

    #[test]
    fn an_answer_without_its_end_is_not_continued() {
        let mut recording = Recording::new(&body(&[user("hi")]));
        let event = json!({"type": "response.output_item.done", "item": call()});
        recording.event(&event.to_string());
        recording.event("response.completed, but not JSON");
        assert!(recording.into_answered().is_none());
    }

    proptest! {
        /// Old input, answer and new input in any sizes: exactly the new input is sent.
        #[test]
        fn exactly_the_rest_is_new(
            old in proptest::collection::vec(".{0,8}", 0..4),
            answer in proptest::collection::vec(".{0,8}", 0..4),
            new in proptest::collection::vec(".{0,8}", 1..4),
        ) {
            let users = |texts: &[String]| texts.iter().map(|text| user(text)).collect::<Vec<_>>();
            let answer: Vec<Value> = answer.iter().enumerate().map(|(number, text)| json!({
                "type": "message", "id": format!("msg_{number}"), "role": "assistant",
                "content": [{"type": "output_text", "text": text}],
            })).collect();
            let mut recording = Recording::new(&body(&users(&old)));
            for item in &answer {
                let event = json!({"type": "response.output_item.done", "item": item});
                recording.event(&event.to_string());
            }
            let end = json!({"type": "response.completed", "response": {"id": "r"}});
            recording.event(&end.to_string());
            let answered = recording.into_answered().unwrap();
            let whole = [users(&old), answer, users(&new)].concat();
            prop_assert_eq!(answered.new_items(&body(&whole)), Some(users(&new)));
        }

        #[test]
        fn no_frame_panics(text in ".{0,60}", kind in "(response\\.completed|response\\.output_item\\.done|error)") {
            let mut recording = Recording::new(&Value::Null);
            for frame in [text.clone(), json!({"type": kind, "item": text}).to_string()] {
                recording.event(&frame);
                let _ = crate::wire::socket::Opening::of(&frame);
                let _ = crate::wire::socket::as_server_sent_event(&frame);
            }
        }
    }
}
