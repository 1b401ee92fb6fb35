//! What opens a provider: where a key comes from, and what it is when a request is made.
//!
//! The order is `--api-key`, then the stored credential, then `models.json`, then the environment.
//! Whatever comes first counts: if it cannot be resolved that is an error, and nothing after it is
//! tried, since a request with another account's key is worse than none.

use std::collections::BTreeMap;

use pi_ai::providers;
use secrecy::SecretString;

use crate::config::{CommandRuns, StoredCredential, ValueResolver};

/// There is no key to send.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CredentialError {
    /// None was found anywhere.
    #[error("No API key found for {provider}. {advice}")]
    Missing {
        /// The provider.
        provider: String,
        /// What to do.
        advice: String,
    },
    /// What is configured leads to nothing.
    #[error("{what} of {provider} cannot be resolved: {why}. Correct it in {file}.")]
    Unresolved {
        /// The key, or which header.
        what: String,
        /// The provider.
        provider: String,
        /// What is missing.
        why: String,
        /// Where it is configured.
        file: &'static str,
    },
    /// What is stored is no credential.
    #[error("The stored credential of {provider} cannot be used: {why}")]
    Broken {
        /// The provider.
        provider: String,
        /// What is wrong with it.
        why: String,
    },
    /// The login has ended.
    #[error(
        "The login of {provider} has expired, and this version cannot renew it. Log in again or use an API key. {advice}"
    )]
    Expired {
        /// The provider.
        provider: String,
        /// What to do.
        advice: String,
    },
}

/// Where the credential of a provider comes from: never what it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CredentialSource {
    /// `--api-key`.
    Given,
    /// A key in `auth.json`.
    StoredKey,
    /// A login in `auth.json`.
    Login {
        /// When it ends, in milliseconds since 1970.
        expires: f64,
    },
    /// `models.json`.
    ModelsFile,
    /// The variable of this name.
    Variable(&'static str),
    /// The provider takes requests without.
    NotNeeded,
}

/// Where the credential of a provider is.
#[derive(Debug, Clone)]
pub(super) enum Source {
    /// `--api-key`.
    Given(SecretString),
    /// The stored one.
    Stored(StoredCredential),
    /// One is stored that cannot be used, and why.
    Broken(String),
    /// The key of `models.json`, as it is written.
    Configured(String),
    /// A variable.
    Variable {
        /// Its name tells what kind of key it is.
        name: &'static str,
        key: String,
        /// Variables that are stored without a key.
        env: BTreeMap<String, String>,
    },
    /// None is needed.
    NotNeeded,
    /// None was found.
    Missing,
}

/// What is sent.
#[derive(Debug, Clone)]
pub(super) struct Secret {
    pub(super) key: SecretString,
    pub(super) bearer: bool,
    /// Variables that were stored with it.
    pub(super) env: BTreeMap<String, String>,
}

/// A value as it is written in a file.
pub(super) struct Written<'a> {
    pub(super) text: &'a str,
    pub(super) what: &'a str,
    pub(super) provider: &'a str,
    pub(super) file: &'static str,
}

/// The variable that holds a provider's key.
pub(super) fn variable(
    provider: &str,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Option<(&'static str, String)> {
    let names = providers::provider(provider)?.key_env;
    names.iter().find_map(|name| Some((*name, lookup(name).filter(|value| !value.is_empty())?)))
}

/// Everything else that a provider's address needs is there.
pub(super) fn address_known(provider: &str, lookup: &dyn Fn(&str) -> Option<String>) -> bool {
    let needed: &[&str] = match provider {
        "cloudflare-workers-ai" => &["CLOUDFLARE_ACCOUNT_ID"],
        "cloudflare-ai-gateway" => &["CLOUDFLARE_ACCOUNT_ID", "CLOUDFLARE_GATEWAY_ID"],
        _ => &[],
    };
    needed.iter().all(|name| lookup(name).is_some_and(|value| !value.is_empty()))
}

/// What to do when there is no key.
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
    /// What may be said about it; `None` if there is none.
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

    /// There is something to send, as far as can be told without running a command.
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

    /// What is sent. `now` is in milliseconds since 1970.
    pub(super) async fn secret(
        self,
        provider: &str,
        resolver: &ValueResolver,
        now: f64,
    ) -> Result<Secret, CredentialError> {
        let plain = |key: String| Secret { key: key.into(), bearer: false, env: BTreeMap::new() };
        match self {
            Self::Given(key) => Ok(Secret { key, bearer: false, env: BTreeMap::new() }),
            Self::Stored(StoredCredential::ApiKey { key: Some(text), env, .. }) => {
                let written =
                    Written { text: &text, what: "The stored key", provider, file: "auth.json" };
                let key = resolver.resolve(&text, &env, CommandRuns::Once).await;
                Ok(Secret { env, ..plain(key.map_err(|why| written.failed(why))?) })
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
                let written = Written { text: &text, what: "The apiKey", provider, file };
                written.value(resolver).await.map(plain)
            }
            Self::Variable { name, key, env } => {
                Ok(Secret { bearer: name == "ANTHROPIC_AUTH_TOKEN", env, ..plain(key) })
            }
            Self::Broken(why) => {
                Err(CredentialError::Broken { provider: provider.to_owned(), why })
            }
            // Wire formats want some key; a server that needs none does not look at it.
            Self::NotNeeded => Ok(plain("unused".to_owned())),
            Self::Missing | Self::Stored(StoredCredential::ApiKey { key: None, .. }) => {
                let (provider, advice) = (provider.to_owned(), advice(provider));
                Err(CredentialError::Missing { provider, advice })
            }
        }
    }
}

impl Written<'_> {
    /// A value of `models.json`. Its command runs every time: it may give short-lived tokens.
    pub(super) async fn value(&self, resolver: &ValueResolver) -> Result<String, CredentialError> {
        let value = resolver.resolve(self.text, &BTreeMap::new(), CommandRuns::EachTime).await;
        value.map_err(|why| self.failed(why))
    }

    /// The text itself is not repeated: it may be half a secret.
    fn failed(&self, why: String) -> CredentialError {
        let (what, provider) = (self.what.to_owned(), self.provider.to_owned());
        CredentialError::Unresolved { what, provider, why, file: self.file }
    }
}
