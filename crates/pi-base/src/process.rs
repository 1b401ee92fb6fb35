//! The one place that creates processes: clippy bans the constructors elsewhere.
//!
//! A process that inherits a directory, variables or rights by accident is a hole. Callers state all
//! three; streams and arguments are added to the returned command.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

/// The variables that a process starts with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variables {
    /// The variables of this process.
    Inherited,
    /// None; the caller adds the variables of the command.
    Empty,
}

/// The reason why a process has the rights that it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rights {
    /// A command that the guard has judged. A sandbox is part of its program and arguments.
    Judged,
    /// A program that the user has chosen or configured, such as an editor, a browser or git. It has
    /// the rights of the user.
    User,
    /// This program itself: a launcher that confines itself, a bridge or a supervisor.
    Own,
}

/// Returns a command that can be started. Without a directory, it starts in the directory of this
/// process.
#[expect(clippy::disallowed_methods, reason = "the one place that creates processes")]
pub fn command(
    program: impl AsRef<OsStr>,
    directory: Option<&Path>,
    variables: Variables,
    _rights: Rights,
) -> Command {
    let mut command = Command::new(program);
    if let Some(directory) = directory {
        command.current_dir(directory);
    }
    if variables == Variables::Empty {
        command.env_clear();
    }
    command
}
