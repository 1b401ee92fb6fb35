//! The `oauth` group of an HTTP server.

use serde_json::{Map, Value};
use url::Url;

use super::parse::{self, Problem};

/// The way in which this program becomes known to an authorization server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ClientRegistration {
    /// A metadata document if one is configured and the server accepts it, else registration.
    #[default]
    Auto,
    /// Dynamic client registration.
    Dynamic,
    /// A metadata document only.
    MetadataDocument,
}

/// The settings of the sign-in to a server.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct OauthConfig {
    /// Id of a client that is registered already.
    pub client_id: Option<String>,
    /// Its secret; may refer to a variable or a command.
    pub client_secret: Option<String>,
    /// Port of the redirect.
    pub callback_port: Option<u16>,
    /// Redirect on this machine, sent exactly as written.
    pub callback_url: Option<String>,
    /// Scopes to request, separated by spaces.
    pub scope: Option<String>,
    /// Name with which a client is registered.
    pub client_name: Option<String>,
    /// Way of registration.
    pub registration: ClientRegistration,
    /// Address of the client metadata document to use as client id.
    pub client_metadata_url: Option<String>,
    /// Metadata document of the authorization server, instead of discovery.
    pub auth_server_metadata_url: Option<String>,
}

// Shows no secret.
pi_protocol::debug_fields!(OauthConfig, client_id, registration);

impl OauthConfig {
    pub(super) fn parse(fields: &Map<String, Value>) -> Result<Self, Problem> {
        let Some(value) = fields.get("oauth") else { return Ok(Self::default()) };
        let Value::Object(group) = value else {
            return Err(Problem::new("oauth", "expected an object"));
        };
        let text = |name: &'static str, field: &'static str| match group.get(name) {
            None => Ok(None),
            Some(Value::String(text)) if !text.trim().is_empty() => Ok(Some(text.clone())),
            Some(_) => Err(Problem::new(field, "expected a text that is not empty")),
        };
        let registration = match group.get("clientRegistration").map(Value::as_str) {
            None | Some(Some("auto")) => ClientRegistration::Auto,
            Some(Some("dcr")) => ClientRegistration::Dynamic,
            Some(Some("cimd")) => ClientRegistration::MetadataDocument,
            Some(_) => {
                let field = "oauth.clientRegistration";
                return Err(Problem::new(field, "expected \"auto\", \"dcr\" or \"cimd\""));
            }
        };
        let config = Self {
            client_id: text("clientId", "oauth.clientId")?,
            client_secret: text("clientSecret", "oauth.clientSecret")?,
            callback_port: port(group)?,
            callback_url: text("callbackUrl", "oauth.callbackUrl")?,
            scope: text("scope", "oauth.scope")?,
            client_name: text("clientName", "oauth.clientName")?,
            registration,
            client_metadata_url: text("clientMetadataUrl", "oauth.clientMetadataUrl")?,
            auth_server_metadata_url: text("authServerMetadataUrl", "oauth.authServerMetadataUrl")?,
        };
        config.check()?;
        Ok(config)
    }

    fn check(&self) -> Result<(), Problem> {
        if let Some(callback) = &self.callback_url {
            self.check_callback(callback)?;
        }
        if let Some(document) = &self.client_metadata_url {
            let is_document = |url: Url| url.scheme() == "https" && url.path() != "/";
            if !Url::parse(document).is_ok_and(is_document) {
                let problem = "expected an https URL with a path";
                return Err(Problem::new("oauth.clientMetadataUrl", problem));
            }
        }
        if let Some(document) = &self.auth_server_metadata_url
            && !Url::parse(document).is_ok_and(|url| parse::is_safe(&url))
        {
            let problem = "expected an https URL, or http on localhost, 127.0.0.1 or [::1]";
            return Err(Problem::new("oauth.authServerMetadataUrl", problem));
        }
        let has_client = self.client_id.is_some() || self.client_name.is_some();
        if self.registration == ClientRegistration::MetadataDocument && has_client {
            let problem = "\"cimd\" excludes clientId and clientName";
            return Err(Problem::new("oauth.clientRegistration", problem));
        }
        Ok(())
    }

    fn check_callback(&self, text: &str) -> Result<(), Problem> {
        let field = "oauth.callbackUrl";
        let is_plain = |url: &Url| {
            let bare = url.query().is_none() && url.fragment().is_none();
            url.scheme() == "http" && parse::is_loopback(url) && bare
        };
        let Some(url) = Url::parse(text).ok().filter(is_plain) else {
            let problem =
                "expected http on localhost, 127.0.0.1 or [::1], without query and fragment";
            return Err(Problem::new(field, problem));
        };
        if url.port().is_some_and(|port| self.callback_port.is_some_and(|other| other != port)) {
            return Err(Problem::new(field, "names another port than callbackPort"));
        }
        let documented = url.host_str() != Some("[::1]") && url.path() == "/callback";
        if self.registration == ClientRegistration::MetadataDocument && !documented {
            let problem = "\"cimd\" needs /callback on localhost or 127.0.0.1";
            return Err(Problem::new(field, problem));
        }
        Ok(())
    }
}

fn port(group: &Map<String, Value>) -> Result<Option<u16>, Problem> {
    let Some(value) = group.get("callbackPort") else { return Ok(None) };
    let port = value.as_u64().and_then(|port| u16::try_from(port).ok()).filter(|port| *port > 0);
    match port {
        Some(port) => Ok(Some(port)),
        None => Err(Problem::new("oauth.callbackPort", "expected a port number, 1 to 65535")),
    }
}
