//! Exit codes, and output to stdout and stderr. No other file knows the numbers.

use std::io::{ErrorKind, Write as _};
use std::process::ExitCode;

use crate::commands::plain::PlainWriter;

/// The result of a command, as its exit code reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Success,
    Failed,
    Usage,
    Truncated,
    Limit,
    NoModel,
    Configuration,
    Unavailable,
    SandboxUnavailable,
    InvalidOutput,
    Guardrail,
    Crashed,
    HungUp,
    Interrupted,
    BrokenPipe,
    Terminated,
}

impl Exit {
    /// All exit codes, in the order of the documentation.
    pub(crate) const ALL: &[Self] = &[
        Self::Success,
        Self::Failed,
        Self::Usage,
        Self::Truncated,
        Self::Limit,
        Self::NoModel,
        Self::Configuration,
        Self::Unavailable,
        Self::SandboxUnavailable,
        Self::InvalidOutput,
        Self::Guardrail,
        Self::Crashed,
        Self::HungUp,
        Self::Interrupted,
        Self::BrokenPipe,
        Self::Terminated,
    ];

    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Truncated => 3,
            Self::Limit => 4,
            Self::NoModel => 5,
            Self::Configuration => 6,
            Self::Unavailable => 7,
            Self::SandboxUnavailable => 8,
            Self::InvalidOutput => 12,
            Self::Guardrail => 16,
            // The exit code of Rust programs after a panic.
            Self::Crashed => 101,
            // The codes that shells report after SIGHUP, SIGINT, SIGPIPE and SIGTERM.
            Self::HungUp => 129,
            Self::Interrupted => 130,
            Self::BrokenPipe => 141,
            Self::Terminated => 143,
        }
    }

    /// Returns the description for the help and the manual.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Self::Success => "Success; the answer is complete",
            Self::Failed => "Failure, for example an error of the provider or an unknown session",
            Self::Usage => "Invalid command line",
            Self::Truncated => "The answer was cut off at the model's output limit",
            Self::Limit => "A limit of the run was reached before the work was done",
            Self::NoModel => "No model that can be used, or no valid credentials for it",
            Self::Configuration => "A configuration file cannot be used",
            Self::Unavailable => "Not available in this version",
            Self::SandboxUnavailable => "Commands cannot be sandboxed as required",
            Self::InvalidOutput => "The result does not match the schema after the last repair",
            Self::Guardrail => "A guardrail or hook blocked the prompt or stopped the run",
            Self::Crashed => "Crash; a report was written",
            Self::HungUp => "The terminal was closed",
            Self::Interrupted => "Interrupted",
            Self::BrokenPipe => "Standard output was closed",
            Self::Terminated => "Terminated by a signal",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

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
        Ok(()) => Exit::Success.into(),
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
