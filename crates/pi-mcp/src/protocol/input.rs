//! Results that ask for input (modern).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Extra;

/// The value of `resultType` of [`InputRequired`].
pub const INPUT_REQUIRED: &str = "input_required";

/// A result that asks for input. The client repeats its request with `inputResponses`, a response
/// for every key, and with `requestState` as it was.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct InputRequired {
    /// The constant `input_required`.
    pub result_type: String,
    /// Questions to the client, by key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_requests: Option<BTreeMap<String, InputRequest>>,
    /// A text that only the server understands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_state: Option<String>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A question: `sampling/createMessage`, `elicitation/create` or `roots/list`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InputRequest {
    /// Name of the method.
    pub method: String,
    /// Parameters of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<Value>,
}

impl InputRequired {
    /// Reads a result that asks for input; `None` if it is of another kind.
    pub fn from_result(result: &Value) -> Option<Result<Self, serde_json::Error>> {
        let kind = result.get("resultType")?.as_str()?;
        (kind == INPUT_REQUIRED).then(|| serde_json::from_value(result.clone()))
    }
}
