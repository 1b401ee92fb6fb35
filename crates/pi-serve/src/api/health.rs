//! `/healthz`: the server answers.

use pi_web::http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Answer, Call, json};

/// The answer of `/healthz`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Health {
    /// Always `ok`: a server that is not does not answer.
    pub status: &'static str,
}

/// Answers that the server is alive.
pub(crate) async fn healthz(_: Call) -> Answer {
    json(StatusCode::OK, &Health { status: "ok" })
}
