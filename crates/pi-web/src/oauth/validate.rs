//! Checks of the description of a service, before anything is sent.

use url::Url;

use super::error::ServiceError;
use super::service::{Dialect, Service, TokenUse};

impl Service {
    /// Checks everything that can be checked without a request.
    pub fn validate(&self) -> Result<(), ServiceError> {
        for (field, url) in [
            ("issuer", &self.issuer),
            ("authorizeUrl", &self.authorize_url),
            ("tokenUrl", &self.token_url),
            ("deviceUrl", &self.device_url),
            ("registrationUrl", &self.registration_url),
            ("revokeUrl", &self.revoke_url),
            ("jwksUrl", &self.jwks_url),
            ("exchangeUrl", &self.exchange_url),
            ("clientMetadataUrl", &self.client_metadata_url),
            ("pasteRedirectUrl", &self.paste_redirect_url),
        ] {
            if let Some(url) = url {
                check_url(field, url)?;
            }
        }
        if self.issuer.is_none() {
            if self.token_url.is_none() {
                let message = "the service needs an `issuer` or a `tokenUrl`";
                return Err(ServiceError::Missing(message.to_owned()));
            }
            if self.authorize_url.is_none() && self.device_url.is_none() {
                let message = "the service needs an `authorizeUrl` or a `deviceUrl`";
                return Err(ServiceError::Missing(message.to_owned()));
            }
        }
        let exchanges = matches!(self.dialect, Some(Dialect::Copilot | Dialect::Meta));
        if exchanges && self.exchange_url.is_none() {
            return Err(ServiceError::Missing("the service needs an `exchangeUrl`".to_owned()));
        }
        if let Some(name) = self.fields.keys().find(|name| !FIELDS.contains(&name.as_str())) {
            return Err(ServiceError::Field {
                field: "fields",
                problem: format!("has no field \"{name}\": expected {}", FIELDS.join(", ")),
            });
        }
        if let Some(TokenUse::Header(name)) = &self.token_use
            && !is_header_name(name)
        {
            let problem = format!("names an invalid header \"{name}\"");
            return Err(ServiceError::Field { field: "tokenUse", problem });
        }
        if let Some(name) = self.headers.keys().find(|name| !is_header_name(name)) {
            let problem = format!("names an invalid header \"{name}\"");
            return Err(ServiceError::Field { field: "headers", problem });
        }
        self.check_redirect()
    }

    fn check_redirect(&self) -> Result<(), ServiceError> {
        let invalid = |problem: &str| {
            Err(ServiceError::Field { field: "redirect", problem: problem.to_owned() })
        };
        let Some(redirect) = &self.redirect else { return Ok(()) };
        if !is_loopback(&redirect.host) {
            return invalid("must be on this machine: use localhost, 127.0.0.1 or [::1] as host");
        }
        let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"?#\"<>".contains(&byte);
        if !redirect.path.starts_with('/') || !redirect.path.bytes().all(is_plain) {
            return invalid("needs a path that begins with a slash");
        }
        if redirect.fixed && redirect.ports.is_empty() {
            return invalid("is fixed but has no ports");
        }
        Ok(())
    }
}

/// The fields of a token response that can have another name.
const FIELDS: [&str; 3] = ["access", "refresh", "expires"];

fn check_url(field: &'static str, text: &str) -> Result<(), ServiceError> {
    let invalid = |problem: String| Err(ServiceError::Url { field, problem });
    match Url::parse(text) {
        Err(error) => invalid(format!("\"{text}\" is not a URL ({error})")),
        Ok(url) if !is_safe(&url) => {
            invalid(format!("\"{text}\" must be https, or http on this machine"))
        }
        Ok(url) if !url.username().is_empty() || url.password().is_some() => {
            // The text is not quoted: it contains a password.
            invalid("it must not contain a user name or a password".to_owned())
        }
        Ok(_) => Ok(()),
    }
}

/// Returns true for URLs to which secrets may be sent: encrypted, or on this machine.
pub(super) fn is_safe(url: &Url) -> bool {
    match url.scheme() {
        "https" => true,
        "http" => url.host_str().is_some_and(is_loopback),
        _ => false,
    }
}

fn is_loopback(host: &str) -> bool {
    if host.eq_ignore_ascii_case("localhost") {
        return true;
    }
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn is_header_name(name: &str) -> bool {
    http::HeaderName::from_bytes(name.as_bytes()).is_ok()
}
