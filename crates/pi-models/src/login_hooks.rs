//! Logins that extensions implement.

use std::sync::Arc;

use pi_protocol::{CancelToken, HookFuture};
use pi_web::oauth::Interaction;
use serde_json::{Map, Value};

/// The tokens of a login as a JSON object: `access`, `refresh`, `expires` and further fields.
pub type LoginTokens = Map<String, Value>;

/// The result of a login function: tokens, or a description of the failure.
pub type LoginResult<T = LoginTokens> = HookFuture<Result<T, String>>;

/// The login of a provider, as functions of an extension.
#[derive(Clone)]
#[non_exhaustive]
pub struct ProviderLogin {
    /// Name for people.
    pub name: String,
    /// Signs in.
    pub login: Arc<dyn Fn(Arc<dyn Interaction>, CancelToken) -> LoginResult + Send + Sync>,
    /// Renews tokens.
    pub refresh: Arc<dyn Fn(LoginTokens) -> LoginResult + Send + Sync>,
    /// Returns the key of requests. Without this function it is the access token.
    pub api_key: Option<Arc<dyn Fn(LoginTokens) -> LoginResult<String> + Send + Sync>>,
}

impl ProviderLogin {
    /// Creates a login from functions that sign in and renew tokens.
    pub fn new(
        name: impl Into<String>,
        login: impl Fn(Arc<dyn Interaction>, CancelToken) -> LoginResult + Send + Sync + 'static,
        refresh: impl Fn(LoginTokens) -> LoginResult + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            login: Arc::new(login),
            refresh: Arc::new(refresh),
            api_key: None,
        }
    }

    /// Sets the function that returns the key of requests.
    #[must_use]
    pub fn api_key(
        mut self,
        api_key: impl Fn(LoginTokens) -> LoginResult<String> + Send + Sync + 'static,
    ) -> Self {
        self.api_key = Some(Arc::new(api_key));
        self
    }
}

pi_protocol::debug_fields!(ProviderLogin, name);
