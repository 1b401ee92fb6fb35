//! Control interfaces of the peers: small JSON requests beside the conversations.

use std::sync::Arc;

use pi_web::{WebBody, WebClient, WebRequest};
use serde_json::Value;

/// Sends a GET request and returns the JSON of the response.
pub(crate) async fn get(url: &str) -> Result<Value, String> {
    answer("GET", url, Vec::new(), WebBody::Empty).await
}

/// Sends JSON in a POST request and returns the JSON of the response.
pub(crate) async fn post(url: &str, body: &Value) -> Result<Value, String> {
    let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    answer("POST", url, headers, WebBody::Bytes(body.to_string().into_bytes())).await
}

async fn answer(
    method: &str,
    url: &str,
    headers: Vec<(String, String)>,
    body: WebBody,
) -> Result<Value, String> {
    let request = WebRequest { method: method.to_owned(), url: url.to_owned(), headers, body };
    let response = WebClient::new(Arc::new(|_: &str| None)).send(request).await;
    let mut response = response.map_err(|error| error.to_string())?;
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| error.to_string())? {
        body.extend_from_slice(&chunk);
    }
    if !(200..300).contains(&response.status) {
        return Err(format!("{}: {}", response.status, String::from_utf8_lossy(&body)));
    }
    serde_json::from_slice(&body).map_err(|error| error.to_string())
}
