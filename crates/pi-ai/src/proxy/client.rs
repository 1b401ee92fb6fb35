//! The client side of the proxy: a provider that asks a server instead of the model.

use std::sync::Arc;

use pi_protocol::{AssistantStream, CancelToken, Provider, Request};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::decode::ProxyDecoder;
use super::request::write_request;
use crate::http::{Exchange, Failure, HttpClient, HttpSource, open};
use crate::wire::{Headers, HttpFailure, HttpRequest};

/// Asks a proxy server, which has the keys.
#[derive(Debug, Clone)]
pub struct Proxy {
    http: HttpClient,
    url: Arc<str>,
    token: SecretString,
}

impl Proxy {
    /// The server at `url`, which knows its users by `token`.
    pub fn new(url: &str, token: impl Into<String>) -> Self {
        Self {
            http: HttpClient::default(),
            url: format!("{}/api/stream", url.trim_end_matches('/')).into(),
            token: SecretString::from(token.into()),
        }
    }
}

impl Provider for Proxy {
    fn stream(&self, request: Request, cancel: CancelToken) -> AssistantStream {
        let mut headers = Headers::new();
        headers.set("Authorization", format!("Bearer {}", self.token.expose_secret()));
        let wire =
            HttpRequest { url: self.url.to_string(), headers, body: write_request(&request) };
        let http = self.http.clone();
        let options = request.options.clone();
        let source = HttpSource::new(options.timeouts.clone(), async move {
            match open(&http, &wire, &options).await {
                Ok(opened) => Ok(Exchange {
                    opened,
                    decoder: Box::new(ProxyDecoder::new()),
                    diagnostics: Vec::new(),
                }),
                Err(failure) => Err(failure_text(failure)),
            }
        });
        AssistantStream::new(&request.model, source, cancel)
    }
}

fn failure_text(failure: Failure) -> String {
    let failure = match failure {
        Failure::Text(text) => return text,
        Failure::Status(failure) | Failure::PauseTooLong { failure, .. } => failure,
    };
    let HttpFailure { status, body } = &failure;
    let json: Option<Value> = serde_json::from_str(body).ok();
    match json.as_ref().and_then(|json| json.get("error")) {
        Some(Value::String(error)) => format!("Proxy error: {error}"),
        Some(error) => format!("Proxy error: {error}"),
        None => {
            let reason = reqwest::StatusCode::from_u16(*status).ok();
            let reason = reason.and_then(|status| status.canonical_reason()).unwrap_or_default();
            format!("Proxy error: {status} {reason}")
        }
    }
}
