//! Signing in and out, and the authorization of connections.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use pi_base::lock;
use pi_config::Environment;
use pi_config::mcp::{ClientRegistration, HttpServer, OauthConfig};
use pi_config::{ConfigError, ValueResolver};
use pi_guard::secrets::Secrets;
use pi_mcp::sign_in::{self, Registration, Settings, SignIn};
use pi_mcp::transport::Authorization;
use pi_models::ModelRegistry;
use pi_protocol::CancelToken;
use pi_web::WebClient;
use pi_web::oauth::{Interaction, OauthError};
use url::Url;

use super::file::{AuthFile, Key};
use super::provider::ProviderTokens;
use super::server::ServerTokens;

/// The sign-ins of a session. Clones share them.
#[derive(Clone)]
pub struct McpAuth(Arc<Parts>);

struct Parts {
    file: Arc<AuthFile>,
    web: WebClient,
    resolver: Arc<ValueResolver>,
    /// Redacts tokens in the session.
    secrets: Secrets,
    registry: Option<ModelRegistry>,
    callback_host: Option<String>,
    servers: Mutex<HashMap<Key, (OauthConfig, ServerTokens)>>,
}

pi_protocol::debug_fields!(McpAuth);

/// Options of a sign-in.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct SignInOptions {
    /// Time in which the user must consent, in seconds; 300 by default.
    pub timeout: Option<u64>,
    /// Does not ask for a pasted address.
    pub no_paste: bool,
}

/// Reasons why a sign-in or sign-out failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SignInError {
    /// The server is not signed in to by OAuth.
    #[error("{0}")]
    NotOauth(&'static str),
    /// The sign-in itself failed.
    #[error(transparent)]
    Oauth(#[from] OauthError),
    /// A configured value is not available.
    #[error("{0}")]
    Value(String),
    /// The credentials cannot be stored.
    #[error("mcp-auth.json: {0}")]
    Storage(#[from] ConfigError),
}

impl SignInError {
    /// Returns true if the user ended the sign-in.
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Oauth(OauthError::Cancelled))
    }
}

/// The result of signing out.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SignedOut {
    /// Credentials were stored.
    pub was_stored: bool,
    /// The server revoked the tokens; the error of an attempt that failed; `None` if the server
    /// does not revoke tokens.
    pub revoked: Option<Result<(), String>>,
}

impl McpAuth {
    /// Creates the sign-ins of the user. `registry` has the credentials of providers.
    pub fn new(environment: &Environment, registry: Option<ModelRegistry>) -> Self {
        let variables = Arc::clone(&environment.variables);
        let web = WebClient::new(Arc::new(move |name| variables.get(name).cloned()));
        Self(Arc::new(Parts {
            file: Arc::new(AuthFile::new(&environment.agent_directory)),
            web,
            resolver: Arc::new(ValueResolver::new(environment.clone())),
            secrets: registry.as_ref().map(|one| one.secrets().clone()).unwrap_or_default(),
            registry,
            callback_host: environment.variable("PI_OAUTH_CALLBACK_HOST").map(str::to_owned),
            servers: Mutex::default(),
        }))
    }

    /// Returns the tokens that requests to a server carry; `None` if a configured header does.
    pub fn authorization(&self, name: &str, http: &HttpServer) -> Option<Arc<dyn Authorization>> {
        if let Some(provider) = http.provider.clone() {
            let registry = self.0.registry.clone();
            return Some(Arc::new(ProviderTokens { provider, registry }));
        }
        http.uses_oauth().then(|| Arc::new(self.server(name, http)) as Arc<dyn Authorization>)
    }

    /// Returns true if credentials of a server are stored.
    pub fn is_signed_in(&self, name: &str, http: &HttpServer) -> bool {
        http.uses_oauth() && self.server(name, http).stored().is_ok_and(|stored| stored.is_some())
    }

    /// Signs in to a server. Its connection uses the new tokens with its next request.
    pub async fn sign_in(
        &self,
        name: &str,
        http: &HttpServer,
        interaction: &dyn Interaction,
        options: &SignInOptions,
        cancel: CancelToken,
    ) -> Result<(), SignInError> {
        check(http)?;
        let tokens = self.server(name, http);
        let secret = tokens.client_secret().await.map_err(SignInError::Value)?;
        let settings = settings(&http.oauth, secret);
        let previous = tokens.stored()?;
        let challenge = match tokens.last_challenge() {
            Some(challenge) => Some(challenge),
            None => sign_in::probe(&self.0.web, &http.url).await,
        };
        let request = SignIn {
            server: &http.url,
            settings: &settings,
            challenge: challenge.as_ref(),
            previous: previous.as_ref(),
            no_paste: options.no_paste,
            callback_host: self.0.callback_host.as_deref(),
            timeout: Some(options.timeout.unwrap_or(300)),
        };
        let signed_in = sign_in::sign_in(&self.0.web, &request, interaction, cancel).await?;
        tokens.store(&signed_in)?;
        tokens.forget_challenge();
        Ok(())
    }

    /// Removes the credentials of a server, and revokes its tokens if the server supports that.
    pub async fn sign_out(&self, name: &str, http: &HttpServer) -> Result<SignedOut, SignInError> {
        check(http)?;
        let tokens = self.server(name, http);
        let stored = tokens.stored();
        let was_stored = self.0.file.remove(&Key::new(name, &http.url))?;
        tokens.forget_challenge();
        let revoked = match stored {
            Ok(Some(stored)) if stored.revoke_url.is_some() => {
                let revoked = sign_in::revoke(&self.0.web, &stored).await;
                Some(revoked.map(drop).map_err(|error| error.to_string()))
            }
            _ => None,
        };
        Ok(SignedOut { was_stored, revoked })
    }

    fn server(&self, name: &str, http: &HttpServer) -> ServerTokens {
        let key = Key::new(name, &http.url);
        let mut servers = lock(&self.0.servers);
        if let Some((config, known)) = servers.get(&key)
            && *config == http.oauth
        {
            return known.clone();
        }
        let Parts { file, web, resolver, secrets, .. } = &*self.0;
        let tokens = ServerTokens::new(
            key.clone(),
            http.oauth.clone(),
            Arc::clone(file),
            web.clone(),
            Arc::clone(resolver),
            secrets.clone(),
        );
        servers.insert(key, (http.oauth.clone(), tokens.clone()));
        tokens
    }
}

fn check(http: &HttpServer) -> Result<(), SignInError> {
    if http.provider.is_some() {
        return Err(SignInError::NotOauth(
            "the server uses the token of a provider: sign in there",
        ));
    }
    if !http.uses_oauth() {
        return Err(SignInError::NotOauth("the server uses a configured Authorization header"));
    }
    Ok(())
}

fn settings(config: &OauthConfig, client_secret: Option<String>) -> Settings {
    let scopes = config.scope.as_deref().unwrap_or_default();
    Settings {
        client_id: config.client_id.clone(),
        client_secret,
        callback_port: config.callback_port,
        callback_url: config.callback_url.as_deref().and_then(|url| Url::parse(url).ok()),
        scopes: scopes.split_whitespace().map(str::to_owned).collect(),
        client_name: config.client_name.clone(),
        registration: match config.registration {
            ClientRegistration::Auto => Registration::Auto,
            ClientRegistration::Dynamic => Registration::Dynamic,
            ClientRegistration::MetadataDocument => Registration::MetadataDocument,
        },
        client_metadata_url: config.client_metadata_url.clone(),
        auth_server_metadata_url: config.auth_server_metadata_url.clone(),
    }
}
