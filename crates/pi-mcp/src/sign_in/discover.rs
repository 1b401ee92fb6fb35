//! The authorization server of an MCP server.

use std::time::Duration;

use pi_web::oauth::{
    Challenge, Metadata, OauthError, ResourceMetadata, discover, discover_at, discover_resource,
};
use pi_web::{WebBody, WebClient, WebRequest};
use tokio::time::timeout;
use url::Url;

use super::settings::Settings;

/// Longest time of a probe.
const PROBE_TIMEOUT: Duration = Duration::from_secs(15);

/// The authorization server and the resource of a sign-in.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) metadata: Metadata,
    pub(super) resource: String,
    pub(super) scopes: Vec<String>,
}

/// Finds the authorization server of an MCP server.
pub(super) async fn target(
    web: &WebClient,
    server: &Url,
    settings: &Settings,
    challenge: Option<&Challenge>,
) -> Result<Target, OauthError> {
    let found = discover_resource(web, server.as_str(), challenge).await;
    if let Some(document) = &settings.auth_server_metadata_url {
        let metadata = discover_at(web, document).await?;
        let (resource, scopes) = found.map_or_else(
            |_| (canonical(server), Vec::new()),
            |found| (found.resource, found.scopes),
        );
        return Ok(Target { metadata, resource, scopes });
    }
    match found {
        Ok(ResourceMetadata { resource, authorization_servers, scopes, .. }) => {
            let issuer = authorization_servers.first().map(String::as_str).unwrap_or_default();
            let metadata = discover(web, issuer).await?;
            Ok(Target { metadata, resource, scopes })
        }
        // Servers before June 2025 publish no metadata of their own: their origin is the issuer.
        Err(OauthError::Answer { .. }) => {
            let metadata = at_origin(web, server).await?;
            Ok(Target { metadata, resource: canonical(server), scopes: Vec::new() })
        }
        Err(error) => Err(error),
    }
}

/// Reads the metadata of the server's origin, or assumes the endpoints that the revision of March
/// 2025 prescribes.
async fn at_origin(web: &WebClient, server: &Url) -> Result<Metadata, OauthError> {
    let origin = server.origin().ascii_serialization();
    match discover(web, &origin).await {
        Err(OauthError::Answer { .. }) => {
            let at = |path: &str| Some(format!("{origin}{path}"));
            let mut metadata = Metadata::default();
            metadata.issuer.clone_from(&origin);
            metadata.authorize_url = at("/authorize");
            metadata.token_url = at("/token");
            metadata.registration_url = at("/register");
            metadata.challenge_methods = Some(vec!["S256".to_owned()]);
            Ok(metadata)
        }
        found => found,
    }
}

/// Returns the URL of a server as a resource indicator: without fragment, and without the slash of
/// an empty path.
fn canonical(server: &Url) -> String {
    let mut url = server.clone();
    url.set_fragment(None);
    let text = url.to_string();
    if url.path() == "/" && url.query().is_none() {
        return text.trim_end_matches('/').to_owned();
    }
    text
}

/// Asks a server without a token, to learn its challenge. `None` if it does not refuse, or cannot be
/// reached.
pub async fn probe(web: &WebClient, server: &Url) -> Option<Challenge> {
    let body = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#.to_vec();
    let headers =
        [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
    let request = WebRequest {
        method: "POST".to_owned(),
        url: server.to_string(),
        headers: headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
        body: WebBody::Bytes(body),
    };
    let response = timeout(PROBE_TIMEOUT, web.send(request)).await.ok()?.ok()?;
    let refused = matches!(response.status, 401 | 403);
    let values = response.headers.iter().filter(|(name, _)| name == "www-authenticate");
    values.filter(|_| refused).find_map(|(_, value)| Challenge::read(value))
}
