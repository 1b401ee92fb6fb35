//! The process between this program and a command: it owns whatever the command starts.
//!
//! A command may leave its process group, its session and its parents (`setsid`, `nohup`, double
//! forks), and this program may be killed at any moment. So every command gets a supervisor: this
//! program, started once more with a hidden argument. As a *sub-reaper* it becomes the parent of
//! every orphan below it, so everything below it can be found; when the socket to this program is
//! closed, by intention or by death, it kills all of it, and it ends when nothing is left.
//!
//! Out of reach is what other programs start on request (`at`, `systemd-run`, container daemons).

#[cfg(target_os = "linux")]
pub(crate) mod message;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
pub(crate) mod tree;

use std::ffi::OsString;
use std::path::PathBuf;

/// The first argument that makes a program a supervisor.
pub const ARGUMENT: &str = "--pi-supervisor";

/// How to start a supervisor: a program that calls [`run_if_requested`] first thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Supervisor {
    /// The program.
    pub program: PathBuf,
    /// Its only argument: [`ARGUMENT`].
    pub argument: OsString,
}

impl Supervisor {
    /// Another program that calls [`run_if_requested`].
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), argument: ARGUMENT.into() }
    }

    /// This program, which must call [`run_if_requested`].
    pub fn this_program() -> Self {
        // Not its path: that leads elsewhere once the program was replaced by a newer version.
        Self::new("/proc/self/exe")
    }
}

/// Makes this process a supervisor if its arguments say so, and does not return then. To be
/// called at the very beginning of `main`, before there are other threads.
pub fn run_if_requested() {
    #[cfg(target_os = "linux")]
    if std::env::args_os().nth(1).is_some_and(|argument| argument == ARGUMENT) {
        let done = run::run();
        std::process::exit(i32::from(done.is_err()));
    }
}
