//! Errors of commands, with their exit codes and hints.

use std::io;
use std::process::ExitCode;

use pi_coding_agent::guard::GuardError;
use pi_config::ConfigError;
use pi_models::{CredentialError, SelectModelError};
use pi_session::SessionError;
use pi_tools::checkpoint::CheckpointError;

use crate::exit::{Exit, fail_with_hint, guard_exit, on_write_error};
use crate::hints::Hint;

pub(crate) enum Failure {
    /// An error to report, with its exit code.
    Error { message: String, hint: Option<String>, exit: Exit },
    /// Standard output could not be written.
    Output(io::Error),
}

impl Failure {
    pub(super) fn new(message: impl Into<String>, exit: Exit) -> Self {
        Self::Error { message: message.into(), hint: None, exit }
    }

    /// The command line is invalid.
    pub(super) fn usage(message: impl Into<String>) -> Self {
        Self::new(message, Exit::Usage)
    }

    /// The command failed.
    pub(super) fn failed(message: impl Into<String>) -> Self {
        Self::new(message, Exit::Failed)
    }

    /// A configuration file cannot be read or written.
    pub(super) fn configuration(message: impl Into<String>) -> Self {
        Self::new(message, Exit::Configuration)
    }

    /// Adds what the user can do about the error.
    pub(super) fn hint(mut self, text: impl Into<String>) -> Self {
        if let Self::Error { hint, .. } = &mut self {
            *hint = Some(text.into());
        }
        self
    }

    /// Prints the error and returns its exit code.
    pub(super) fn report(&self) -> ExitCode {
        match self {
            Self::Error { message, hint, exit } => fail_with_hint(message, hint.as_deref(), *exit),
            Self::Output(error) => on_write_error(error),
        }
    }

    pub(super) fn of(error: &(impl std::error::Error + Hint), exit: Exit) -> Self {
        Self::Error { message: error.to_string(), hint: error.hint(), exit }
    }
}

impl From<crate::exit::Failure> for Failure {
    fn from(crate::exit::Failure { message, hint, exit }: crate::exit::Failure) -> Self {
        Self::Error { message, hint, exit }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Io(error) if error.source.kind() == io::ErrorKind::BrokenPipe => {
                Self::Output(error.source)
            }
            error => Self::failed(error.to_string()),
        }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::configuration(error.diagnostic().to_string())
    }
}

impl From<GuardError> for Failure {
    fn from(error: GuardError) -> Self {
        Self::of(&error, guard_exit(&error))
    }
}

impl From<CheckpointError> for Failure {
    fn from(error: CheckpointError) -> Self {
        Self::failed(error.to_string())
    }
}

impl From<SelectModelError> for Failure {
    fn from(error: SelectModelError) -> Self {
        Self::of(&error, Exit::Failed)
    }
}

impl From<CredentialError> for Failure {
    fn from(error: CredentialError) -> Self {
        Self::of(&error, Exit::Failed)
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::Output(error.into())
    }
}
