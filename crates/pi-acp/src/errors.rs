//! The errors of the protocol.

use std::fmt::Display;

use pi_ai::{FailureKind, ProviderFailure};
use pi_host::OpenError;
use pi_jsonrpc::Error;
use serde_json::json;

/// A request was cancelled.
pub(crate) const CANCELLED: i64 = -32800;
/// The user has to sign in first.
const AUTH_REQUIRED: i64 = -32000;
/// A session or a file does not exist.
const NOT_FOUND: i64 = -32002;

/// The error of a request that needs credentials.
pub(crate) fn auth_required(problem: impl Display) -> Error {
    Error::new(AUTH_REQUIRED, format!("Authentication required: {problem}"))
}

/// The error of a run that failed. A credential that the provider does not accept is asked for.
pub(crate) fn run_error(problem: &str) -> Error {
    match ProviderFailure::of(problem).kind {
        FailureKind::NoCredential
        | FailureKind::RejectedCredential
        | FailureKind::ExpiredCredential => auth_required(problem),
        _ => Error::internal(problem),
    }
}

/// The error of a session that does not exist or is not open.
pub(crate) fn no_session(id: &str) -> Error {
    let message = format!("there is no open session {id:?}; open it with session/load or /resume");
    Error::new(NOT_FOUND, message).with_data(json!({ "sessionId": id }))
}

/// The error of a session that cannot be opened.
pub(crate) fn open_error(error: OpenError) -> Error {
    match error {
        OpenError::NotFound(problem) => Error::new(NOT_FOUND, problem),
        OpenError::Credentials(problem) => auth_required(problem),
        OpenError::TooMany(_) => {
            let problem = format!("{error}; close one with session/close");
            Error::new(Error::INVALID_REQUEST, problem)
        }
        OpenError::Reopening => Error::new(Error::INVALID_REQUEST, error.to_string()),
        error => Error::internal(error),
    }
}
