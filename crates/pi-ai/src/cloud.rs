//! Credentials that the machine has: the chains of the cloud providers.
//!
//! A [`Source`] is one place of a chain, such as a profile or the metadata server. The sources of a
//! provider are asked in order; the first one that is configured decides, even if it fails, since a
//! request with the credentials of another account is worse than none.
//!
//! Sources read variables and files through [`Surroundings`], start programs only through it, and
//! must not store or print anything.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use pi_protocol::HookFuture;
use secrecy::SecretString;

use crate::aws::AwsKeys;
use crate::web::WebClient;
use crate::{KeyScheme, Variables};

/// What sources may use of the machine.
#[derive(Clone)]
#[non_exhaustive]
pub struct Surroundings {
    /// Variables: those stored with the credential, then those of the process.
    pub variables: Variables,
    /// The home directory of the user.
    pub home: Option<PathBuf>,
    /// The client for metadata servers and token endpoints.
    pub web: WebClient,
    /// Runs a command line of the user's configuration and returns its output.
    pub run: Option<Arc<RunCommand>>,
}

/// Runs a program with its arguments; returns what it printed, or the reason of the failure.
pub type RunCommand = dyn Fn(Vec<String>) -> HookFuture<Result<String, String>> + Send + Sync;

impl Surroundings {
    /// Creates surroundings without a home directory and without programs.
    pub fn new(variables: Variables, web: WebClient) -> Self {
        Self { variables, home: None, web, run: None }
    }
}

impl fmt::Debug for Surroundings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Surroundings").field("home", &self.home).finish_non_exhaustive()
    }
}

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

/// The answer of a source.
#[derive(Debug)]
pub enum Sought {
    /// The source is not configured, for this reason.
    Absent(String),
    /// The source is configured and has a credential.
    Found(CloudCredential),
    /// The source is configured and has no credential. The text says what to do.
    Failed(String),
}

/// One place of a chain.
pub trait Source: Sync {
    /// The name of the source for people, such as `the AWS profile`.
    fn name(&self) -> &'static str;

    /// Returns true if the source would be asked for a credential. Uses neither the network nor a
    /// program.
    fn is_configured(&self, surroundings: &Surroundings) -> bool;

    /// Asks the source.
    fn seek<'a>(
        &'a self,
        surroundings: &'a Surroundings,
    ) -> std::pin::Pin<Box<dyn Future<Output = Sought> + Send + 'a>>;
}

/// Returns the sources of a provider in order; empty if it has none beside its keys.
pub fn sources(provider: &str) -> &'static [&'static dyn Source] {
    let _ = provider;
    &[]
}
