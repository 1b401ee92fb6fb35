//! `/` and `/page/{name}`: the page, which has no data of the user.

use pi_web::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderValue, IF_NONE_MATCH,
};
use pi_web::http::{Response, StatusCode};
use pi_web::server::{Body, empty, single};

use super::{Answer, ApiError, Call};
use crate::page::{self, Asset};

/// Answers with the page itself.
pub(crate) async fn index(call: Call) -> Answer {
    send(&call, "")
}

/// Answers with a file of the page.
pub(crate) async fn file(call: Call) -> Answer {
    let name = call.param(0)?;
    send(&call, name)
}

fn send(call: &Call, name: &str) -> Answer {
    let Asset { content_type, etag, body, .. } =
        page::asset(name).ok_or_else(ApiError::not_found)?;
    let known = single(call.request.headers(), IF_NONE_MATCH.as_str());
    let mut response = match known == Some(etag) {
        true => empty(StatusCode::NOT_MODIFIED),
        false => Response::new(Body::whole(body)),
    };
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(ETAG, HeaderValue::from_static(etag));
    // A new version of the program has other modules, which must not be mixed.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(page::CSP));
    Ok(response)
}
