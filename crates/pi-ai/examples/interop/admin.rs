//! Control interfaces of the peers: small JSON requests beside the conversations.

use serde_json::Value;

/// Sends a GET request and returns the JSON of the response.
pub(crate) async fn get(url: &str) -> Result<Value, String> {
    answer(client()?.get(url)).await
}

/// Sends JSON in a POST request and returns the JSON of the response.
pub(crate) async fn post(url: &str, body: &Value) -> Result<Value, String> {
    let request = client()?.post(url).header("content-type", "application/json");
    answer(request.body(body.to_string())).await
}

fn client() -> Result<reqwest::Client, String> {
    // As in pi-ai itself: reqwest is built without a default TLS provider and requires one even
    // for plain HTTP. The call fails only if a provider is already installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().build().map_err(|error| error.to_string())
}

async fn answer(request: reqwest::RequestBuilder) -> Result<Value, String> {
    let response = request.send().await.map_err(|error| error.to_string())?;
    let status = response.status();
    let body = response.bytes().await.map_err(|error| error.to_string())?;
    if !status.is_success() {
        return Err(format!("{status}: {}", String::from_utf8_lossy(&body)));
    }
    serde_json::from_slice(&body).map_err(|error| error.to_string())
}
