//! Sources of credentials: the place from which a provider's credential comes.
//!
//! The sources in order are a key of the program (`--api-key`), the stored credential,
//! `models.json`, and the environment with the chains of cloud providers. If the first one that
//! exists cannot be resolved, that is an error and no other is tried: a request with the key of
//! another account is worse than none.

use std::collections::BTreeMap;

use pi_ai::providers;
use pi_config::{CommandRuns, StoredCredential, ValueResolver};
use pi_web::cloud;
use secrecy::SecretString;

use crate::accounts::CredentialName;
use crate::credential_error::{CredentialError, login_command, sign_in_again};

/// The source of a provider's credential, without the credential itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CredentialSource {
    /// Key of the program, for example from `--api-key`.
    Given,
    /// Key in `auth.json`.
    StoredKey,
    /// Login in `auth.json`.
    Login {
        /// Expiry in milliseconds since 1970. A login that can be renewed outlives it.
        expires: f64,
    },
    /// Key in `models.json`.
    ModelsFile,
    /// Environment variable of this name.
    Variable(&'static str),
    /// Source of this name in the chain of a cloud provider, such as an AWS profile.
    Cloud(&'static str),
    /// The provider accepts requests without a key.
    NotNeeded,
}

/// The source of a provider's credential, with the unresolved credential.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    /// Key of the program.
    Given(SecretString),
    /// Entry of `auth.json` with a key or a login.
    Stored(StoredCredential),
    /// Entry of `auth.json` that cannot be used.
    Broken(CredentialError),
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
    /// The chain of a cloud provider.
    Cloud {
        /// Name of the source that decides.
        source: &'static str,
        state: ChainState,
        /// Variables that are stored for the provider without a key.
        env: BTreeMap<String, String>,
    },
    /// The provider accepts requests without a key.
    NotNeeded,
    /// No source has a key.
    Missing,
}

/// The state of the source that decides in the chain of a cloud provider.
#[derive(Debug, Clone)]
pub(crate) enum ChainState {
    /// The source is configured.
    Configured,
    /// The source is configured and cannot have a credential, for this reason.
    Broken(String),
    /// Only a request can tell whether the source exists.
    Unknown,
}

/// An unresolved value of a configuration file.
pub(crate) struct ConfiguredValue<'a> {
    pub(crate) text: &'a str,
    pub(crate) what: &'a str,
    pub(crate) provider: &'a str,
    pub(crate) file: &'static str,
}

/// Returns the name and the value of the variable with a provider's key.
pub(crate) fn variable(
    provider: &str,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Option<(&'static str, String)> {
    let names = providers::provider(provider)?.key_env;
    names.iter().find_map(|name| Some((*name, lookup(name).filter(|key| is_key(provider, key))?)))
}

/// Returns true if a text is a key, and does not stand for the credentials of the machine.
pub(crate) fn is_key(provider: &str, text: &str) -> bool {
    !text.is_empty() && !providers::is_placeholder(provider, text)
}

/// Returns true if a provider has API keys. Those of the user's file do.
pub(crate) fn has_keys(provider: &str) -> bool {
    providers::provider(provider).is_none_or(|info| !info.key_env.is_empty())
}

/// Returns the error of a provider without a credential. `has_login` is true if the user can sign in.
pub(crate) fn missing(provider: &str, has_login: bool) -> CredentialError {
    let name = provider.to_owned();
    let login = login_command(&CredentialName::new(provider));
    if let Some(why) = no_cloud_credentials(provider) {
        return CredentialError::Cloud { provider: name, why };
    }
    match providers::provider(provider).map(|info| info.key_env.last()) {
        Some(Some(variable)) if has_login => CredentialError::Missing {
            provider: name,
            advice: format!("Set {variable}, store a key in auth.json, or sign in with `{login}`."),
        },
        Some(Some(variable)) => CredentialError::Missing {
            provider: name,
            advice: format!("Set {variable} or store a key in auth.json."),
        },
        Some(None) => CredentialError::NotSignedIn {
            provider: name,
            advice: format!("The provider has no API keys; sign in with `{login}`."),
        },
        None if has_login => CredentialError::Missing {
            provider: name,
            advice: format!(
                "Add an \"apiKey\" for the provider to models.json, or sign in with `{login}`."
            ),
        },
        None => CredentialError::Missing {
            provider: name,
            advice: "Add an \"apiKey\" for the provider to models.json.".to_owned(),
        },
    }
}

/// Returns the reason why a cloud provider has no credentials, which are more than a key.
fn no_cloud_credentials(provider: &str) -> Option<String> {
    // The API key of Anthropic is the usual way.
    let sources = cloud::sources(provider);
    if sources.is_empty() || provider == "anthropic" {
        return None;
    }
    let names: Vec<&str> = sources.iter().map(|source| source.name).collect();
    let key = no_cloud_key(provider);
    Some(format!("{key} None of the other sources is configured: {}.", names.join(", ")))
}

/// Returns the sentences about the key of a cloud provider, which is the first thing to set on a
/// machine that has no credentials of its own.
fn no_cloud_key(provider: &str) -> String {
    let variables = providers::provider(provider).map_or(&[][..], |info| info.key_env);
    let variable = variables.last().copied().unwrap_or("the variable of the key");
    format!("{variable} is not set. Set it, or store a key with `pi auth set {provider}`.")
}

/// Returns the error of a machine that may have had credentials, and has none for this reason.
pub(crate) fn no_machine_credentials(provider: &str, why: &str) -> CredentialError {
    let (key, why) = (no_cloud_key(provider), why.trim_end_matches('.'));
    let why = format!("{key} The machine has no credentials either: {why}.");
    CredentialError::Cloud { provider: provider.to_owned(), why }
}

/// Returns the error of a chosen account without a stored credential.
pub(crate) fn no_account(name: &CredentialName, account: &str) -> CredentialError {
    let (provider, account) = (name.provider.clone(), account.to_owned());
    let advice = format!("Add it with `{}`, or choose another account.", login_command(name));
    CredentialError::NoAccount { provider, account, advice }
}

/// Returns the error of a stored credential whose type the provider does not have.
pub(crate) fn wrong_type(name: &CredentialName, stored: &StoredCredential) -> CredentialError {
    let (stored, advice) = match stored {
        StoredCredential::Oauth { .. } => {
            ("a login", "Store a key, or remove the entry from auth.json.".to_owned())
        }
        StoredCredential::ApiKey { .. } => ("an API key", sign_in_again(name)),
    };
    CredentialError::WrongType { provider: name.provider.clone(), stored, advice }
}

impl Source {
    /// Returns the source without the credential; `None` if there is none.
    pub(crate) fn public(&self) -> Option<CredentialSource> {
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
            Self::Cloud { state: ChainState::Unknown, .. } | Self::Missing => return None,
            Self::Cloud { source, .. } => CredentialSource::Cloud(source),
            Self::NotNeeded => CredentialSource::NotNeeded,
        })
    }

    /// Returns true if there is no credential.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Self::Missing | Self::Stored(StoredCredential::ApiKey { key: None, .. }))
    }

    /// Returns the reason why a credential that is not missing has no value; `None` if it may have
    /// one. Runs no command.
    pub(crate) fn problem(
        &self,
        provider: &str,
        resolver: &ValueResolver,
    ) -> Option<CredentialError> {
        let (value, env) = match self {
            Self::Stored(StoredCredential::ApiKey { key: Some(text), env, .. }) => {
                (ConfiguredValue::stored(text, provider), env)
            }
            Self::Configured(text) => {
                (ConfiguredValue::configured(text, provider), &BTreeMap::new())
            }
            Self::Broken(error) => return Some(error.clone()),
            Self::Cloud { source, state: ChainState::Broken(why), .. } => {
                let (provider, why) = (provider.to_owned(), format!("{source}: {why}."));
                return Some(CredentialError::Cloud { provider, why });
            }
            _ => return None,
        };
        resolver.problem(value.text, env).map(|why| value.failed(why))
    }

    /// Returns true if the source is there only if a request succeeds.
    pub(crate) fn is_uncertain(&self) -> bool {
        matches!(self, Self::Cloud { state: ChainState::Unknown, .. })
    }

    /// Returns the variables that are stored with the credential.
    pub(crate) fn env(&self) -> BTreeMap<String, String> {
        match self {
            Self::Stored(StoredCredential::ApiKey { env, .. })
            | Self::Variable { env, .. }
            | Self::Cloud { env, .. } => env.clone(),
            _ => BTreeMap::new(),
        }
    }
}

impl<'a> ConfiguredValue<'a> {
    /// Returns the key of `auth.json`.
    pub(crate) fn stored(text: &'a str, provider: &'a str) -> Self {
        Self { text, what: "The stored key", provider, file: "auth.json" }
    }

    /// Returns the key of `models.json`.
    pub(crate) fn configured(text: &'a str, provider: &'a str) -> Self {
        Self { text, what: "The apiKey", provider, file: "models.json" }
    }

    /// Resolves the value. A command runs each time, since it may return short-lived tokens.
    pub(crate) async fn value(&self, resolver: &ValueResolver) -> Result<String, CredentialError> {
        self.resolve(resolver, &BTreeMap::new(), CommandRuns::EachTime).await
    }

    /// Resolves the value with variables of its own.
    pub(crate) async fn resolve(
        &self,
        resolver: &ValueResolver,
        own: &BTreeMap<String, String>,
        runs: CommandRuns,
    ) -> Result<String, CredentialError> {
        resolver.resolve(self.text, own, runs).await.map_err(|why| self.failed(why))
    }

    /// Creates the error. The text is left out, since it may be part of a secret.
    fn failed(&self, why: String) -> CredentialError {
        let (what, provider) = (self.what.to_owned(), self.provider.to_owned());
        CredentialError::Unresolved { what, provider, why, file: self.file }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_credentials_is_told_about_the_key_first() {
        for (provider, variable) in [
            ("amazon-bedrock", "AWS_BEARER_TOKEN_BEDROCK"),
            ("azure", "AZURE_OPENAI_API_KEY"),
            ("google-vertex", "GOOGLE_CLOUD_API_KEY"),
        ] {
            let error = no_machine_credentials(provider, "metadata: no answer.").to_string();
            let expected = format!(
                "No credentials for {provider}: {variable} is not set. Set it, or store a key with \
                 `pi auth set {provider}`. The machine has no credentials either: metadata: no answer."
            );
            assert_eq!(error, expected);
        }
    }
}
