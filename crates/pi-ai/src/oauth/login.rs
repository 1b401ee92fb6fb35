//! A login: the choice of a flow and its course.

use pi_protocol::CancelToken;

use super::error::OauthError;
use super::interaction::Interaction;
use super::service::Service;
use super::tokens::Tokens;
use crate::web::WebClient;

/// The kind of a login.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoginMethod {
    /// A browser on this machine, which returns to a port of this process.
    #[default]
    Browser,
    /// A browser anywhere: the user pastes the code, or the address to which the browser was sent.
    Paste,
    /// A code that the user enters on any device.
    Device,
}

/// Options of a login.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct LoginOptions {
    /// The kind of login; `None` for the first one that the service offers.
    pub method: Option<LoginMethod>,
    /// In a login by browser, does not also ask for a pasted code.
    pub no_paste: bool,
    /// The address on which to wait for the browser, if it differs from that of the service.
    pub callback_host: Option<String>,
    /// The id of this installation, a UUID. Created if the service needs one and there is none.
    pub host_id: Option<String>,
    /// The tokens of the former login, from which an issued client id is reused.
    pub previous: Option<Tokens>,
}

/// Signs in to a service.
pub async fn login(
    service: &Service,
    web: &WebClient,
    interaction: &dyn Interaction,
    options: LoginOptions,
    cancel: CancelToken,
) -> Result<Tokens, OauthError> {
    let _ = (service, web, interaction, options, cancel);
    Err(OauthError::Unsupported { service: "this service".to_owned(), method: "a login" })
}
