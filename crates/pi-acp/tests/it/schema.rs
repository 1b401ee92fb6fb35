//! The check of every message against the types of the published schema.

use agent_client_protocol_schema::{v1, v2};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Checks the result of a method.
pub(crate) fn check_result(version: u64, method: &str, result: &Value) {
    match (version, method) {
        (1, "initialize") => check::<v1::InitializeResponse>(result),
        (1, "authenticate") => check::<v1::AuthenticateResponse>(result),
        (1, "logout") => check::<v1::LogoutResponse>(result),
        (1, "session/new") => check::<v1::NewSessionResponse>(result),
        (1, "session/load") => check::<v1::LoadSessionResponse>(result),
        (1, "session/resume") => check::<v1::ResumeSessionResponse>(result),
        (1, "session/list") => check::<v1::ListSessionsResponse>(result),
        (1, "session/delete") => check::<v1::DeleteSessionResponse>(result),
        (1, "session/close") => check::<v1::CloseSessionResponse>(result),
        (1, "session/set_mode") => check::<v1::SetSessionModeResponse>(result),
        (1, "session/set_config_option") => check::<v1::SetSessionConfigOptionResponse>(result),
        (1, "session/prompt") => check::<v1::PromptResponse>(result),
        (2, "initialize") => check::<v2::InitializeResponse>(result),
        (2, "auth/login") => check::<v2::LoginAuthResponse>(result),
        (2, "auth/logout") => check::<v2::LogoutAuthResponse>(result),
        (2, "session/new") => check::<v2::NewSessionResponse>(result),
        (2, "session/resume") => check::<v2::ResumeSessionResponse>(result),
        (2, "session/list") => check::<v2::ListSessionsResponse>(result),
        (2, "session/delete") => check::<v2::DeleteSessionResponse>(result),
        (2, "session/close") => check::<v2::CloseSessionResponse>(result),
        (2, "session/set_config_option") => check::<v2::SetSessionConfigOptionResponse>(result),
        (2, "session/prompt") => check::<v2::PromptResponse>(result),
        _ => panic!("version {version} has no method {method}"),
    }
}

/// Checks an error.
pub(crate) fn check_error(version: u64, error: &Value) {
    match version {
        1 => check::<v1::Error>(error),
        _ => check::<v2::Error>(error),
    }
}

/// Checks the parameters of a request or a notification of the agent.
pub(crate) fn check_params(version: u64, method: &str, params: &Value) {
    match (version, method) {
        (1, "session/update") => check::<v1::SessionNotification>(params),
        (1, "session/request_permission") => check::<v1::RequestPermissionRequest>(params),
        (1, "fs/read_text_file") => check::<v1::ReadTextFileRequest>(params),
        (1, "fs/write_text_file") => check::<v1::WriteTextFileRequest>(params),
        (1, "terminal/create") => check::<v1::CreateTerminalRequest>(params),
        (1, "terminal/output") => check::<v1::TerminalOutputRequest>(params),
        (1, "terminal/wait_for_exit") => check::<v1::WaitForTerminalExitRequest>(params),
        (1, "terminal/kill") => check::<v1::KillTerminalRequest>(params),
        (1, "terminal/release") => check::<v1::ReleaseTerminalRequest>(params),
        (1, "elicitation/create") => check::<v1::CreateElicitationRequest>(params),
        (1, "$/cancel_request") => check::<v1::CancelRequestNotification>(params),
        (2, "session/update") => check::<v2::UpdateSessionNotification>(params),
        (2, "session/request_permission") => check::<v2::RequestPermissionRequest>(params),
        (2, "elicitation/create") => check::<v2::CreateElicitationRequest>(params),
        (2, "$/cancel_request") => check::<v2::CancelRequestNotification>(params),
        _ => panic!("version {version} has no method {method} of clients"),
    }
}

/// Reads a value as a type of the schema and writes it again. Nothing may be lost but defaults.
fn check<T: DeserializeOwned + Serialize>(value: &Value) {
    let read: T = match serde_json::from_value(value.clone()) {
        Ok(read) => read,
        Err(error) => panic!("{error}: {value:#}"),
    };
    let written = serde_json::to_value(&read).unwrap();
    let mut lost = Vec::new();
    compare(value, &written, "", &mut lost);
    assert!(lost.is_empty(), "the schema does not know {lost:?} of {value:#}, only {written:#}");
}

fn compare(value: &Value, written: &Value, path: &str, lost: &mut Vec<String>) {
    match (value, written) {
        (Value::Object(value), Value::Object(written)) => {
            for (name, field) in value {
                let path = format!("{path}/{name}");
                match written.get(name) {
                    Some(written) => compare(field, written, &path, lost),
                    None if is_default(name, field) => {}
                    None => lost.push(path),
                }
            }
        }
        (Value::Array(value), Value::Array(written)) if value.len() == written.len() => {
            for (at, (one, other)) in value.iter().zip(written).enumerate() {
                compare(one, other, &format!("{path}/{at}"), lost);
            }
        }
        (Value::Number(one), Value::Number(other)) if one.as_f64() == other.as_f64() => {}
        (value, written) if value == written => {}
        _ => lost.push(path.to_owned()),
    }
}

/// Returns true for values that the schema leaves out when it writes them.
fn is_default(name: &str, value: &Value) -> bool {
    match name {
        "kind" => value == "other",
        "status" => value == "pending",
        _ => value.as_array().is_some_and(Vec::is_empty) || value == &Value::Bool(false),
    }
}
