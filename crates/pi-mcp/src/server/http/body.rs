//! Responses of one message.

use pi_jsonrpc::Message;
use pi_web::http::{Response, StatusCode};
use pi_web::server::{Body, whole};

/// Makes a response of one message.
pub(super) fn json(status: StatusCode, message: &Message) -> Response<Body> {
    json_text(status, message.to_value().to_string())
}

/// Makes a response of one message in JSON.
pub(super) fn json_text(status: StatusCode, text: String) -> Response<Body> {
    whole(status, "application/json", text)
}
