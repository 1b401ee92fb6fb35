//! The token of a provider for a server that belongs to it (`auth.provider`).

use std::time::Duration;

use pi_mcp::BoxFuture;
use pi_mcp::transport::{Authorization, Challenge, Verdict};
use secrecy::ExposeSecret as _;

use pi_models::ModelRegistry;

/// Sends the token with which requests to a provider are made.
pub(super) struct ProviderTokens {
    pub(super) provider: String,
    pub(super) registry: Option<ModelRegistry>,
}

impl Authorization for ProviderTokens {
    fn token(&self) -> BoxFuture<'_, Result<Option<String>, String>> {
        Box::pin(async move {
            let Some(registry) = &self.registry else {
                return Err("the credentials of providers are not available here".to_owned());
            };
            let token = registry.bearer_token(&self.provider, Duration::ZERO).await;
            let token = token.map_err(|error| error.to_string())?;
            Ok(Some(token.expose_secret().to_owned()))
        })
    }

    fn challenged(&self, challenge: Challenge) -> BoxFuture<'_, Verdict> {
        let text = format!(
            "the server refused the token of {} (HTTP {}): sign in to the provider again",
            self.provider, challenge.status
        );
        Box::pin(async move { Verdict::GiveUp(text) })
    }
}
