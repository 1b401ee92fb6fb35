//! The seam to the owner of tokens.

use crate::BoxFuture;

/// Supplies tokens for requests to one HTTP server.
///
/// Requests wait for it within their time limits, so it must not wait for a person.
pub trait Authorization: Send + Sync + 'static {
    /// Returns the token of the next request; `None` for a request without one. An error fails the
    /// request, with its text.
    fn token(&self) -> BoxFuture<'_, Result<Option<String>, String>>;

    /// Decides what happens after a refusal: the request is repeated once with a new
    /// [`Authorization::token`], or fails.
    fn challenged(&self, challenge: Challenge) -> BoxFuture<'_, Verdict>;
}

/// A refusal of a server: HTTP 401 or 403.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Challenge {
    /// Status: 401 or 403.
    pub status: u16,
    /// Values of `WWW-Authenticate`.
    pub www_authenticate: Vec<String>,
    /// The token that was refused.
    pub token: Option<String>,
}

/// Next step after a refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The request is repeated.
    Retry,
    /// The request fails, with this text for the user.
    GiveUp(String),
}
