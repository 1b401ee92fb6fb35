//! Exit codes: the only place that knows the numbers.

use std::io::{ErrorKind, Write as _};
use std::process::ExitCode;

use crate::commands::plain::Plain;

/// How a command ended.
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
    NotConfined,
    Crashed,
    HungUp,
    Interrupted,
    BrokenPipe,
    Terminated,
}

impl Exit {
    /// All of them, as they are documented.
    pub(crate) const ALL: &[Self] = &[
        Self::Success,
        Self::Failed,
        Self::Usage,
        Self::Truncated,
        Self::Limit,
        Self::NoModel,
        Self::Configuration,
        Self::Unavailable,
        Self::NotConfined,
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
            Self::NotConfined => 8,
            // What Rust programs exit with after a panic.
            Self::Crashed => 101,
            // As shells report a process that was ended by SIGHUP, SIGINT, SIGPIPE or SIGTERM.
            Self::HungUp => 129,
            Self::Interrupted => 130,
            Self::BrokenPipe => 141,
            Self::Terminated => 143,
        }
    }

    /// For the help and the manual.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Self::Success => "Done; an answer is complete",
            Self::Failed => "Failed, for example because the provider refused",
            Self::Usage => "The command line is wrong",
            Self::Truncated => "The answer was cut at the model's output limit",
            Self::Limit => "A limit of this run was reached before the work was done",
            Self::NoModel => "No model, or no credentials for it",
            Self::Configuration => "A file of the configuration cannot be used",
            Self::Unavailable => "This version cannot do that yet",
            Self::NotConfined => "Commands cannot be confined as the profile requires",
            Self::Crashed => "Crashed; a report was written",
            Self::HungUp => "The terminal went away",
            Self::Interrupted => "Interrupted",
            Self::BrokenPipe => "Whoever read the output has gone",
            Self::Terminated => "Told to end",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// Says what went wrong, on stderr.
pub(crate) fn complain(message: &str, exit: Exit) -> ExitCode {
    note(message);
    exit.into()
}

/// Says something that is not output, on stderr.
pub(crate) fn note(message: &str) {
    // What servers and files say may be quoted in it, and they may quote keys. And there is nowhere
    // left to report a stderr that cannot be written.
    let message = crate::secrets::masked(message);
    let _ = writeln!(Plain::new(std::io::stderr()), "pi: {message}");
}

/// Prints a text to stdout.
pub(crate) fn print(text: &str) -> ExitCode {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Ok(()) => Exit::Success.into(),
        Err(error) => on_write_error(&error),
    }
}

/// The exit for output that could not be written: silent if the reader has gone, as `head` does.
pub(crate) fn on_write_error(error: &std::io::Error) -> ExitCode {
    if error.kind() == ErrorKind::BrokenPipe {
        return Exit::BrokenPipe.into();
    }
    complain(&format!("could not write the output: {error}"), Exit::Failed)
}
