//! Exit codes: the only place that knows the numbers.

use std::io::{ErrorKind, Write as _};
use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The answer is complete.
    Success,
    /// The request failed.
    Failed,
    /// The command line is wrong.
    Usage,
    /// The answer was cut at the output limit.
    Truncated,
    /// Interrupted by the user.
    Interrupted,
    /// Whoever read the output has gone.
    BrokenPipe,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Success => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Truncated => 3,
            // As shells report a process ended by SIGINT or SIGPIPE.
            Exit::Interrupted => 130,
            Exit::BrokenPipe => 141,
        })
    }
}

/// Says what went wrong, on stderr.
pub(crate) fn complain(message: &str, exit: Exit) -> ExitCode {
    // There is nowhere left to report a stderr that cannot be written.
    let _ = writeln!(std::io::stderr(), "pi: {message}");
    exit.into()
}

/// The exit for output that could not be written: silent if the reader has gone, as `head` does.
pub(crate) fn on_write_error(error: &std::io::Error) -> ExitCode {
    if error.kind() == ErrorKind::BrokenPipe {
        return Exit::BrokenPipe.into();
    }
    complain(&format!("could not write the output: {error}"), Exit::Failed)
}
