//! The tokens of one server, as its connection uses them.

use std::sync::{Arc, Mutex};

use pi_base::lock;
use pi_config::mcp::{OauthConfig, resolve_value};
use pi_config::{ConfigError, ValueResolver};
use pi_guard::secrets::Secrets;
use pi_mcp::BoxFuture;
use pi_mcp::sign_in::{self, Credentials};
use pi_mcp::transport::{self, Authorization, Verdict};
use pi_protocol::now_ms;
use pi_web::WebClient;
use pi_web::oauth::{Challenge, RefreshError};
use secrecy::ExposeSecret as _;

use super::file::{AuthFile, Change, Key};
use super::record;

/// Time before its end at which a token is renewed, in milliseconds.
const MARGIN: f64 = 30_000.0;

const SIGN_IN: &str = "the server requires that you sign in";

/// The tokens of one server. Clones share them.
#[derive(Clone)]
pub(super) struct ServerTokens(Arc<Parts>);

struct Parts {
    key: Key,
    config: OauthConfig,
    file: Arc<AuthFile>,
    web: WebClient,
    resolver: Arc<ValueResolver>,
    /// Redacts tokens in the session.
    secrets: Secrets,
    /// The last refusal of the server, for the next sign-in.
    challenge: Mutex<Option<Challenge>>,
    /// The access token whose renewal was refused for good.
    ended: Mutex<Option<String>>,
}

/// Reasons why tokens were not renewed.
enum NotRenewed {
    /// The user must sign in, for this reason.
    Ended(String),
    /// A later attempt may succeed.
    Failed(String),
}

impl From<ConfigError> for NotRenewed {
    fn from(error: ConfigError) -> Self {
        Self::Failed(error.to_string())
    }
}

impl ServerTokens {
    pub(super) fn new(
        key: Key,
        config: OauthConfig,
        file: Arc<AuthFile>,
        web: WebClient,
        resolver: Arc<ValueResolver>,
        secrets: Secrets,
    ) -> Self {
        let (challenge, ended) = (Mutex::default(), Mutex::default());
        Self(Arc::new(Parts { key, config, file, web, resolver, secrets, challenge, ended }))
    }

    /// Returns the last refusal of the server.
    pub(super) fn last_challenge(&self) -> Option<Challenge> {
        lock(&self.0.challenge).clone()
    }

    pub(super) fn forget_challenge(&self) {
        *lock(&self.0.challenge) = None;
    }

    /// Returns the stored credentials. The secret of a configured client is left out: only a renewal
    /// needs it.
    pub(super) fn stored(&self) -> Result<Option<Credentials>, ConfigError> {
        let entry = self.0.file.load(&self.0.key)?;
        let stored = entry.and_then(|entry| record::read(&entry, &self.0.config, None));
        stored.iter().for_each(|stored| self.redact(stored));
        Ok(stored)
    }

    /// Redacts the tokens from now on.
    fn redact(&self, credentials: &Credentials) {
        let tokens = credentials.refresh.iter().chain([&credentials.access]);
        let tokens = tokens.map(|token| token.expose_secret().to_owned());
        self.0.secrets.add(tokens.chain(credentials.client.secret.clone()));
    }

    /// Stores credentials.
    pub(super) fn store(&self, credentials: &Credentials) -> Result<(), ConfigError> {
        self.redact(credentials);
        *lock(&self.0.ended) = None;
        self.0.file.change(&self.0.key, |entry| record::write(credentials, entry))
    }

    /// Stores renewed credentials, unless the user signed out or in since the renewal began.
    fn replace(&self, refused: &str, renewed: &Credentials) -> Result<(), NotRenewed> {
        self.redact(renewed);
        let stored = self.0.file.change_if(
            &self.0.key,
            |entry| record::access_token(entry) == Some(refused),
            |entry| record::write(renewed, entry),
        )?;
        match stored {
            Change::Made | Change::Refused => Ok(()),
            Change::NoEntry => Err(NotRenewed::Ended(SIGN_IN.to_owned())),
        }
    }

    /// Returns the secret of the configured client.
    pub(super) async fn client_secret(&self) -> Result<Option<String>, String> {
        let Some(text) = &self.0.config.client_secret else { return Ok(None) };
        let resolved = resolve_value(&self.0.resolver, "oauth.clientSecret", text).await;
        let secret = resolved.map_err(|error| error.to_string())?;
        self.0.secrets.add([secret.clone()]);
        Ok(Some(secret))
    }

    /// Replaces an access token that has ended or was refused, unless another process has done so.
    /// The renewal goes on if the caller is dropped: the server may have replaced the tokens.
    async fn renew(&self, refused: String) -> Result<(), NotRenewed> {
        let tokens = self.clone();
        let renewal = tokio::spawn(async move { tokens.renew_locked(&refused).await });
        renewal.await.unwrap_or_else(|error| Err(NotRenewed::Failed(error.to_string())))
    }

    async fn renew_locked(&self, refused: &str) -> Result<(), NotRenewed> {
        let Parts { key, config, file, web, ended, .. } = &*self.0;
        let _lock = file.lock_renewal(key).await?;
        let Some(entry) = file.load(key)? else { return Err(NotRenewed::Ended(SIGN_IN.into())) };
        let secret = self.client_secret().await.map_err(NotRenewed::Failed)?;
        let Some(stored) = record::read(&entry, config, secret) else {
            return Err(NotRenewed::Ended(SIGN_IN.to_owned()));
        };
        if stored.access.expose_secret() != refused {
            return Ok(());
        }
        let is_ended = |token: &String| token == refused;
        let was_ended = lock(ended).as_ref().is_some_and(is_ended);
        if stored.refresh.is_none() || was_ended {
            return Err(NotRenewed::Ended(SIGN_IN.to_owned()));
        }
        match sign_in::refresh(web, &stored).await {
            Ok(renewed) => self.replace(refused, &renewed),
            Err(error @ RefreshError::SignInAgain { .. }) => {
                *lock(ended) = Some(refused.to_owned());
                Err(NotRenewed::Ended(format!("{SIGN_IN} again: {error}")))
            }
            Err(error) => Err(NotRenewed::Failed(error.to_string())),
        }
    }

    async fn current(&self) -> Result<Option<String>, String> {
        let stored = self.stored().map_err(|error| self.broken(&error))?;
        let Some(stored) = stored else { return Ok(None) };
        let access = stored.access.expose_secret().to_owned();
        if !stored.expires_within(MARGIN, now_ms()) || stored.refresh.is_none() {
            return Ok(Some(access));
        }
        // If this fails, the old token is sent, and the answer of the server decides.
        let _ = self.renew(access).await;
        let stored = self.stored().map_err(|error| self.broken(&error))?;
        Ok(stored.map(|stored| stored.access.expose_secret().to_owned()))
    }

    fn broken(&self, error: &ConfigError) -> String {
        format!("{}: {error}", self.0.file.path().display())
    }

    async fn decide(&self, challenge: transport::Challenge) -> Verdict {
        let read = challenge.www_authenticate.iter().find_map(|value| Challenge::read(value));
        *lock(&self.0.challenge) = read.clone();
        let read = read.unwrap_or_default();
        if read.needs_scope() {
            let scopes = read.scopes.join(" ");
            let scopes = if scopes.is_empty() { String::new() } else { format!(" ({scopes})") };
            let text = format!("the server requires more permissions{scopes}: sign in again");
            return Verdict::GiveUp(text);
        }
        if challenge.status == 403 {
            return Verdict::GiveUp("the server refused the request (HTTP 403)".to_owned());
        }
        let Some(token) = challenge.token else { return Verdict::GiveUp(SIGN_IN.to_owned()) };
        match self.renew(token).await {
            Ok(()) => Verdict::Retry,
            Err(NotRenewed::Ended(reason)) => Verdict::GiveUp(reason),
            Err(NotRenewed::Failed(reason)) => {
                Verdict::GiveUp(format!("the sign-in could not be renewed: {reason}"))
            }
        }
    }
}

impl Authorization for ServerTokens {
    fn token(&self) -> BoxFuture<'_, Result<Option<String>, String>> {
        Box::pin(self.current())
    }

    fn challenged(&self, challenge: transport::Challenge) -> BoxFuture<'_, Verdict> {
        Box::pin(self.decide(challenge))
    }
}
