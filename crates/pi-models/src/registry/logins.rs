//! Signing in and out: the ways that a provider offers, and the tokens they lead to.
//!
//! A login comes from an extension, from the user's settings (`oauth`), or from the built-in
//! services, in this order. Tokens are stored in `auth.json`.

use std::sync::Arc;

use pi_config::{CommandRuns, ConfigError, StoredCredential};
use pi_protocol::CancelToken;
use pi_web::oauth::{self, Dialect, Interaction, LoginOptions, OauthError, Service};

use super::{ModelRegistry, Shared};
use crate::accounts::CredentialName;
use crate::credential_error::{CredentialError, sign_in_again};
use crate::credentials::{has_keys, missing, wrong_type};
use crate::login_hooks::ProviderLogin;
use crate::tokens::Login;

/// Providers whose login stands for a subscription.
const SUBSCRIPTIONS: &[&str] =
    &["anthropic", "github-copilot", "kimi-coding", "openai", "openai-codex", "xai"];

/// A way to sign in to a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoginChoice {
    /// The kind of credential that results.
    pub kind: LoginKind,
    /// Name of the login for people, such as `Sign in with ChatGPT`.
    pub label: String,
    /// Name of the service of the settings, if it is not that of the provider.
    pub service: Option<String>,
    /// Reason why this login cannot be used, with the alternatives.
    pub unavailable: Option<String>,
    /// The alternatives to a login that cannot be used, which are also part of `unavailable`.
    pub instead: Option<String>,
}

/// The kind of a login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoginKind {
    /// Tokens of a subscription.
    Subscription,
    /// Tokens of an account.
    Account,
    /// An API key.
    ApiKey,
}

impl LoginKind {
    /// Returns the name for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Subscription => "subscription",
            Self::Account => "account",
            Self::ApiKey => "API key",
        }
    }
}

/// The result of signing out.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoggedOut {
    /// An entry was removed from `auth.json`.
    pub was_stored: bool,
    /// The tokens at the service.
    pub revocation: Revocation,
}

/// The fate of tokens at their service.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Revocation {
    /// The credential is a key, or the service cannot revoke tokens.
    NotOffered,
    /// The service has revoked the tokens.
    Revoked,
    /// The tokens may still be valid, for this reason.
    Failed(String),
}

/// The reason why a login failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoginError {
    /// The provider has no login.
    #[error("{provider} has no login{}", if *has_keys { "; use an API key" } else { "" })]
    NoLogin {
        /// Id of the provider.
        provider: String,
        /// The provider has API keys.
        has_keys: bool,
    },
    /// The flow failed.
    #[error(transparent)]
    Flow(#[from] OauthError),
    /// The extension of the provider failed.
    #[error("the login of {provider} failed: {why}")]
    Extension {
        /// Id of the provider.
        provider: String,
        /// The message of the extension.
        why: String,
    },
    /// A reference in the configuration of the service cannot be resolved.
    #[error(transparent)]
    Configuration(#[from] CredentialError),
    /// The tokens could not be stored.
    #[error("signed in, but the tokens could not be stored: {0}")]
    NotStored(ConfigError),
}

/// The source of a provider's tokens.
#[derive(Debug, Clone)]
pub(crate) enum LoginService {
    /// An authorization server.
    Oauth(Box<Service>),
    /// Functions of an extension.
    Extension(ProviderLogin),
}

impl LoginService {
    /// Returns the reason why the server does not renew a login for this client.
    fn closed_renewal(&self, login: &Login) -> Option<Closed> {
        let Self::Oauth(service) = self else { return None };
        let needs_client = !matches!(service.dialect, Some(Dialect::Copilot | Dialect::Meta));
        if !needs_client || login.extra.contains_key("clientId") {
            return None;
        }
        Closed::of(service)
    }
}

/// A server that knows only the clients of its vendor, while no client is configured.
struct Closed {
    reason: String,
    /// The alternatives.
    instead: String,
}

impl Closed {
    fn of(service: &Service) -> Option<Self> {
        match service.availability() {
            Err(OauthError::Unavailable { reason, instead }) => Some(Self { reason, instead }),
            _ => None,
        }
    }
}

impl ModelRegistry {
    /// Returns the ways to sign in to a provider. Several kinds of keys count as one way.
    pub fn login_methods(&self, provider: &str) -> Vec<LoginChoice> {
        let shared = &self.shared;
        let mut choices = Vec::new();
        let kind = match SUBSCRIPTIONS.contains(&provider) {
            true => LoginKind::Subscription,
            false => LoginKind::Account,
        };
        let choice =
            |label: Option<String>, service: Option<String>, closed: Option<Closed>| LoginChoice {
                kind,
                label: label.unwrap_or_else(|| shared.display_name(provider)),
                service,
                unavailable: closed.as_ref().map(|one| format!("{} {}", one.reason, one.instead)),
                instead: closed.map(|one| one.instead),
            };
        if let Some(hooks) = shared.extension_login(provider) {
            choices.push(choice(Some(hooks.name), None, None));
        } else {
            for (name, service) in shared.services(provider) {
                let closed = Closed::of(&service);
                let own_name = (name != provider).then_some(name);
                choices.push(choice(service.name, own_name, closed));
            }
        }
        if has_keys(provider) {
            let (kind, label) = (LoginKind::ApiKey, "API key".to_owned());
            let (service, unavailable, instead) = (None, None, None);
            choices.push(LoginChoice { kind, label, service, unavailable, instead });
        }
        choices
    }

    /// Signs in and stores the tokens. `service` is that of a [`LoginChoice`].
    pub async fn login(
        &self,
        name: &CredentialName,
        service: Option<&str>,
        interaction: Arc<dyn Interaction>,
        options: LoginOptions,
        cancel: CancelToken,
    ) -> Result<(), LoginError> {
        let login = self.shared.sign_in(name, service, interaction, options, cancel).await?;
        self.store_credential(name, &login.stored()).await.map_err(LoginError::NotStored)
    }

    /// Stores a credential without blocking the thread while another program changes the file.
    pub async fn store_credential(
        &self,
        name: &CredentialName,
        credential: &StoredCredential,
    ) -> Result<(), ConfigError> {
        let shared = &self.shared;
        if let StoredCredential::ApiKey { key, .. } = credential {
            shared.secrets().add(key.clone());
        } else if let Some(login) = Login::of(credential.clone()) {
            shared.secrets().add(login.secrets());
        }
        let Some(lock) = shared.store.lock(|_| false).await? else { return Ok(()) };
        shared.store.edit_locked(lock)?.set(&name.to_string(), credential)
    }

    /// Removes a stored credential, then revokes its tokens where the service can do that.
    pub async fn logout(&self, name: &CredentialName) -> Result<LoggedOut, ConfigError> {
        let shared = &self.shared;
        let key = name.to_string();
        let Some(lock) = shared.store.lock(|_| false).await? else {
            return Ok(LoggedOut { was_stored: false, revocation: Revocation::NotOffered });
        };
        let mut edit = shared.store.edit_locked(lock)?;
        // An entry that is not a credential is removed too.
        let login = edit.get(&key).ok().flatten().and_then(Login::of);
        let was_stored = edit.remove(&key)?;
        drop(edit);
        let revocation = match login {
            Some(login) => shared.revoke(name, &login).await,
            None => Revocation::NotOffered,
        };
        Ok(LoggedOut { was_stored, revocation })
    }
}

impl Shared {
    /// Obtains tokens.
    async fn sign_in(
        &self,
        name: &CredentialName,
        service: Option<&str>,
        interaction: Arc<dyn Interaction>,
        mut options: LoginOptions,
        cancel: CancelToken,
    ) -> Result<Login, LoginError> {
        let provider = name.provider.as_str();
        match self.login_service(provider, service) {
            None => {
                let (provider, has_keys) = (provider.to_owned(), has_keys(provider));
                Err(LoginError::NoLogin { provider, has_keys })
            }
            Some(LoginService::Extension(hooks)) => {
                let failed =
                    |why: String| LoginError::Extension { provider: provider.to_owned(), why };
                let tokens = (hooks.login)(interaction, cancel).await.map_err(failed)?;
                let none = || failed("the extension returned no tokens".to_owned());
                Login::of_extension(tokens).ok_or_else(none)
            }
            Some(LoginService::Oauth(oauth_service)) => {
                let resolved = self.with_secret(provider, *oauth_service).await?;
                let previous = self.stored(name).ok().flatten().and_then(Login::of);
                options.previous = options.previous.or(previous.map(|login| login.tokens()));
                let web = self.web();
                let tokens = oauth::login(&resolved, &web, &*interaction, options, cancel).await?;
                Ok(Login::issued(&tokens, service))
            }
        }
    }

    /// Returns the login that an extension registered for a provider.
    pub(crate) fn extension_login(&self, provider: &str) -> Option<ProviderLogin> {
        self.read(|state| state.registered.logins.get(provider).cloned())
    }

    /// Returns true if a user can sign in to a provider.
    pub(crate) fn has_login(&self, provider: &str) -> bool {
        self.login_service(provider, None).is_some()
    }

    /// Returns the error of a provider without a credential, with the ways that are open to the user.
    pub(crate) fn missing(&self, provider: &str) -> CredentialError {
        if self.extension_login(provider).is_some() {
            return missing(provider, true);
        }
        let services = self.services(provider);
        let closed: Vec<Closed> =
            services.iter().filter_map(|(_, service)| Closed::of(service)).collect();
        let is_open = closed.len() < services.len();
        match closed.into_iter().next() {
            Some(closed) if !is_open && !has_keys(provider) => {
                let (provider, advice) = (provider.to_owned(), closed.instead);
                CredentialError::NotSignedIn { provider, advice }
            }
            _ => missing(provider, is_open),
        }
    }

    /// Returns the services of a provider by name: that with the provider's name first.
    fn services(&self, provider: &str) -> Vec<(String, Service)> {
        let mut services = Vec::new();
        let own = self.read(|state| state.services.get(provider).cloned());
        let is_own =
            |service: &Service| service.provider.as_deref().is_none_or(|id| id == provider);
        let builtin = self.builtin_service(provider);
        match (builtin, own.filter(is_own)) {
            (Some(builtin), Some(own)) => services.push((provider.to_owned(), builtin.with(&own))),
            (Some(service), None) | (None, Some(service)) => {
                services.push((provider.to_owned(), service));
            }
            (None, None) => {}
        }
        self.read(|state| {
            for (name, service) in &state.services {
                if name != provider && service.provider.as_deref() == Some(provider) {
                    services.push((name.clone(), service.clone()));
                }
            }
        });
        services
    }

    /// Returns the built-in service of a provider, or that of a gateway in the user's file.
    fn builtin_service(&self, provider: &str) -> Option<Service> {
        let gateway = self.read(|state| {
            let record = state.models.record(provider)?;
            record.oauth?;
            record.base_url.clone()
        });
        match gateway {
            Some(url) => {
                let mut service = oauth::builtin::service("radius")?;
                let url = url.trim_end_matches('/');
                service.issuer = Some(url.strip_suffix("/v1").unwrap_or(url).to_owned());
                Some(service)
            }
            None => oauth::builtin::service(provider),
        }
    }

    /// Returns the login of a provider; that of a service of the settings if one is named.
    pub(crate) fn login_service(
        &self,
        provider: &str,
        service: Option<&str>,
    ) -> Option<LoginService> {
        if let Some(hooks) = self.extension_login(provider) {
            return Some(LoginService::Extension(hooks));
        }
        let mut services = self.services(provider).into_iter();
        let found = match service {
            Some(wanted) => services.find(|(name, _)| name == wanted),
            None => services.next(),
        };
        found.map(|(_, service)| LoginService::Oauth(Box::new(service)))
    }

    /// Returns the error of a login that cannot be renewed.
    pub(crate) fn check_renewal(
        &self,
        name: &CredentialName,
        login: &Login,
    ) -> Result<(), CredentialError> {
        if login.refresh.is_empty() {
            return Err(self.ended(name, login.service(), "it cannot be renewed"));
        }
        let Some(service) = self.login_service(&name.provider, login.service()) else {
            return Err(wrong_type(name, &login.stored()));
        };
        match service.closed_renewal(login) {
            Some(closed) => Err(self.ended(name, login.service(), &closed.reason)),
            None => Ok(()),
        }
    }

    /// Returns the error of a login that has ended, with the ways that are open to the user.
    pub(crate) fn ended(
        &self,
        name: &CredentialName,
        service: Option<&str>,
        why: &str,
    ) -> CredentialError {
        let closed = match self.login_service(&name.provider, service) {
            Some(LoginService::Oauth(service)) => Closed::of(&service),
            _ => None,
        };
        let advice = closed.map_or_else(|| sign_in_again(name), |closed| closed.instead);
        let (name, why) = (Box::new(name.clone()), why.trim_end_matches('.').to_owned());
        CredentialError::Expired { name, why, advice }
    }

    /// Returns the service that renews a stored login, with its secret resolved.
    pub(crate) async fn service_of(
        &self,
        name: &CredentialName,
        login: &Login,
    ) -> Result<LoginService, CredentialError> {
        match self.login_service(&name.provider, login.service()) {
            Some(LoginService::Oauth(service)) => {
                let service = self.with_secret(&name.provider, *service).await?;
                Ok(LoginService::Oauth(Box::new(service)))
            }
            Some(extension) => Ok(extension),
            None => Err(wrong_type(name, &login.stored())),
        }
    }

    /// Resolves the reference to the secret of a client.
    async fn with_secret(
        &self,
        provider: &str,
        mut service: Service,
    ) -> Result<Service, CredentialError> {
        if let Some(secret) = &mut service.client_secret {
            let configured = crate::credentials::ConfiguredValue {
                text: &secret.0,
                what: "The clientSecret",
                provider,
                file: "settings.json",
            };
            let none = std::collections::BTreeMap::new();
            let value = configured.resolve(&self.resolver, &none, CommandRuns::Once).await?;
            self.secrets().add([value.clone()]);
            secret.0 = value;
        }
        Ok(service)
    }

    async fn revoke(&self, name: &CredentialName, login: &Login) -> Revocation {
        let service = match self.service_of(name, login).await {
            Ok(LoginService::Oauth(service)) => service,
            Ok(LoginService::Extension(_)) | Err(_) => return Revocation::NotOffered,
        };
        let web = self.web();
        match oauth::revoke(&service, &web, &login.tokens()).await {
            Ok(true) => Revocation::Revoked,
            Ok(false) => Revocation::NotOffered,
            Err(error) => Revocation::Failed(error.to_string()),
        }
    }
}
