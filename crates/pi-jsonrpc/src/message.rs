//! Messages as data: requests, notifications, responses, and their parser.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value, json};

/// The id of a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Id {
    /// An id that is a whole number.
    Number(i64),
    /// An id that is a text.
    Text(String),
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

impl Id {
    /// Returns the id in a JSON value: a whole number or a text.
    pub fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Some(Self::Text(text.clone())),
            // Some programs write whole numbers as `1.0`.
            Value::Number(number) => number
                .as_i64()
                .or_else(|| {
                    let number = number.as_f64()?;
                    let is_whole = number.fract() == 0.0 && number.abs() < 9e15;
                    is_whole.then_some(number as i64)
                })
                .map(Self::Number),
            _ => None,
        }
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => number.serialize(serializer),
            Self::Text(text) => text.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Self::from_value(&value).ok_or_else(|| D::Error::custom("an id is a number or a text"))
    }
}

/// A message that expects a response.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Id of the request, unique among the open ones of its sender.
    pub id: Id,
    /// Name of the method.
    pub method: String,
    /// Parameters: an object or an array.
    pub params: Option<Value>,
}

/// A message without a response.
#[derive(Debug, Clone, PartialEq)]
pub struct Notification {
    /// Name of the method.
    pub method: String,
    /// Parameters: an object or an array.
    pub params: Option<Value>,
}

/// The end of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    /// Id of the request; `None` if the request could not be read.
    pub id: Option<Id>,
    /// The result, or the error.
    pub result: Result<Value, Error>,
}

/// A message of the protocol.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// A call that expects a response.
    Request(Request),
    /// A message without a response.
    Notification(Notification),
    /// The end of a call.
    Response(Response),
}

/// The error of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{message} ({code})")]
pub struct Error {
    /// Kind of the error.
    pub code: i64,
    /// Description of the error, for people.
    #[serde(default)]
    pub message: String,
    /// More about the error, as its method defines it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl Error {
    /// The text is not JSON.
    pub const PARSE: i64 = -32700;
    /// The JSON value is not a request.
    pub const INVALID_REQUEST: i64 = -32600;
    /// The method does not exist.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The parameters do not fit the method.
    pub const INVALID_PARAMS: i64 = -32602;
    /// The method failed.
    pub const INTERNAL: i64 = -32603;

    /// Makes an error without data.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// Adds data to the error.
    #[must_use]
    pub fn with_data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }

    /// The error of a method that does not exist.
    pub fn method_not_found(method: &str) -> Self {
        Self::new(Self::METHOD_NOT_FOUND, format!("Method not found: {method}"))
    }

    /// The error of parameters that do not fit the method.
    pub fn invalid_params(problem: impl fmt::Display) -> Self {
        Self::new(Self::INVALID_PARAMS, format!("Invalid params: {problem}"))
    }

    /// The error of a method that failed.
    pub fn internal(problem: impl fmt::Display) -> Self {
        Self::new(Self::INTERNAL, problem.to_string())
    }
}

/// A text that is no message.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Invalid {
    /// The text is not JSON.
    #[error("not JSON: {0}")]
    Json(String),
    /// The JSON value is not a message.
    #[error("not a JSON-RPC message: {problem}")]
    Shape {
        /// Description of the problem.
        problem: &'static str,
        /// Id of the message, if it has one.
        id: Option<Id>,
        /// The message has no method, so it is meant as a response.
        is_response: bool,
    },
}

impl Invalid {
    /// Returns the response that the sender of the text gets.
    pub fn response(&self) -> Response {
        match self {
            Self::Json(problem) => Response {
                id: None,
                result: Err(Error::new(Error::PARSE, format!("Parse error: {problem}"))),
            },
            Self::Shape { problem, id, .. } => Response {
                id: id.clone(),
                result: Err(Error::new(
                    Error::INVALID_REQUEST,
                    format!("Invalid request: {problem}"),
                )),
            },
        }
    }
}

impl Message {
    /// Creates a message with a request.
    pub fn request(id: Id, method: impl Into<String>, params: Option<Value>) -> Self {
        Self::Request(Request { id, method: method.into(), params })
    }

    /// Creates a message with a notification.
    pub fn notification(method: impl Into<String>, params: Option<Value>) -> Self {
        Self::Notification(Notification { method: method.into(), params })
    }

    /// Creates a message with a response.
    pub fn response(id: Id, result: Result<Value, Error>) -> Self {
        Self::Response(Response { id: Some(id), result })
    }

    /// Parses the text of a message.
    pub fn parse(text: &[u8]) -> Result<Self, Invalid> {
        Self::from_value(parse_bounded(text)?)
    }

    /// Parses the text of a message that may lack the version, the result of a response, or the
    /// code of an error.
    pub fn parse_lenient(text: &[u8]) -> Result<Self, Invalid> {
        let mut value = parse_bounded(text)?;
        if let Value::Object(object) = &mut value {
            object.insert("jsonrpc".to_owned(), "2.0".into());
            let is_response = object.contains_key("id") && !object.contains_key("method");
            match object.get_mut("error") {
                Some(Value::Object(error)) => {
                    error.entry("code").or_insert(0.into());
                }
                Some(Value::Null) => {}
                Some(error) => {
                    let message = error.as_str().unwrap_or_default();
                    *error = json!({ "code": 0, "message": message });
                }
                None if is_response => {
                    object.entry("result").or_insert(Value::Null);
                }
                None => {}
            }
        }
        Self::from_value(value)
    }

    /// Reads a message, or the messages of an array.
    pub fn parse_batch(text: &[u8]) -> Result<Vec<Result<Self, Invalid>>, Invalid> {
        Ok(match parse_bounded(text)? {
            Value::Array(messages) => messages.into_iter().map(Self::from_value).collect(),
            message => vec![Self::from_value(message)],
        })
    }

    /// Reads a message from a JSON value.
    pub fn from_value(value: Value) -> Result<Self, Invalid> {
        let Value::Object(mut object) = value else {
            let problem = "it is not an object";
            return Err(Invalid::Shape { problem, id: None, is_response: false });
        };
        let id = object.get("id").and_then(Id::from_value);
        let is_response = !object.contains_key("method");
        let invalid = |problem| Invalid::Shape { problem, id: id.clone(), is_response };
        if object.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return Err(invalid("`jsonrpc` is not \"2.0\""));
        }
        match object.remove("method") {
            Some(Value::String(method)) => {
                let params = match object.remove("params") {
                    None | Some(Value::Null) => None,
                    Some(params @ (Value::Object(_) | Value::Array(_))) => Some(params),
                    Some(_) => return Err(invalid("`params` is no object and no array")),
                };
                match (object.contains_key("id"), id) {
                    (false, _) => Ok(Self::Notification(Notification { method, params })),
                    (true, Some(id)) => Ok(Self::Request(Request { id, method, params })),
                    (true, None) => Err(Invalid::Shape {
                        problem: "`id` is no whole number and no text",
                        id: None,
                        is_response: false,
                    }),
                }
            }
            Some(_) => Err(invalid("`method` is not a text")),
            None => Self::response_from(object, id),
        }
    }

    fn response_from(mut object: Map<String, Value>, id: Option<Id>) -> Result<Self, Invalid> {
        let error = object.remove("error").filter(|error| !error.is_null());
        let result = match (object.remove("result"), error) {
            (_, Some(error)) => match serde_json::from_value(error) {
                Ok(error) => Err(error),
                Err(_) => {
                    let problem = "`error` has no code";
                    return Err(Invalid::Shape { problem, id, is_response: true });
                }
            },
            (Some(result), None) => Ok(result),
            (None, None) => {
                let problem = "it has no method, no result and no error";
                return Err(Invalid::Shape { problem, id, is_response: true });
            }
        };
        Ok(Self::Response(Response { id, result }))
    }

    /// Returns the message as a JSON value.
    pub fn to_value(&self) -> Value {
        match self {
            Self::Request(Request { id, method, params }) => with_params(
                json!({ "jsonrpc": "2.0", "id": id, "method": method }),
                params.as_ref(),
            ),
            Self::Notification(Notification { method, params }) => {
                with_params(json!({ "jsonrpc": "2.0", "method": method }), params.as_ref())
            }
            Self::Response(Response { id, result: Ok(result) }) => {
                json!({ "jsonrpc": "2.0", "id": id, "result": result })
            }
            Self::Response(Response { id, result: Err(error) }) => {
                json!({ "jsonrpc": "2.0", "id": id, "error": error })
            }
        }
    }

    /// Returns the message as one line, with its line feed.
    pub fn to_line(&self) -> Vec<u8> {
        let mut line = self.to_value().to_string().into_bytes();
        line.push(b'\n');
        line
    }
}

/// The most values of one message. A value takes many times the memory of its text: a message of
/// many small values would take gigabytes.
const MAX_VALUES: usize = 2_000_000;

/// Reads a JSON value that does not have too many parts.
fn parse_bounded(text: &[u8]) -> Result<Value, Invalid> {
    if text.len() > MAX_VALUES && count_values(text) > MAX_VALUES {
        return Err(Invalid::Json(format!("it has more than {MAX_VALUES} values")));
    }
    serde_json::from_slice(text).map_err(|error| Invalid::Json(error.to_string()))
}

/// Counts what begins or separates values, outside of texts.
fn count_values(text: &[u8]) -> usize {
    let (mut count, mut is_in_text, mut is_escaped) = (0, false, false);
    for byte in text {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_in_text => is_escaped = true,
            b'"' => is_in_text = !is_in_text,
            b',' | b':' | b'[' | b'{' if !is_in_text => count += 1,
            _ => {}
        }
    }
    count
}

fn with_params(mut message: Value, params: Option<&Value>) -> Value {
    if let (Some(object), Some(params)) = (message.as_object_mut(), params) {
        object.insert("params".to_owned(), params.clone());
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lenient_parsing_fills_in_what_is_missing() {
        let parsed = |text: &str| Message::parse_lenient(text.as_bytes());
        for text in [r#"{"id":1}"#, r#"{"jsonrpc":"1.0","id":1,"result":null}"#] {
            assert!(Message::parse(text.as_bytes()).is_err(), "{text}");
            assert_eq!(
                parsed(text),
                Ok(Message::response(Id::Number(1), Ok(Value::Null))),
                "{text}"
            );
        }
        let failed = |message: &str| Message::response(Id::Number(1), Err(Error::new(0, message)));
        assert_eq!(parsed(r#"{"id":1,"error":{"message":"no"}}"#), Ok(failed("no")));
        assert_eq!(parsed(r#"{"id":1,"error":"no"}"#), Ok(failed("no")));
        assert_eq!(parsed(r#"{"method":"a"}"#), Ok(Message::notification("a", None)));
        assert!(
            parsed(r#"{"other":1}"#).is_err() && parsed("[1]").is_err() && parsed("{").is_err()
        );
    }

    #[test]
    fn messages_survive_a_round_trip() {
        let messages = [
            Message::request(Id::Number(1), "a/b", Some(json!({ "x": 1 }))),
            Message::request(Id::Text("k".to_owned()), "a", None),
            Message::notification("n", Some(json!([1]))),
            Message::response(Id::Number(2), Ok(Value::Null)),
            Message::response(Id::Number(3), Err(Error::method_not_found("z"))),
            Message::Response(Response { id: None, result: Err(Error::new(Error::PARSE, "p")) }),
        ];
        for message in messages {
            assert_eq!(Message::parse(&message.to_line()).as_ref(), Ok(&message));
        }
    }

    #[test]
    fn invalid_texts_are_errors_with_the_id_that_they_have() {
        let cases = [
            ("{", Error::PARSE, None),
            ("[]", Error::INVALID_REQUEST, None),
            (r#"{"id":1,"method":"m"}"#, Error::INVALID_REQUEST, Some(Id::Number(1))),
            (r#"{"jsonrpc":"2.0","id":{},"method":"m"}"#, Error::INVALID_REQUEST, None),
            (r#"{"jsonrpc":"2.0","id":4}"#, Error::INVALID_REQUEST, Some(Id::Number(4))),
            (r#"{"jsonrpc":"2.0","id":5,"method":7}"#, Error::INVALID_REQUEST, Some(Id::Number(5))),
            (
                r#"{"jsonrpc":"2.0","id":6,"method":"m","params":7}"#,
                Error::INVALID_REQUEST,
                Some(Id::Number(6)),
            ),
            (
                r#"{"jsonrpc":"2.0","id":8,"error":"no"}"#,
                Error::INVALID_REQUEST,
                Some(Id::Number(8)),
            ),
        ];
        for (text, code, id) in cases {
            let response = Message::parse(text.as_bytes()).expect_err(text).response();
            assert_eq!(response.id, id, "{text}");
            assert_eq!(response.result.expect_err(text).code, code, "{text}");
        }
    }

    #[test]
    fn a_message_of_too_many_values_is_not_parsed() {
        let message = |list: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"result":[{list}0]}}"#);
        let many = message(&"0,".repeat(MAX_VALUES));
        assert!(matches!(Message::parse(many.as_bytes()), Err(Invalid::Json(_))));
        assert!(matches!(Message::parse_batch(many.as_bytes()), Err(Invalid::Json(_))));
        // Commas in a text are no values.
        let text = message(&format!(r#""\"{}","#, ",[".repeat(MAX_VALUES)));
        assert!(Message::parse(text.as_bytes()).is_ok());
    }

    #[test]
    fn the_messages_of_an_array_are_read_one_by_one() {
        let batch = Message::parse_batch(br#"[{"jsonrpc":"2.0","method":"m"}, 7]"#).unwrap();
        assert!(matches!(batch[..], [Ok(Message::Notification(_)), Err(_)]), "{batch:?}");
        assert_eq!(Message::parse_batch(br#"{"jsonrpc":"2.0","method":"m"}"#).unwrap().len(), 1);
    }

    #[test]
    fn an_id_may_be_a_float_without_a_fraction() {
        let message = Message::parse(br#"{"jsonrpc":"2.0","id":7.0,"result":{}}"#);
        assert_eq!(message, Ok(Message::response(Id::Number(7), Ok(json!({})))));
    }
}
