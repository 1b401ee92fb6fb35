//! Credentials of providers: their source, and their value for a request.
//!
//! The sources in order are a key of the program (`--api-key`), the stored credential,
//! `models.json` and the environment. If the first one that exists cannot be resolved, that is an
//! error and no other is tried: a request with the key of another account is worse than none.

use std::collections::BTreeMap;

use pi_ai::providers;
use secrecy::SecretString;

use crate::config::{CommandRuns, StoredCredential, ValueResolver};

/// The reasons why there is no key for a request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CredentialError {
    /// No source has a key.
    #[error("No API key found for {provider}. {advice}")]
    Missing {
        /// Id of the provider.
        provider: String,
        /// Advice for the user.
        advice: String,
    },
    /// A configured key or header cannot be resolved.
    #[error("{what} of {provider} cannot be resolved: {why}. Correct it in {file}.")]
    Unresolved {
        /// Description of the key or header.
        what: String,
        /// Id of the provider.
        provider: String,
        /// Reason why there is no value.
        why: String,
        /// Name of the file with the configuration.
        file: &'static str,
    },
    /// The stored credential is invalid.
    #[error("The stored credential of {provider} cannot be used: {why}")]
    Broken {
        /// Id of the provider.
        provider: String,
        /// Description of the problem.
        why: String,
    },
    /// The login has expired.
    #[error(
        "The login of {provider} has expired, and this version cannot renew it. Log in again or use an API key. {advice}"
    )]
    Expired {
        /// Id of the provider.
        provider: String,
        /// Advice for the user.
        advice: String,
    },
}

/// The source of a provider's credential, without the credential itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CredentialSource {
    /// Key of the program, for example from `--api-key`.
    Given,
    /// Key in `auth.json`.
    StoredKey,
    /// Login in `auth.json`.
    Login {
        /// Expiry in milliseconds since 1970.
        expires: f64,
    },
    /// Key in `models.json`.
    ModelsFile,
    /// Environment variable of this name.
    Variable(&'static str),
    /// The provider accepts requests without a key.
    NotNeeded,
}

/// The source of a provider's credential, with the unresolved credential.
#[derive(Debug, Clone)]
pub(super) enum Source {
    /// Key of the program.
    Given(SecretString),
    /// Entry of `auth.json`.
    Stored(StoredCredential),
    /// Invalid entry of `auth.json`, with the problem.
    Broken(String),
    /// Key in `models.json`, unresolved.
    Configured(String),
    /// Environment variable.
    Variable {
        /// Name of the variable, which determines the kind of key.
        name: &'static str,
        key: String,
        /// Variables that are stored for the provider without a key.
        env: BTreeMap<String, String>,
    },
    /// The provider accepts requests without a key.
    NotNeeded,
    /// No source has a key.
    Missing,
}

/// The resolved credential for a request.
#[derive(Debug, Clone)]
pub(super) struct Secret {
    pub(super) key: SecretString,
    pub(super) bearer: bool,
    /// Variables that are stored with the key.
    pub(super) env: BTreeMap<String, String>,
}

/// An unresolved value of a configuration file.
pub(super) struct ConfiguredValue<'a> {
    pub(super) text: &'a str,
    pub(super) what: &'a str,
    pub(super) provider: &'a str,
    pub(super) file: &'static str,
}

/// Returns the name and the value of the variable with a provider's key.
pub(super) fn variable(
    provider: &str,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Option<(&'static str, String)> {
    let names = providers::provider(provider)?.key_env;
    names.iter().find_map(|name| Some((*name, lookup(name).filter(|value| !value.is_empty())?)))
}

/// Returns the variables in the provider's URL.
pub(super) fn needed_variables(provider: &str) -> &'static [&'static str] {
    match provider {
        "cloudflare-workers-ai" => &["CLOUDFLARE_ACCOUNT_ID"],
        "cloudflare-ai-gateway" => &["CLOUDFLARE_ACCOUNT_ID", "CLOUDFLARE_GATEWAY_ID"],
        _ => &[],
    }
}

/// Returns true if all variables in the provider's URL are set.
pub(super) fn address_known(provider: &str, lookup: &dyn Fn(&str) -> Option<String>) -> bool {
    let needed = needed_variables(provider);
    needed.iter().all(|name| lookup(name).is_some_and(|value| !value.is_empty()))
}

/// Returns the advice for a provider without a key.
pub(super) fn advice(provider: &str) -> String {
    match providers::provider(provider).map(|info| info.key_env.last()) {
        Some(Some(name)) => format!("Set {name} or store a key in auth.json."),
        Some(None) => {
            "The provider requires a login, which this version does not support.".to_owned()
        }
        None => "Add an \"apiKey\" for the provider to models.json.".to_owned(),
    }
}

impl Source {
    /// Returns the source without the credential; `None` if there is none.
    pub(super) fn public(&self) -> Option<CredentialSource> {
        Some(match self {
            Self::Given(_) => CredentialSource::Given,
            Self::Stored(StoredCredential::ApiKey { .. }) | Self::Broken(_) => {
                CredentialSource::StoredKey
            }
            Self::Stored(StoredCredential::Oauth { expires, .. }) => {
                CredentialSource::Login { expires: *expires }
            }
            Self::Configured(_) => CredentialSource::ModelsFile,
            Self::Variable { name, .. } => CredentialSource::Variable(name),
            Self::NotNeeded => CredentialSource::NotNeeded,
            Self::Missing => return None,
        })
    }

    /// Returns true if the credential may have a value. Runs no command.
    pub(super) fn is_usable(&self, resolver: &ValueResolver) -> bool {
        match self {
            Self::Stored(StoredCredential::ApiKey { key: Some(text), env, .. }) => {
                resolver.may_resolve(text, env)
            }
            Self::Configured(text) => resolver.may_resolve(text, &BTreeMap::new()),
            Self::Missing
            | Self::Broken(_)
            | Self::Stored(StoredCredential::ApiKey { key: None, .. }) => false,
            Self::Given(_) | Self::Stored(_) | Self::Variable { .. } | Self::NotNeeded => true,
        }
    }

    /// Resolves the credential. `now` is in milliseconds since 1970.
    pub(super) async fn resolve(
        self,
        provider: &str,
        resolver: &ValueResolver,
        now: f64,
    ) -> Result<Secret, CredentialError> {
        let plain = |key: String| Secret { key: key.into(), bearer: false, env: BTreeMap::new() };
        match self {
            Self::Given(key) => Ok(Secret { key, bearer: false, env: BTreeMap::new() }),
            Self::Stored(StoredCredential::ApiKey { key: Some(text), env, .. }) => {
                let configured = ConfiguredValue {
                    text: &text,
                    what: "The stored key",
                    provider,
                    file: "auth.json",
                };
                let key = resolver.resolve(&text, &env, CommandRuns::Once).await;
                Ok(Secret { env, ..plain(key.map_err(|why| configured.failed(why))?) })
            }
            Self::Stored(StoredCredential::Oauth { expires, .. }) if expires <= now => {
                let (provider, advice) = (provider.to_owned(), advice(provider));
                Err(CredentialError::Expired { provider, advice })
            }
            Self::Stored(StoredCredential::Oauth { access, .. }) => {
                Ok(Secret { bearer: true, ..plain(access) })
            }
            Self::Configured(text) => {
                let file = "models.json";
                let configured =
                    ConfiguredValue { text: &text, what: "The apiKey", provider, file };
                configured.value(resolver).await.map(plain)
            }
            Self::Variable { name, key, env } => {
                Ok(Secret { bearer: name == "ANTHROPIC_AUTH_TOKEN", env, ..plain(key) })
            }
            Self::Broken(why) => {
                Err(CredentialError::Broken { provider: provider.to_owned(), why })
            }
            // Wire formats require a key; a server that needs none ignores it.
            Self::NotNeeded => Ok(plain("unused".to_owned())),
            Self::Missing | Self::Stored(StoredCredential::ApiKey { key: None, .. }) => {
                let (provider, advice) = (provider.to_owned(), advice(provider));
                Err(CredentialError::Missing { provider, advice })
            }
        }
    }
}

impl ConfiguredValue<'_> {
    /// Resolves the value. A command runs each time, since it may return short-lived tokens.
    pub(super) async fn value(&self, resolver: &ValueResolver) -> Result<String, CredentialError> {
        let value = resolver.resolve(self.text, &BTreeMap::new(), CommandRuns::EachTime).await;
        value.map_err(|why| self.failed(why))
    }

    /// Creates the error. The text is left out, since it may be part of a secret.
    fn failed(&self, why: String) -> CredentialError {
        let (what, provider) = (self.what.to_owned(), self.provider.to_owned());
        CredentialError::Unresolved { what, provider, why, file: self.file }
    }
}
