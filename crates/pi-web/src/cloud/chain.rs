//! A chain of sources: the first configured one decides.

use pi_protocol::EnvOverrides;

#[cfg(not(feature = "cloud-sources"))]
use super::not_built::{anthropic, aws, azure, google};
use super::{Found, Presence, Sought, Source, SourceError, Surroundings};
#[cfg(feature = "cloud-sources")]
use super::{anthropic, aws, azure, google};

/// Returns the sources of a provider in order; empty if it has none beside its keys.
pub fn sources(provider: &str) -> &'static [Source] {
    match provider {
        "amazon-bedrock" => aws::SOURCES,
        "anthropic" => anthropic::SOURCES,
        "azure" => azure::SOURCES,
        "google-vertex" => google::SOURCES,
        _ => &[],
    }
}

/// Returns the variables that the sources of a provider read. Some hold secrets.
pub fn variables(provider: &str) -> &'static [&'static str] {
    match provider {
        "amazon-bedrock" => aws::VARIABLES,
        "anthropic" => anthropic::VARIABLES,
        "azure" => azure::VARIABLES,
        "google-vertex" => google::VARIABLES,
        _ => &[],
    }
}

/// Returns the variables that files of the machine supply for requests to a provider, whichever
/// credential they have: the region of an AWS profile. Those that are set are not part of them.
pub fn defaults(provider: &str, surroundings: &Surroundings) -> EnvOverrides {
    match provider {
        "amazon-bedrock" => aws::defaults(surroundings),
        _ => EnvOverrides::new(),
    }
}

/// The reason why a chain has no credential.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum CloudError {
    /// The provider has no chain.
    #[error("{provider} has no credentials beside its keys")]
    NoChain {
        /// Id of the provider.
        provider: String,
    },
    /// No source is configured.
    #[error("no source of credentials is configured; {}", first_steps(provider))]
    NotConfigured {
        /// Id of the provider.
        provider: String,
        /// The name of each source, and the reason why it has none.
        reasons: Vec<(&'static str, String)>,
    },
    /// The source that decides has none.
    #[error("{name}: {error}")]
    Failed {
        /// The name of the source.
        name: &'static str,
        /// The reason, with what to do.
        error: SourceError,
    },
    /// The program ends.
    #[error("the search for credentials was interrupted")]
    Interrupted,
}

/// Returns the usual ways to configure the credentials of a provider.
fn first_steps(provider: &str) -> &'static str {
    match provider {
        "amazon-bedrock" => {
            "set AWS_BEARER_TOKEN_BEDROCK, AWS_PROFILE, or AWS_ACCESS_KEY_ID and \
             AWS_SECRET_ACCESS_KEY"
        }
        "azure" => "set AZURE_OPENAI_API_KEY, or run `az login`",
        "google-vertex" => {
            "set GOOGLE_CLOUD_API_KEY or GOOGLE_APPLICATION_CREDENTIALS, or run `gcloud auth \
             application-default login`"
        }
        _ => "set a key",
    }
}

/// Asks the sources of a provider in order.
pub async fn find(provider: &str, surroundings: &Surroundings) -> Result<Found, CloudError> {
    let sources = sources(provider);
    if sources.is_empty() {
        return Err(CloudError::NoChain { provider: provider.to_owned() });
    }
    let mut reasons = Vec::new();
    for source in sources {
        let name = source.name;
        if let Presence::Absent(reason) = (source.presence)(surroundings) {
            reasons.push((name, reason));
            continue;
        }
        match (source.seek)(surroundings).await {
            Ok(Sought::Found(found)) => return Ok(Found { source: name, ..*found }),
            Ok(Sought::Absent(reason)) => reasons.push((name, reason)),
            Err(error) => return Err(CloudError::Failed { name, error }),
        }
    }
    Err(CloudError::NotConfigured { provider: provider.to_owned(), reasons })
}

/// A source in an explanation.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explained {
    /// The name of the source.
    pub source: &'static str,
    /// The part that the source has in the search.
    pub outcome: Outcome,
}

/// The part of a source in a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The source is not configured, for this reason.
    Skipped(String),
    /// The source would be asked over the network, and the next one follows if it does not respond.
    Tried(String),
    /// The source decides. The text says what configures it.
    Used(String),
    /// The source decides and cannot have a credential, for this reason.
    Failed(String),
    /// An earlier source decides.
    NotReached,
}

/// Returns which source of a provider would be used and why earlier ones are not. Uses neither the
/// network nor programs.
pub fn explain(provider: &str, surroundings: &Surroundings) -> Vec<Explained> {
    let mut decided = false;
    let mut explained = Vec::new();
    for source in sources(provider) {
        let outcome = if decided {
            Outcome::NotReached
        } else {
            match (source.presence)(surroundings) {
                Presence::Absent(reason) => Outcome::Skipped(reason),
                Presence::Unknown(place) => Outcome::Tried(place),
                Presence::Configured(by) => {
                    decided = true;
                    Outcome::Used(by)
                }
                Presence::Broken(reason) => {
                    decided = true;
                    Outcome::Failed(reason)
                }
            }
        };
        explained.push(Explained { source: source.name, outcome });
    }
    explained
}
