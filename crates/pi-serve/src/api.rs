//! The resources of the API, one file each, and the form of its answers.
//!
//! A handler gets a `Call` whose sender has passed the entrance and has the right that the table of
//! routes demands.

pub mod assets;
pub mod blobs;
pub mod diff;
pub mod entries;
pub mod events;
pub mod export;
pub mod files;
pub mod health;
pub mod login;
pub(crate) mod proxy;
pub mod runs;
pub mod sessions;
pub mod tokens;

use std::net::IpAddr;
use std::sync::Arc;

use pi_web::http::{Request, Response, StatusCode};
use pi_web::server::{Body, Incoming, read_body, whole};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::entrance::Identity;
pub use crate::error::ApiError;
use crate::state::ServeState;

/// The result of a handler.
pub(crate) type Answer = Result<Response<Body>, ApiError>;

/// The longest body of a request to the API.
const BODY: usize = 1 << 20;

/// A request that has passed the entrance.
pub(crate) struct Call {
    pub(crate) state: Arc<ServeState>,
    /// The sender; `None` only on routes that need no token.
    pub(crate) identity: Option<Identity>,
    pub(crate) peer: IpAddr,
    /// The variables of the path, decoded and checked.
    pub(crate) params: Vec<String>,
    pub(crate) request: Request<Incoming>,
}

impl Call {
    /// Returns the sender of the request; an error on a route that needs no token.
    pub(crate) fn identity(&self) -> Result<&Identity, ApiError> {
        self.identity.as_ref().ok_or_else(ApiError::unauthorized)
    }

    /// Returns a variable of the path.
    pub(crate) fn param(&self, index: usize) -> Result<&str, ApiError> {
        self.params.get(index).map(String::as_str).ok_or_else(ApiError::not_found)
    }

    /// Returns a value of the query.
    pub(crate) fn query(&self, key: &str) -> Option<String> {
        let query = self.request.uri().query()?;
        let mut pairs = url::form_urlencoded::parse(query.as_bytes());
        pairs.find(|(own, _)| own == key).map(|(_, value)| value.into_owned())
    }

    /// Returns a number of the query.
    pub(crate) fn number(&self, key: &str) -> Result<Option<u64>, ApiError> {
        let Some(value) = self.query(key) else { return Ok(None) };
        let invalid =
            |_| ApiError::bad_request("invalid_query", format!("{key:?} must be a number"));
        value.parse().map(Some).map_err(invalid)
    }

    /// Reads the body as a type.
    pub(crate) async fn body<T: DeserializeOwned>(self) -> Result<T, ApiError> {
        let bytes = read_body(self.request.into_body(), BODY).await?;
        parse(&bytes)
    }
}

/// Reads a body as a type.
fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    // The text of the error could quote the body, which may be a token.
    serde_json::from_slice(bytes).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let message =
            format!("the body is not what this route takes (line {line}, column {column})");
        ApiError::bad_request("invalid_body", message)
    })
}

/// Makes a JSON answer.
pub(crate) fn json(status: StatusCode, value: &impl Serialize) -> Answer {
    let text = serde_json::to_vec(value).map_err(|error| ApiError::internal(error.to_string()))?;
    Ok(whole(status, "application/json", text))
}
