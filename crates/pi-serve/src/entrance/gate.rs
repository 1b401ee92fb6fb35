//! Requests that a browser was made to send: by a page of another site, or by a name of another site
//! that resolves to this machine.
//!
//! Stands on [`pi_web::server::Gate`], which checks `Host` and `Origin`, and adds what a server with
//! cookies needs. Refusals come with the hint of the program.

use std::net::SocketAddr;

use pi_web::http::header::{CONTENT_TYPE, HOST, ORIGIN};
use pi_web::http::{HeaderMap, Method, StatusCode};
use pi_web::server::{Gate, single};
use url::Url;

use crate::error::ApiError;
use crate::options::{Advice, Refused, ServeOptions};

/// Keys of a query with which clients send tokens. A query gets into logs and histories.
const TOKEN_KEYS: [&str; 8] =
    ["t", "token", "access_token", "auth", "authorization", "bearer", "api_key", "pi_session"];

/// Decides by the head of a request whether it may pass.
#[derive(Debug)]
pub(crate) struct Entrance {
    gate: Gate,
    /// Browsers reach the server only through TLS, by these names; by all names, if it is empty.
    secure: Option<Vec<String>>,
    advice: Advice,
}

/// The purpose of a request, as far as the entrance needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A page or a part of it, without data of the user: also links of other sites lead here.
    Page,
    /// Everything else.
    Data,
}

impl Entrance {
    pub(crate) fn new(address: SocketAddr, options: &ServeOptions) -> Self {
        let mut hosts = options.hosts.clone();
        let mut gate = Gate::new(address);
        let public_host = options.public_url.as_ref().and_then(|url| url.host_str());
        hosts.extend(public_host.map(str::to_owned));
        gate = gate.with_hosts(hosts.iter().map(String::as_str));
        let secure = match (options.is_encrypted, &options.public_url) {
            (true, _) => Some(Vec::new()),
            (false, Some(url)) if url.scheme() == "https" => {
                Some(public_host.map(str::to_ascii_lowercase).into_iter().collect())
            }
            _ => None,
        };
        Self { gate, secure, advice: options.advice }
    }

    /// Refuses requests of pages of other sites and to other names.
    pub(crate) fn check(
        &self,
        method: &Method,
        headers: &HeaderMap,
        purpose: Purpose,
    ) -> Result<(), ApiError> {
        self.gate.check(headers).map_err(|refusal| self.refused(refusal.into(), headers))?;
        let origin = single(headers, ORIGIN.as_str());
        if origin.is_some_and(|origin| self.is_downgraded(origin)) {
            let message = "pages without encryption may not send requests to this server";
            return Err(ApiError::forbidden("foreign_origin", message));
        }
        self.check_site(method, headers, purpose)
    }

    /// Refuses what browsers send for pages of other sites, also without an `Origin`.
    fn check_site(
        &self,
        method: &Method,
        headers: &HeaderMap,
        purpose: Purpose,
    ) -> Result<(), ApiError> {
        if !headers.contains_key("sec-fetch-site") {
            return Ok(());
        }
        let is_link = method == Method::GET
            && purpose == Purpose::Page
            && single(headers, "sec-fetch-mode") == Some("navigate")
            && single(headers, "sec-fetch-dest") == Some("document");
        match single(headers, "sec-fetch-site") {
            Some("same-origin" | "none") => Ok(()),
            _ if is_link => Ok(()),
            _ => {
                let message = "requests of pages of other sites are refused";
                Err(ApiError::forbidden("cross_site", message))
            }
        }
    }

    /// Returns true if a page without encryption has the name of a server with it.
    fn is_downgraded(&self, origin: &str) -> bool {
        let (Some(secure), Ok(url)) = (&self.secure, Url::parse(origin)) else { return false };
        let host = url.host_str().unwrap_or_default();
        url.scheme() != "https" && (secure.is_empty() || secure.iter().any(|name| name == host))
    }

    fn refused(&self, error: ApiError, headers: &HeaderMap) -> ApiError {
        let host = single(headers, HOST.as_str()).unwrap_or_default();
        let origin = single(headers, ORIGIN.as_str()).unwrap_or_default();
        let advice = match error.status {
            StatusCode::MISDIRECTED_REQUEST => (self.advice)(Refused::Host(host_name(host))),
            StatusCode::FORBIDDEN => (self.advice)(Refused::Origin(origin)),
            _ => None,
        };
        error.with_hint(advice)
    }
}

/// Returns the name in a `Host` header, if a user can be told to permit it.
fn host_name(host: &str) -> &str {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => name,
        _ => host,
    };
    let is_name = |char: char| char.is_ascii_alphanumeric() || matches!(char, '.' | '-' | '_');
    if name.chars().all(is_name) { name } else { "" }
}

/// Refuses tokens in a query.
pub(crate) fn check_query(query: Option<&str>) -> Result<(), ApiError> {
    let mut pairs = url::form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    if pairs.any(|(key, _)| TOKEN_KEYS.contains(&key.to_ascii_lowercase().as_str())) {
        let message = "tokens are not accepted in the query, which gets into logs; send the header \
                       \"Authorization: Bearer TOKEN\"";
        return Err(ApiError::bad_request("token_in_query", message));
    }
    Ok(())
}

/// Refuses bodies that forms and simple requests of other sites can send.
pub(crate) fn check_content_type(headers: &HeaderMap) -> Result<(), ApiError> {
    let given = single(headers, CONTENT_TYPE.as_str()).unwrap_or_default();
    let essence = given.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    let message = "the content type must be application/json";
    Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "content_type", message))
}

/// Returns the token in the `Authorization` header.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = single(headers, "authorization")?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
