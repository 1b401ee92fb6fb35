//! One HTTP exchange: headers, redirects within the origin, tokens and their refusal.

use pi_jsonrpc::Message;
use pi_web::{WebBody, WebRequest, WebResponse};
use url::Url;

use super::HttpLink;
use crate::error::ClientError;
use crate::text::shown;
use crate::transport::{Challenge, Verdict};

/// The most redirects of one request.
const MAX_REDIRECTS: usize = 5;
/// The most refusals of one request: one for a missing token, one for a token that permits too
/// little.
const MAX_CHALLENGES: usize = 2;

/// A request before it is sent.
pub(super) struct Sending {
    method: &'static str,
    accept: &'static str,
    body: Option<Vec<u8>>,
    headers: Vec<(String, String)>,
}

impl Sending {
    /// Sends a message.
    pub(super) fn post(message: &Message, headers: Vec<(String, String)>) -> Self {
        let body = message.to_value().to_string().into_bytes();
        let accept = "application/json, text/event-stream";
        Self { method: "POST", accept, body: Some(body), headers }
    }

    /// Asks for a stream.
    pub(super) fn get(headers: Vec<(String, String)>) -> Self {
        Self { method: "GET", accept: "text/event-stream", body: None, headers }
    }

    /// Ends a session.
    pub(super) fn delete(headers: Vec<(String, String)>) -> Self {
        Self { method: "DELETE", accept: "*/*", body: None, headers }
    }
}

impl HttpLink {
    /// Sends a request and returns the head of its response.
    pub(super) async fn send(&self, sending: Sending) -> Result<WebResponse, ClientError> {
        let mut url = self.server.url.clone();
        let mut redirects = 0;
        let mut challenges = 0;
        loop {
            let token = self.token().await?;
            let response = self.send_once(&url, &sending, token.as_deref()).await?;
            match response.status {
                301 | 302 | 303 | 307 | 308 => {
                    redirects += 1;
                    url = self.redirected(&url, &sending, &response)?;
                    if redirects > MAX_REDIRECTS {
                        return Err(ClientError::Network("too many redirects".to_owned()));
                    }
                }
                401 | 403 if is_challenge(&response) => {
                    challenges += 1;
                    self.challenged(&response, token, challenges).await?;
                }
                _ => return Ok(response),
            }
        }
    }

    async fn token(&self) -> Result<Option<String>, ClientError> {
        match &self.server.authorization {
            Some(authorization) => authorization.token().await.map_err(ClientError::Unauthorized),
            None => Ok(None),
        }
    }

    async fn send_once(
        &self,
        url: &Url,
        sending: &Sending,
        token: Option<&str>,
    ) -> Result<WebResponse, ClientError> {
        let mut headers = self.server.headers.clone();
        let mut set = |name: &str, value: String| {
            headers.retain(|(one, _)| !one.eq_ignore_ascii_case(name));
            headers.push((name.to_owned(), value));
        };
        set("accept", sending.accept.to_owned());
        if sending.body.is_some() {
            set("content-type", "application/json".to_owned());
        }
        if let Some(token) = token {
            set("authorization", format!("Bearer {token}"));
        }
        for (name, value) in &sending.headers {
            set(name, value.clone());
        }
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("user-agent")) {
            headers.push(("user-agent".to_owned(), self.agent.clone()));
        }
        let body = sending.body.clone().map_or(WebBody::Empty, WebBody::Bytes);
        let method = sending.method.to_owned();
        let request = WebRequest { method, url: url.to_string(), headers, body };
        let sent = self.server.web.send(request).await;
        sent.map_err(|error| ClientError::Network(error.to_string()))
    }

    /// Returns the target of a redirect. Headers and tokens belong to one origin, so no other gets
    /// a request.
    fn redirected(
        &self,
        from: &Url,
        sending: &Sending,
        response: &WebResponse,
    ) -> Result<Url, ClientError> {
        let target = header(response, "location").and_then(|target| from.join(target).ok());
        let Some(target) = target else {
            return Err(ClientError::Network("a redirect without a target".to_owned()));
        };
        if target.origin() != self.server.url.origin() {
            return Err(ClientError::Redirected(target.origin().ascii_serialization()));
        }
        if sending.body.is_some() && !matches!(response.status, 307 | 308) {
            let (status, body) = (response.status, format!("redirect to {target}"));
            return Err(ClientError::Http { status, body });
        }
        Ok(target)
    }

    async fn challenged(
        &self,
        response: &WebResponse,
        token: Option<String>,
        count: usize,
    ) -> Result<(), ClientError> {
        let status = response.status;
        let refused = || format!("the server requires authorization (HTTP {status})");
        let Some(authorization) = &self.server.authorization else {
            return Err(ClientError::Unauthorized(refused()));
        };
        if count > MAX_CHALLENGES {
            return Err(ClientError::Unauthorized(format!(
                "the server refuses every token (HTTP {status})"
            )));
        }
        let names = response.headers.iter();
        let names = names.filter(|(name, _)| name.eq_ignore_ascii_case("www-authenticate"));
        let www_authenticate = names.map(|(_, value)| value.clone()).collect();
        match authorization.challenged(Challenge { status, www_authenticate, token }).await {
            Verdict::Retry => Ok(()),
            Verdict::GiveUp(reason) => Err(ClientError::Unauthorized(shown(&reason))),
        }
    }
}

/// Returns true if another token may help. A 403 without a challenge forbids the request with
/// any token.
fn is_challenge(response: &WebResponse) -> bool {
    response.status == 401 || header(response, "www-authenticate").is_some()
}

/// Returns the value of a header.
pub(super) fn header<'a>(response: &'a WebResponse, name: &str) -> Option<&'a str> {
    let mut headers = response.headers.iter();
    headers.find(|(one, _)| one.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
}
