//! Credentials that the machine has: the chains of the cloud providers.
//!
//! A [`Source`] is one place of a chain, such as a profile or the metadata server. The sources of a
//! provider are asked in order; the first one that is configured decides, even if it fails, since a
//! request with the credentials of another account is worse than none.
//!
//! [`find`] asks the chain, [`CloudCache`] remembers the result until shortly before its end, and
//! [`explain`] says which source would be used without asking any.
//!
//! Sources read variables and files through [`Surroundings`], start programs only through it, and
//! must not print anything.

#[cfg(feature = "cloud-sources")]
mod anthropic;
#[cfg(feature = "cloud-sources")]
pub mod aws;
#[cfg(feature = "cloud-sources")]
mod azure;
mod cache;
mod chain;
#[cfg(feature = "cloud-sources")]
mod exchange;
#[cfg(feature = "cloud-sources")]
mod google;
#[cfg(not(feature = "cloud-sources"))]
mod not_built;
mod surroundings;
#[cfg(feature = "cloud-sources")]
mod timestamp;
#[cfg(feature = "cloud-sources")]
mod token;

use std::collections::BTreeMap;
use std::pin::Pin;
use std::time::SystemTime;

use pi_protocol::EnvOverrides;
use secrecy::SecretString;

pub use cache::CloudCache;
pub use chain::{CloudError, Explained, Outcome, defaults, explain, find, sources, variables};
pub use surroundings::{RunCommand, Surroundings};

use crate::aws::AwsKeys;
use crate::{Authorization, KeyScheme};

/// A credential that a source found.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum CloudCredential {
    /// Keys that sign requests.
    Aws(AwsKeys),
    /// A token that is sent.
    Token {
        /// The token.
        token: SecretString,
        /// The way in which it is sent.
        scheme: KeyScheme,
        /// The end of the token.
        expires: Option<SystemTime>,
    },
}

impl CloudCredential {
    /// Creates a bearer token.
    pub(crate) fn bearer(token: SecretString, expires: Option<SystemTime>) -> Self {
        Self::Token { token, scheme: KeyScheme::Bearer, expires }
    }

    /// Returns the end of the credential, if it has one.
    pub fn expires(&self) -> Option<SystemTime> {
        match self {
            Self::Aws(keys) => keys.expires,
            Self::Token { expires, .. } => *expires,
        }
    }
}

/// A credential with everything that its source knows about requests.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Found {
    /// The name of the source for people.
    pub source: &'static str,
    /// The credential.
    pub credential: CloudCredential,
    /// Variables that the source supplies and that are not set otherwise, such as the region of a
    /// profile or the project of a service account.
    pub env: EnvOverrides,
    /// Headers that belong to the credential, such as the project that is billed.
    pub headers: BTreeMap<String, String>,
}

impl Found {
    /// Creates the result of a source. The chain fills in the name of the source.
    pub(crate) fn new(credential: CloudCredential) -> Self {
        Self { source: "", credential, env: EnvOverrides::new(), headers: BTreeMap::new() }
    }

    /// Returns the credentials for a request. They are renewable: a second search may find newer
    /// ones.
    pub fn authorization(&self) -> Authorization {
        let mut authorization = Authorization {
            env: self.env.clone(),
            headers: self.headers.clone(),
            is_renewable: true,
            ..Authorization::default()
        };
        match &self.credential {
            CloudCredential::Aws(keys) => authorization.aws = Some(keys.clone()),
            CloudCredential::Token { token, scheme, .. } => {
                authorization.key = Some(token.clone());
                authorization.scheme = *scheme;
            }
        }
        authorization
    }
}

/// The state of a source, as far as it can be told without the network and without programs. The
/// texts are clauses for people and have no secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Presence {
    /// The source is configured and decides. The text says by what.
    Configured(String),
    /// The source is configured and decides, but cannot have a credential, for this reason.
    Broken(String),
    /// The source exists on some machines, and only a request can tell. The text says where it is
    /// looked for.
    Unknown(String),
    /// The source is not configured, for this reason.
    Absent(String),
}

/// The answer of a source.
#[derive(Debug)]
pub enum Sought {
    /// The source is not configured, for this reason; the next one is asked.
    Absent(String),
    /// The source has a credential.
    Found(Box<Found>),
}

/// The reason why a configured source has no credential, and what to do. Has no secrets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SourceError(String);

impl SourceError {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

/// The pending answer of a source.
pub type Seeking<'a> = Pin<Box<dyn Future<Output = Result<Sought, SourceError>> + Send + 'a>>;

/// A place of a chain.
#[derive(Debug)]
pub struct Source {
    /// The name of the source for people, such as `AWS profile`.
    pub name: &'static str,
    /// Returns the state of the source. Uses neither the network nor a program.
    pub presence: fn(&Surroundings) -> Presence,
    /// Asks the source. Called unless it is absent.
    pub seek: fn(&Surroundings) -> Seeking<'_>,
}
