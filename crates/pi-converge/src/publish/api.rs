//! Sends requests to the API of a server.

use std::sync::Arc;
use std::time::Duration;

use pi_agent::CancelToken;
use pi_config::Environment;
use pi_guard::secrets::Secrets;
use pi_web::{WebBody, WebClient, WebRequest};
use serde_json::Value;

use super::PublishError;
use super::request::{ApiRequest, message};
use super::server::Server;

/// Time limit of one request.
const PATIENCE: Duration = Duration::from_secs(60);
/// Bytes of an answer that are read.
const ANSWER: usize = 8 * 1024 * 1024;

/// The API of a server.
#[derive(Debug)]
pub(super) struct Api<'a> {
    server: &'a Server,
    client: WebClient,
    secrets: &'a Secrets,
    cancel: &'a CancelToken,
    user_agent: String,
}

impl<'a> Api<'a> {
    pub(super) fn new(
        server: &'a Server,
        environment: &Environment,
        proxy: Option<String>,
        secrets: &'a Secrets,
        cancel: &'a CancelToken,
    ) -> Self {
        let variables = Arc::clone(&environment.variables);
        let mut client = WebClient::new(Arc::new(move |name| variables.get(name).cloned()));
        client.set_proxy(proxy);
        Self { server, client, secrets, cancel, user_agent: pi_web::user_agent() }
    }

    /// Sends a request. Returns the answer of a success.
    pub(super) async fn send(&self, request: ApiRequest) -> Result<Value, PublishError> {
        let purpose = request.purpose;
        let sent = tokio::select! {
            sent = tokio::time::timeout(PATIENCE, self.exchange(request)) => sent,
            () = self.cancel.cancelled() => return Err(PublishError::Interrupted),
        };
        let failed = |status: Option<u16>, message: String| {
            let message = self.secrets.redact_known(&message).into_owned();
            PublishError::Api { purpose, status, message }
        };
        let (status, body) = match sent {
            Ok(Ok(answer)) => answer,
            Ok(Err(problem)) => return Err(failed(None, problem)),
            Err(_) => return Err(failed(None, "the server did not answer in time".to_owned())),
        };
        let answer = serde_json::from_slice::<Value>(&body);
        match answer {
            Ok(answer) if (200..300).contains(&status) => Ok(answer),
            Ok(answer) => Err(failed(Some(status), message(&answer))),
            Err(_) => Err(failed(Some(status), "the answer is not JSON".to_owned())),
        }
    }

    async fn exchange(&self, request: ApiRequest) -> Result<(u16, Vec<u8>), String> {
        let mut headers = self.server.headers();
        headers.push(("user-agent".to_owned(), self.user_agent.clone()));
        let body = match request.body {
            Some(body) => {
                headers.push(("content-type".to_owned(), "application/json".to_owned()));
                WebBody::Bytes(body.to_string().into_bytes())
            }
            None => WebBody::Empty,
        };
        let (method, url) = (request.method.to_owned(), request.url);
        let sent = self.client.send(WebRequest { method, url, headers, body }).await;
        let mut response = sent.map_err(|error| error.to_string())?;
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| error.to_string())? {
            body.extend(chunk);
            if body.len() > ANSWER {
                return Err("the answer is too long".to_owned());
            }
        }
        Ok((response.status, body))
    }
}
