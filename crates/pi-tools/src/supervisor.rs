//! The supervisor: a process between this program and a command, which owns all processes of the
//! command.
//!
//! A command may leave its process group, its session and its parents (`setsid`, `nohup`, double
//! forks), and this program may be killed at any moment. So every command gets a supervisor: this
//! program, started again with a hidden argument. As a *subreaper* it becomes the parent of every
//! orphan below it, so it can find all processes below it. When the socket to this program is
//! closed, by intention or by death, the supervisor kills all of them, and it exits when none is
//! left.
//!
//! Processes that other programs start on request (`at`, `systemd-run`, container daemons) are out
//! of reach.

#[cfg(target_os = "linux")]
pub(crate) mod message;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
pub(crate) mod tree;

use std::path::PathBuf;

/// The first argument of a supervisor process.
#[cfg(target_os = "linux")]
pub(crate) const ARGUMENT: &str = "--pi-supervisor";

/// The program to start as a supervisor. It must call [`run_if_requested`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Supervisor {
    /// Path of the program.
    pub program: PathBuf,
}

impl Supervisor {
    /// Uses another program as the supervisor.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into() }
    }

    /// Uses this program as the supervisor.
    pub fn this_program() -> Self {
        // Not its path, which may lead to a newer version by now.
        Self::new("/proc/self/exe")
    }
}

/// Runs a supervisor and exits if the arguments of this process ask for one. To be called at the
/// very beginning of `main`, before there are other threads.
pub fn run_if_requested() {
    #[cfg(target_os = "linux")]
    if std::env::args_os().nth(1).is_some_and(|argument| argument == ARGUMENT) {
        let done = run::run();
        std::process::exit(i32::from(done.is_err()));
    }
}
