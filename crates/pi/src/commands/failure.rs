//! Why a command failed, and the exit code for it.

use std::io;
use std::process::ExitCode;

use pi_coding_agent::config::ConfigError;
use pi_coding_agent::guard::GuardError;
use pi_session::SessionError;
use pi_tools::checkpoint::CheckpointError;

use crate::exit::{Exit, complain, on_write_error};

pub(super) enum Failure {
    Usage(String),
    Failed(String),
    /// A file of the user cannot be read or written.
    Configuration(String),
    /// Commands cannot be confined as they should be.
    NotConfined(String),
    /// Stdout could not be written.
    Output(io::Error),
}

impl Failure {
    pub(super) fn report(&self) -> ExitCode {
        match self {
            Self::Usage(message) => complain(message, Exit::Usage),
            Self::Failed(message) => complain(message, Exit::Failed),
            Self::Configuration(message) => complain(message, Exit::Configuration),
            Self::NotConfined(message) => complain(message, Exit::NotConfined),
            Self::Output(error) => on_write_error(error),
        }
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
            SessionError::Io { source, .. } if source.kind() == io::ErrorKind::BrokenPipe => {
                Self::Output(source)
            }
            error => Self::Failed(error.to_string()),
        }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::Configuration(error.diagnostic().to_string())
    }
}

impl From<GuardError> for Failure {
    fn from(error: GuardError) -> Self {
        match error {
            GuardError::Sandbox(_) => Self::NotConfined(error.to_string()),
            _ => Self::Configuration(error.to_string()),
        }
    }
}

impl From<CheckpointError> for Failure {
    fn from(error: CheckpointError) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::Output(error.into())
    }
}
