//! A login in progress: the service with its discovered endpoints, and the ways to user and server.

use super::discovery::Metadata;
use super::error::OauthError;
use super::interaction::Interaction;
use super::login::LoginOptions;
use super::service::Service;
use crate::WebClient;

/// Everything that a flow uses.
pub(super) struct Flow<'a> {
    pub(super) service: &'a Service,
    pub(super) metadata: &'a Metadata,
    pub(super) web: &'a WebClient,
    pub(super) interaction: &'a dyn Interaction,
    pub(super) options: &'a LoginOptions,
}

impl<'a> Flow<'a> {
    /// Returns an endpoint, or the error that the service lacks it for `method`.
    pub(super) fn endpoint<'b>(
        &self,
        method: &'static str,
        url: Option<&'b str>,
    ) -> Result<&'b str, OauthError> {
        url.ok_or_else(|| OauthError::Unsupported {
            service: self.service.label().to_owned(),
            method,
        })
    }

    /// Returns the configured headers of requests to the server.
    pub(super) fn headers(&self) -> Vec<(String, String)> {
        headers_of(self.service)
    }
}

/// Returns the configured headers of requests to a server.
pub(super) fn headers_of(service: &Service) -> Vec<(String, String)> {
    service.headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
}
