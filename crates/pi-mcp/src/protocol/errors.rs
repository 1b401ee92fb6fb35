//! Codes of errors that the protocol adds to those of JSON-RPC.

/// A resource does not exist (legacy; the modern code is "invalid params").
pub const RESOURCE_NOT_FOUND: i64 = -32002;
/// The user must open a URL before the request can succeed (2025-11-25).
pub const URL_ELICITATION_REQUIRED: i64 = -32042;
/// HTTP headers contradict the body of the request.
pub const HEADER_MISMATCH: i64 = -32020;
/// The request needs a capability that the client did not declare.
pub const MISSING_CLIENT_CAPABILITY: i64 = -32021;
/// The server does not know the version of the request; `data.supported` lists those that it knows.
pub const UNSUPPORTED_VERSION: i64 = -32022;

/// Returns true if only a server of the modern era sends the code. Other codes of the reserved range
/// are in use by legacy servers.
pub fn is_modern(code: i64) -> bool {
    matches!(code, HEADER_MISMATCH | MISSING_CLIENT_CAPABILITY | UNSUPPORTED_VERSION)
}
