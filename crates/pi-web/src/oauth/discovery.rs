//! Discovery: the metadata of authorization servers (RFC 8414, OpenID) and of protected resources
//! (RFC 9728).

use serde_json::{Map, Value};
use url::Url;

use super::challenge::Challenge;
use super::endpoint::{self, checked, checked_from, host_of};
use super::error::OauthError;
use super::service::{Dialect, Service};
use crate::WebClient;

/// The metadata of an authorization server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metadata {
    /// The issuer.
    pub issuer: String,
    /// The page on which the user consents.
    pub authorize_url: Option<String>,
    /// The endpoint that issues tokens.
    pub token_url: Option<String>,
    /// The endpoint that starts a device flow.
    pub device_url: Option<String>,
    /// The endpoint that registers clients.
    pub registration_url: Option<String>,
    /// The endpoint that revokes tokens.
    pub revoke_url: Option<String>,
    /// The keys that sign ID tokens.
    pub jwks_url: Option<String>,
    /// Methods of proof keys; `None` if the server does not name them.
    pub challenge_methods: Option<Vec<String>>,
    /// Methods of client authentication; `None` if the server does not name them.
    pub auth_methods: Option<Vec<String>>,
    /// The authorization page names the issuer in its answer (RFC 9207).
    pub sends_issuer: bool,
    /// The server accepts the address of a metadata document as client id.
    pub accepts_metadata_documents: bool,
    /// Scopes of the server; `None` if it does not name them.
    pub scopes: Option<Vec<String>>,
}

impl Metadata {
    /// Returns true if the secret of a client belongs into a header: the server names that method
    /// and not the one of a parameter.
    pub fn prefers_basic(&self) -> bool {
        self.auth_methods.as_ref().is_some_and(|methods| {
            let has = |name: &str| methods.iter().any(|method| method == name);
            has("client_secret_basic") && !has("client_secret_post")
        })
    }
}

/// The metadata of a protected resource, such as an MCP server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResourceMetadata {
    /// The resource, for which tokens are requested.
    pub resource: String,
    /// Issuers of the authorization servers, at least one.
    pub authorization_servers: Vec<String>,
    /// Scopes of the resource.
    pub scopes: Vec<String>,
}

/// Reads the metadata of an issuer.
pub async fn discover(web: &WebClient, issuer: &str) -> Result<Metadata, OauthError> {
    let url = checked(issuer)?;
    let mut first = None;
    for candidate in candidates(&url) {
        match read_object(web, &candidate).await {
            Ok(Some(object)) => return metadata(&object, issuer, &url),
            Ok(None) => {}
            // One of the addresses may be refused although another one works.
            Err(error @ OauthError::Connection { .. }) => return Err(error),
            Err(error) => first = first.or(Some(error)),
        }
    }
    Err(first.unwrap_or_else(|| OauthError::Answer {
        host: host_of(&url),
        problem: "it publishes no metadata of an authorization server".to_owned(),
    }))
}

/// Reads the metadata of an authorization server at an address that the user has configured. The
/// document names its issuer itself.
pub async fn discover_at(web: &WebClient, document: &str) -> Result<Metadata, OauthError> {
    let url = checked(document)?;
    let found = read_object(web, &url).await?;
    let Some(object) = found else {
        let problem = format!("there is no metadata at {}", url.path());
        return Err(OauthError::Answer { host: host_of(&url), problem });
    };
    let issuer = object.get("issuer").and_then(Value::as_str).unwrap_or_default().to_owned();
    metadata(&object, &issuer, &url)
}

/// Reads the metadata of a protected resource. `challenge` is the one of its refusal, which may
/// name the address of the metadata.
pub async fn discover_resource(
    web: &WebClient,
    resource: &str,
    challenge: Option<&Challenge>,
) -> Result<ResourceMetadata, OauthError> {
    let url = checked(resource)?;
    let named = challenge.and_then(|challenge| challenge.resource_metadata.as_deref());
    let candidates = match named {
        Some(named) => vec![checked_from(&url, named)?],
        None => well_known(&url, "oauth-protected-resource"),
    };
    for candidate in &candidates {
        if let Some(object) = read_object(web, candidate).await? {
            return resource_metadata(&object, &url);
        }
    }
    Err(OauthError::Answer {
        host: host_of(&url),
        problem: "it publishes no metadata of a protected resource".to_owned(),
    })
}

/// Completes a service by discovery if it needs that.
pub(super) async fn complete(
    web: &WebClient,
    service: &Service,
    known: Option<&Metadata>,
) -> Result<(Service, Metadata), OauthError> {
    let mut service = service.clone();
    if let Some(known) = known {
        fill(&mut service, known);
        return Ok((service, known.clone()));
    }
    let Some(issuer) = service.issuer.clone() else { return Ok((service, Metadata::default())) };
    if service.dialect == Some(Dialect::Gateway) {
        super::gateway::complete(web, &issuer, &mut service).await?;
        return Ok((service, Metadata::default()));
    }
    if service.token_url.is_some() {
        let metadata = Metadata { issuer, ..Metadata::default() };
        return Ok((service, metadata));
    }
    let found = discover(web, &issuer).await?;
    fill(&mut service, &found);
    Ok((service, found))
}

/// Sets the endpoints of a service that are not configured.
fn fill(service: &mut Service, found: &Metadata) {
    let fill = |field: &mut Option<String>, value: &Option<String>| {
        if field.is_none() {
            field.clone_from(value);
        }
    };
    fill(&mut service.authorize_url, &found.authorize_url);
    fill(&mut service.token_url, &found.token_url);
    fill(&mut service.device_url, &found.device_url);
    fill(&mut service.registration_url, &found.registration_url);
    fill(&mut service.revoke_url, &found.revoke_url);
    fill(&mut service.jwks_url, &found.jwks_url);
}

/// The addresses of the metadata of an issuer, in the order of RFC 8414 and OpenID Discovery.
fn candidates(issuer: &Url) -> Vec<Url> {
    let mut all = well_known(issuer, "oauth-authorization-server");
    all.truncate(1);
    let mut openid = well_known(issuer, "openid-configuration");
    openid.truncate(1);
    all.extend(openid);
    let path = issuer.path().trim_end_matches('/');
    if !path.is_empty() {
        let mut appended = issuer.clone();
        appended.set_path(&format!("{path}/.well-known/openid-configuration"));
        all.push(appended);
    }
    all
}

/// Inserts a well-known path before the path of a URL, and also returns the one without that path.
fn well_known(url: &Url, name: &str) -> Vec<Url> {
    let path = url.path().trim_end_matches('/');
    let at = |path: &str| {
        let mut at = url.clone();
        at.set_path(&format!("/.well-known/{name}{path}"));
        at.set_query(None);
        at.set_fragment(None);
        at
    };
    let mut all = vec![at(path)];
    if !path.is_empty() {
        all.push(at(""));
    }
    all
}

/// Reads an object; `None` if there is none at this address.
async fn read_object(web: &WebClient, url: &Url) -> Result<Option<Map<String, Value>>, OauthError> {
    let reply = endpoint::get(web, url.as_str(), &[]).await?;
    if matches!(reply.status, 400..=499) {
        return Ok(None);
    }
    reply.success().map(Some)
}

fn metadata(object: &Map<String, Value>, issuer: &str, url: &Url) -> Result<Metadata, OauthError> {
    let text = |name: &str| Some(object.get(name)?.as_str()?.to_owned());
    let named = text("issuer").unwrap_or_default();
    // Another issuer would be impersonated (RFC 8414, section 3.3).
    if named.trim_end_matches('/') != issuer.trim_end_matches('/') {
        let named = super::text::clean(&named);
        return Err(OauthError::Untrusted(format!(
            "the metadata of {} is that of another issuer, \"{named}\"",
            host_of(url)
        )));
    }
    let endpoint = |name: &str| match text(name) {
        Some(named) => checked_from(url, &named).map(|_| Some(named)),
        None => Ok(None),
    };
    let list = |name: &str| strings(object.get(name));
    let flag = |name: &str| object.get(name).and_then(Value::as_bool).unwrap_or(false);
    Ok(Metadata {
        issuer: named,
        authorize_url: endpoint("authorization_endpoint")?,
        token_url: endpoint("token_endpoint")?,
        device_url: endpoint("device_authorization_endpoint")?,
        registration_url: endpoint("registration_endpoint")?,
        revoke_url: endpoint("revocation_endpoint")?,
        jwks_url: endpoint("jwks_uri")?,
        challenge_methods: list("code_challenge_methods_supported"),
        auth_methods: list("token_endpoint_auth_methods_supported"),
        sends_issuer: flag("authorization_response_iss_parameter_supported"),
        accepts_metadata_documents: flag("client_id_metadata_document_supported"),
        scopes: list("scopes_supported"),
    })
}

fn resource_metadata(
    object: &Map<String, Value>,
    url: &Url,
) -> Result<ResourceMetadata, OauthError> {
    let resource = object.get("resource").and_then(Value::as_str).unwrap_or_default();
    // The tokens would be for another server (RFC 9728, section 3.3).
    if !covers(resource, url) {
        let resource = super::text::clean(resource);
        return Err(OauthError::Untrusted(format!(
            "the metadata of {} is that of another resource, \"{resource}\"",
            host_of(url)
        )));
    }
    let authorization_servers =
        strings(object.get("authorization_servers")).filter(|servers| !servers.is_empty());
    let Some(authorization_servers) = authorization_servers else {
        let problem = "its metadata names no authorization server".to_owned();
        return Err(OauthError::Answer { host: host_of(url), problem });
    };
    for server in &authorization_servers {
        checked_from(url, server)?;
    }
    let scopes = strings(object.get("scopes_supported")).unwrap_or_default();
    Ok(ResourceMetadata { resource: resource.to_owned(), authorization_servers, scopes })
}

/// Returns true if `url` is the resource or below it.
fn covers(resource: &str, url: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else { return false };
    let (parent, path) = (resource.path().trim_end_matches('/'), url.path());
    let is_below =
        path.strip_prefix(parent).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    resource.origin() == url.origin() && is_below
}

fn strings(value: Option<&Value>) -> Option<Vec<String>> {
    let list = value?.as_array()?;
    Some(list.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_addresses_of_metadata_follow_the_standards() {
        let at = |url: &str| -> Vec<String> {
            candidates(&Url::parse(url).unwrap()).iter().map(Url::to_string).collect()
        };
        assert_eq!(
            at("https://a.example"),
            [
                "https://a.example/.well-known/oauth-authorization-server",
                "https://a.example/.well-known/openid-configuration"
            ]
        );
        assert_eq!(
            at("https://a.example/tenant/"),
            [
                "https://a.example/.well-known/oauth-authorization-server/tenant",
                "https://a.example/.well-known/openid-configuration/tenant",
                "https://a.example/tenant/.well-known/openid-configuration"
            ]
        );
        let resource = Url::parse("https://a.example/mcp?x=1").unwrap();
        let resource: Vec<String> =
            well_known(&resource, "oauth-protected-resource").iter().map(Url::to_string).collect();
        assert_eq!(
            resource,
            [
                "https://a.example/.well-known/oauth-protected-resource/mcp",
                "https://a.example/.well-known/oauth-protected-resource"
            ]
        );
    }

    #[test]
    fn only_servers_of_this_machine_point_to_it() {
        let json = |text: &str| match serde_json::from_str(text) {
            Ok(Value::Object(object)) => object,
            other => panic!("{other:?}"),
        };
        let local = ["http://127.0.0.1:9/x", "https://localhost/x", "https://[::1]/x"];
        for (server, is_allowed) in
            [("https://a.example", false), ("http://localhost:3000", true), ("https://[::1]", true)]
        {
            let url = Url::parse(server).unwrap();
            for target in local {
                let object =
                    json(&format!(r#"{{"issuer": "{server}", "token_endpoint": "{target}"}}"#));
                assert_eq!(
                    metadata(&object, server, &url).is_ok(),
                    is_allowed,
                    "{server} {target}"
                );
                let object = json(&format!(
                    r#"{{"resource": "{server}", "authorization_servers": ["{target}"]}}"#
                ));
                assert_eq!(
                    resource_metadata(&object, &url).is_ok(),
                    is_allowed,
                    "{server} {target}"
                );
                assert_eq!(checked_from(&url, target).is_ok(), is_allowed, "{server} {target}");
            }
            assert!(checked_from(&url, "https://auth.example").is_ok());
        }
    }

    #[test]
    fn a_resource_covers_only_what_is_below_it() {
        let url = Url::parse("https://a.example/mcp/x").unwrap();
        for (resource, expected) in [
            ("https://a.example/mcp/x", true),
            ("https://a.example/mcp", true),
            ("https://a.example/", true),
            ("https://a.example/mc", false),
            ("https://a.example/other", false),
            ("https://b.example/mcp/x", false),
            ("http://a.example/mcp/x", false),
            ("", false),
        ] {
            assert_eq!(covers(resource, &url), expected, "{resource}");
        }
    }
}
