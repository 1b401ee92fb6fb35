//! Signs a request with the bytes and at the time at which it is sent.

use std::time::SystemTime;

use pi_web::aws::sigv4::{self, Unsigned};
use pi_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use url::Url;

use crate::wire::HttpRequest;

/// Returns the headers of a request, with its signature if it is to be signed.
///
/// Only headers that proxies do not change are signed.
pub(super) fn signed(
    headers: &HeaderMap,
    request: &HttpRequest,
    body: &[u8],
) -> Result<HeaderMap, String> {
    let mut headers = headers.clone();
    let Some(signing) = &request.signing else { return Ok(headers) };
    // The URL as the HTTP client sends it.
    let url = Url::parse(&request.url)
        .map_err(|error| format!("\"{}\" is not a valid URL: {error}", request.url))?;
    let content_type = headers.get("content-type").and_then(|value| value.to_str().ok());
    let to_sign: Vec<(&str, &str)> =
        content_type.map(|value| ("content-type", value)).into_iter().collect();
    let unsigned = Unsigned { method: "POST", url: url.as_str(), headers: &to_sign, body };
    for (name, value) in sigv4::sign(&unsigned, signing, SystemTime::now()) {
        let mut value = HeaderValue::from_str(&value).map_err(|_| {
            "The AWS access key id, session token or region has characters that are not allowed in \
             a header"
                .to_owned()
        })?;
        value.set_sensitive(true);
        headers.insert(HeaderName::from_static(name), value);
    }
    Ok(headers)
}
