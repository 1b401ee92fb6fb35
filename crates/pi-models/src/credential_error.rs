//! The reasons why a request has no credentials.

use crate::accounts::{CredentialName, InvalidAccount};

/// The reasons why there are no credentials for a request.
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
    /// The provider has no keys, and the user has not signed in.
    #[error("{provider} is not signed in. {advice}")]
    NotSignedIn {
        /// Id of the provider.
        provider: String,
        /// Advice for the user.
        advice: String,
    },
    /// The chosen account has no stored credential.
    #[error("There is no account \"{account}\" of {provider} in auth.json. {advice}")]
    NoAccount {
        /// Id of the provider.
        provider: String,
        /// Name of the account.
        account: String,
        /// Advice for the user.
        advice: String,
    },
    /// The chosen account is not the name of one.
    #[error(transparent)]
    InvalidAccount(#[from] InvalidAccount),
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
    /// The stored credential is of a type that the provider does not have.
    #[error(
        "The stored credential of {provider} is {stored}, which {provider} does not have. {advice}"
    )]
    WrongType {
        /// Id of the provider.
        provider: String,
        /// The type of the credential.
        stored: &'static str,
        /// Advice for the user.
        advice: String,
    },
    /// The login has ended, and only the user can renew it.
    #[error("The login of {name} has ended: {why}. {advice}")]
    Expired {
        /// Name of the credential.
        name: Box<CredentialName>,
        /// Reason why the login cannot be renewed.
        why: String,
        /// Advice for the user.
        advice: String,
    },
    /// The login could not be renewed now.
    #[error(
        "The login of {name} could not be renewed: {why}. Retry; if that does not help, sign in again with `{}`.",
        login_command(name)
    )]
    NotRenewed {
        /// Name of the credential.
        name: Box<CredentialName>,
        /// The reason.
        why: String,
    },
    /// The renewed login could not be stored.
    #[error("The renewed login of {name} could not be stored: {why}. {advice}")]
    NotStored {
        /// Name of the credential.
        name: Box<CredentialName>,
        /// The reason.
        why: String,
        /// Advice for the user.
        advice: String,
    },
    /// The chain of a cloud provider has no credentials.
    #[error("No credentials for {provider}: {why}")]
    Cloud {
        /// Id of the provider.
        provider: String,
        /// The reason, with advice.
        why: String,
    },
    /// The credentials consist of keys that sign requests.
    #[error("{provider} has no API key: its requests are signed with AWS keys")]
    NotAKey {
        /// Id of the provider.
        provider: String,
    },
}

/// Returns the sentence that tells the user to sign in again.
pub(crate) fn sign_in_again(name: &CredentialName) -> String {
    format!("Sign in again with `{}`.", login_command(name))
}

/// Returns the command that signs in.
pub(crate) fn login_command(name: &CredentialName) -> String {
    match &name.account {
        Some(account) => format!("pi auth login {} --account {account}", name.provider),
        None => format!("pi auth login {}", name.provider),
    }
}
