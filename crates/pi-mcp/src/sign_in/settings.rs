//! The user's settings of a sign-in.

use pi_web::oauth::Redirect;
use url::Url;

/// The way in which this program becomes known to an authorization server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Registration {
    /// The metadata document if there is one and the server accepts it, else registration.
    #[default]
    Auto,
    /// Dynamic registration.
    Dynamic,
    /// The metadata document only.
    MetadataDocument,
}

/// The settings of a sign-in. References to variables and commands are resolved already.
#[derive(Clone, Default)]
pub struct Settings {
    /// Id of a client that is registered already.
    pub client_id: Option<String>,
    /// Secret of the registered client.
    pub client_secret: Option<String>,
    /// Port of the browser's return.
    pub callback_port: Option<u16>,
    /// Address of the browser's return, on this machine.
    pub callback_url: Option<Url>,
    /// Scopes to request, in addition to those that the server asks for later.
    pub scopes: Vec<String>,
    /// Name with which a client is registered.
    pub client_name: Option<String>,
    /// Way of registration.
    pub registration: Registration,
    /// Address of the metadata document that serves as client id.
    pub client_metadata_url: Option<String>,
    /// Metadata document of the authorization server, instead of discovery.
    pub auth_server_metadata_url: Option<String>,
}

// Omits secrets from the output.
pi_protocol::debug_fields!(Settings, client_id, registration);

impl Settings {
    /// Returns the address of the browser's return. `former` is the port of the last sign-in, with
    /// which a registered client can be used again.
    pub(super) fn redirect(&self, former: Option<u16>) -> Redirect {
        let mut redirect = Redirect::default();
        let mut port = self.callback_port;
        if let Some(url) = &self.callback_url {
            redirect.host = url.host_str().unwrap_or("127.0.0.1").to_owned();
            redirect.path = url.path().to_owned();
            port = url.port().or(port);
        }
        redirect.fixed = port.is_some();
        redirect.ports = port.or(former).into_iter().collect();
        redirect
    }
}
