//! Renewal of logins, once for all processes.
//!
//! A server may replace the refresh token with each renewal and end the login if the old one is
//! used again. So a renewal takes the lock of `auth.json`, looks whether another process was faster,
//! sends one request, and stores the result before it releases the lock. The caller may stop waiting
//! for the lock, but a renewal that has begun runs to its end in a task of its own.

use std::sync::Arc;
use std::time::Duration;

use pi_config::{AuthEdit, ConfigError};
use pi_web::oauth::{self, RefreshError};
use secrecy::{ExposeSecret, SecretString};

use super::logins::LoginService;
use super::{ModelRegistry, Shared};
use crate::accounts::CredentialName;
use crate::credential_error::{CredentialError, sign_in_again};
use crate::tokens::{Login, now};

/// The time limit of a renewal.
const TIMEOUT: Duration = Duration::from_secs(15);
/// The number of attempts to store renewed tokens.
const ATTEMPTS: u32 = 3;

/// The reason to renew a login.
#[derive(Debug, Clone)]
pub(crate) enum Need {
    /// The usual margin before the expiry.
    Margin,
    /// At least this time, in milliseconds, must remain.
    Remaining(f64),
    /// The provider has rejected this access token.
    Rejected(SecretString),
}

impl Need {
    /// Returns true if the login must be renewed. `start` is the time of the request: tokens that
    /// were issued since then are as new as they can be.
    fn applies_to(&self, login: &Login, start: f64) -> bool {
        let remaining = login.expires - now();
        match self {
            Self::Rejected(token) => token.expose_secret() == login.access,
            _ if login.is_issued_since(start) => false,
            Self::Margin => remaining < login.margin(),
            Self::Remaining(least) => remaining < least.max(login.margin()),
        }
    }
}

impl ModelRegistry {
    /// Waits for a renewal that has begun, so that the process does not end between the answer of
    /// the server and the write.
    pub async fn finish_renewal(&self) {
        let _ = tokio::time::timeout(TIMEOUT, self.shared.renewal.lock()).await;
    }
}

impl Shared {
    /// Returns the login, renewed if there is a need.
    pub(crate) async fn fresh_login(
        self: &Arc<Self>,
        name: &CredentialName,
        login: Login,
        need: Need,
    ) -> Result<Login, CredentialError> {
        let start = now();
        if !need.applies_to(&login, start) {
            return Ok(login);
        }
        let is_usable = !matches!(need, Need::Rejected(_)) && !login.is_expired();
        if let Err(error) = self.check_renewal(name, &login) {
            return if is_usable { Ok(login) } else { Err(error) };
        }
        let service = self.service_of(name, &login).await?;
        // Requests of this process wait here, and not for the file.
        let turn = Arc::clone(&self.renewal).lock_owned().await;
        let key = name.to_string();
        let current = || self.store.look_up(&key).ok().flatten().and_then(Login::of);
        let is_done = |login: &Login| !need.applies_to(login, start);
        let lock = self.store.lock(|_| current().is_some_and(|login| is_done(&login))).await;
        let Some(lock) = lock.map_err(|error| not_renewed(name, &error))? else {
            return current().ok_or_else(|| self.signed_out(name));
        };
        let (shared, own_name) = (Arc::clone(self), name.clone());
        let renewal = tokio::spawn(async move {
            let edit = shared.store.edit_locked(lock);
            let edit = edit.map_err(|error| not_renewed(&own_name, &error))?;
            let renewed = shared.renew(edit, &own_name, &service, &need, start).await;
            drop(turn);
            renewed
        });
        let stopped = |_| Err(self.ended(name, None, "its renewal was stopped"));
        renewal.await.unwrap_or_else(stopped)
    }

    /// Renews the login under the lock.
    async fn renew(
        &self,
        mut edit: AuthEdit<'_>,
        name: &CredentialName,
        service: &LoginService,
        need: &Need,
        start: f64,
    ) -> Result<Login, CredentialError> {
        let key = name.to_string();
        let stored = edit.get(&key).map_err(|error| not_renewed(name, &error))?;
        let login = stored.and_then(Login::of).ok_or_else(|| self.signed_out(name))?;
        if !need.applies_to(&login, start) {
            return Ok(login);
        }
        let was_interrupted = login.was_interrupted();
        // Added before an error can quote them.
        self.secrets().add(login.secrets());
        let redacted = |reason: String| self.secrets().redact_known(&reason).into_owned();
        // From here on the server may know a newer token than the file.
        edit.set(&key, &login.marked().stored()).map_err(|error| not_renewed(name, &error))?;
        let renewed = tokio::time::timeout(TIMEOUT, self.request(service, &login)).await;
        let renewed = renewed.unwrap_or_else(|_| {
            let seconds = TIMEOUT.as_secs();
            let reason = format!("the server did not answer within {seconds} seconds");
            Err(RefreshError::Transient { reason })
        });
        match renewed {
            Ok(new) => {
                let new = login.replaced_by(new);
                self.secrets().add(new.secrets());
                self.keep(edit, name, &login, &new).await?;
                Ok(new)
            }
            Err(RefreshError::TooEarly { .. }) if !login.is_expired() => Ok(login),
            // The token is still valid, and the next request tries again.
            Err(RefreshError::Transient { .. })
                if !matches!(need, Need::Rejected(_)) && !login.is_expired() =>
            {
                Ok(login)
            }
            Err(RefreshError::SignInAgain { .. }) if was_interrupted => {
                let why =
                    "a former renewal was interrupted after the server had replaced the token";
                Err(self.ended(name, login.service(), why))
            }
            Err(RefreshError::SignInAgain { reason }) => {
                Err(self.ended(name, login.service(), &redacted(reason)))
            }
            Err(RefreshError::Transient { reason }) => Err(CredentialError::NotRenewed {
                name: Box::new(name.clone()),
                why: redacted(reason),
            }),
            Err(error) => Err(CredentialError::NotRenewed {
                name: Box::new(name.clone()),
                why: error.to_string(),
            }),
        }
    }

    /// Asks the service, or the extension, for new tokens.
    async fn request(&self, service: &LoginService, login: &Login) -> Result<Login, RefreshError> {
        match service {
            LoginService::Oauth(service) => {
                let web = self.web();
                let tokens = oauth::refresh(service, &web, &login.tokens()).await?;
                Ok(Login::issued(&tokens, None))
            }
            LoginService::Extension(hooks) => {
                let tokens = (hooks.refresh)(login.object()).await;
                let tokens = tokens.map_err(|reason| RefreshError::Transient { reason })?;
                Login::of_extension(tokens).ok_or_else(|| RefreshError::Transient {
                    reason: "the extension returned no tokens".to_owned(),
                })
            }
        }
    }

    /// Stores renewed tokens. They must not be lost, so a lock that another process removed in the
    /// meantime, for example while the machine slept, is taken again.
    async fn keep(
        &self,
        edit: AuthEdit<'_>,
        name: &CredentialName,
        old: &Login,
        new: &Login,
    ) -> Result<(), CredentialError> {
        let key = name.to_string();
        let mut edit = Some(edit);
        let mut failure = String::new();
        for _ in 0..ATTEMPTS {
            let mut open = match edit.take() {
                Some(open) => open,
                None => match self.store.lock(|_| false).await {
                    Ok(Some(lock)) => match self.store.edit_locked(lock) {
                        Ok(open) => open,
                        Err(error) => {
                            failure = error.to_string();
                            continue;
                        }
                    },
                    Ok(None) => continue,
                    Err(error) => {
                        failure = error.to_string();
                        continue;
                    }
                },
            };
            let current = open.get(&key).ok().flatten().and_then(Login::of);
            if current.is_none_or(|current| current.refresh != old.refresh) {
                // The user signed in or out in the meantime.
                return Ok(());
            }
            match open.set(&key, &new.stored()) {
                Ok(()) => return Ok(()),
                Err(error) => failure = error.to_string(),
            }
        }
        let advice = sign_in_again(name);
        Err(CredentialError::NotStored { name: Box::new(name.clone()), why: failure, advice })
    }

    fn signed_out(&self, name: &CredentialName) -> CredentialError {
        self.ended(name, None, "it was removed from auth.json")
    }
}

fn not_renewed(name: &CredentialName, error: &ConfigError) -> CredentialError {
    CredentialError::NotRenewed { name: Box::new(name.clone()), why: error.to_string() }
}
