//! Failures, and output to stdout and stderr. The exit codes are rows of the table of outcomes.

use std::io::{ErrorKind, Write as _};
use std::process::ExitCode;

use pi_coding_agent::guard::GuardError;

/// The result of a command, as its exit code reports it.
pub(crate) use pi_protocol::Outcome as Exit;

use crate::plain::PlainWriter;

/// A failure, as the user reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    pub(crate) exit: Exit,
}

impl Failure {
    pub(crate) fn new(message: impl Into<String>, exit: Exit) -> Self {
        Self { message: message.into(), hint: None, exit }
    }

    pub(crate) fn with_hint(self, hint: impl Into<Option<String>>) -> Self {
        Self { hint: hint.into(), ..self }
    }

    /// Reports the failure on stderr and returns its exit code.
    pub(crate) fn report(&self) -> ExitCode {
        fail_with_hint(&self.message, self.hint.as_deref(), self.exit)
    }
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Self::new(message, Exit::Failed)
    }
}

/// Reports an error on stderr and returns its exit code.
pub(crate) fn fail(message: &str, exit: Exit) -> ExitCode {
    note(message);
    exit.into()
}

/// Reports an error and a hint on stderr, and returns the exit code.
pub(crate) fn fail_with_hint(message: &str, hint: Option<&str>, exit: Exit) -> ExitCode {
    note(message);
    if let Some(text) = hint {
        self::hint(text);
    }
    exit.into()
}

/// Prints a message on stderr.
pub(crate) fn note(message: &str) {
    print_stderr("pi", message);
}

/// Prints what the user can do about the message before it, on stderr.
pub(crate) fn hint(text: &str) {
    print_stderr("hint", text);
}

fn print_stderr(label: &str, message: &str) {
    // Messages may quote servers and files, which may contain keys.
    let message = crate::secrets::redacted(message);
    // A failure to write to stderr cannot be reported anywhere.
    let _ = writeln!(PlainWriter::new(std::io::stderr()), "{label}: {message}");
}

/// Prints a text to stdout.
pub(crate) fn print(text: &str) -> ExitCode {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Ok(()) => Exit::Completed.into(),
        Err(error) => on_write_error(&error),
    }
}

/// Returns the exit code for output that could not be written. A closed pipe is not reported, since
/// `pi … | head` closes it on purpose.
pub(crate) fn on_write_error(error: &std::io::Error) -> ExitCode {
    if error.kind() == ErrorKind::BrokenPipe {
        return Exit::BrokenPipe.into();
    }
    fail(&format!("cannot write the output: {error}"), Exit::Failed)
}

/// Returns the exit code of a guard error.
pub(crate) fn guard_exit(error: &GuardError) -> Exit {
    match error {
        GuardError::Sandbox(_) => Exit::SandboxUnavailable,
        _ => Exit::Configuration,
    }
}
