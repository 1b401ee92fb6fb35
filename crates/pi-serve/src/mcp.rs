//! `/mcp`: the Model Context Protocol on this listener. The service is that of the program.

use crate::api::{Answer, ApiError, Call};

/// Answers a request of the protocol.
pub(crate) async fn respond(call: Call) -> Answer {
    match &call.state.options.mcp {
        Some(handler) => Ok(handler.respond(call.request).await),
        None => Err(ApiError::not_found()),
    }
}
