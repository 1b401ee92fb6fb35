//! The logins of browsers: a token is exchanged for a cookie, which scripts cannot read and which
//! requests of other sites do not carry.
//!
//! A browser sends a cookie by itself, so requests that change something also need the CSRF value
//! that only the page of this server can learn.

use pi_web::http::HeaderMap;
use pi_web::http::header::{COOKIE, HeaderValue};
use pi_web::server::single;
use secrecy::{ExposeSecret as _, SecretString};

use super::tokens::{Tokens, TokensError};
use super::{Identity, secret};

/// The header with the CSRF value.
pub const CSRF_HEADER: &str = "x-pi-csrf";

/// The cookies of a server.
#[derive(Debug)]
pub struct Cookies {
    is_secure: bool,
}

/// A login that was made: the header that sets its cookie, and what the page needs.
#[derive(Debug)]
pub(crate) struct LoggedIn {
    pub(crate) cookie: HeaderValue,
    pub(crate) csrf: String,
    pub(crate) identity: Identity,
}

impl Cookies {
    /// Creates the cookies of a server; `is_secure` if browsers reach it through TLS.
    pub fn new(is_secure: bool) -> Self {
        Self { is_secure }
    }

    /// Returns the name of the cookie. With the prefix, browsers take it from this host through TLS
    /// only, and never from a subdomain.
    fn name(&self) -> &'static str {
        if self.is_secure { "__Host-pi_session" } else { "pi_session" }
    }

    /// Exchanges a token for a cookie; `None` if the token is not valid.
    pub(crate) fn log_in(
        &self,
        tokens: &Tokens,
        token: &str,
    ) -> Result<Option<LoggedIn>, TokensError> {
        let Some(login) = tokens.log_in(token)? else { return Ok(None) };
        let age = login.identity.expires.map_or(0, |expires| {
            expires.as_second().saturating_sub(jiff::Timestamp::now().as_second()).max(0)
        });
        let Some(cookie) = self.header(login.cookie.expose_secret(), age) else { return Ok(None) };
        let csrf = secret::csrf(&login.cookie);
        Ok(Some(LoggedIn { cookie, csrf, identity: login.identity }))
    }

    /// Ends the login of a request.
    pub(crate) fn log_out(&self, tokens: &Tokens, headers: &HeaderMap) -> Result<(), TokensError> {
        match self.value(headers) {
            Some(cookie) => tokens.log_out(cookie.expose_secret()),
            None => Ok(()),
        }
    }

    /// Returns the header that removes the cookie.
    pub(crate) fn removal(&self) -> Option<HeaderValue> {
        self.header("", 0)
    }

    /// Returns the cookie of a request.
    pub(crate) fn value(&self, headers: &HeaderMap) -> Option<SecretString> {
        let mut found = None;
        for header in headers.get_all(COOKIE) {
            for pair in header.to_str().ok()?.split(';') {
                let Some((name, value)) = pair.split_once('=') else { continue };
                if name.trim() == self.name() {
                    // Two of them: one is of another server or of an attacker.
                    if found.is_some() {
                        return None;
                    }
                    found = Some(value.trim().to_owned().into());
                }
            }
        }
        found
    }

    /// Returns the sender of a request with a cookie.
    pub(crate) fn identify(
        &self,
        tokens: &Tokens,
        cookie: &SecretString,
    ) -> Result<Option<Identity>, TokensError> {
        tokens.identify_login(cookie.expose_secret())
    }

    /// Returns the CSRF value of a cookie.
    pub(crate) fn csrf(&self, cookie: &SecretString) -> String {
        secret::csrf(cookie)
    }

    /// Returns true if a request has the CSRF value of its cookie.
    pub(crate) fn has_csrf(&self, headers: &HeaderMap, cookie: &SecretString) -> bool {
        let given = single(headers, CSRF_HEADER);
        given.is_some_and(|given| secret::is_equal(given, &secret::csrf(cookie)))
    }

    fn header(&self, value: &str, age: i64) -> Option<HeaderValue> {
        let (name, secure) = (self.name(), if self.is_secure { "; Secure" } else { "" });
        let text =
            format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={age}{secure}");
        let mut header = HeaderValue::from_str(&text).ok()?;
        header.set_sensitive(true);
        Some(header)
    }
}
