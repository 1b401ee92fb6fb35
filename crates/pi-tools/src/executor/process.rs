//! Processes: what an executor is asked to start, and what it gives for it.

use std::any::Any;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;

use tokio::io::AsyncRead;

use super::BoxFuture;

/// What the environment of a command begins with, before what is named for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Inherit {
    /// Nothing: what is named is all there is.
    #[default]
    Nothing,
    /// What programs find there anyway: on another machine or in a container, its own search path,
    /// home directory and language, which this machine does not know.
    Executor,
}

/// Something to start. Standard input is empty.
#[derive(Debug, Clone)]
pub struct Command {
    /// The program, as a path of the executor.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Where it runs.
    pub cwd: PathBuf,
    /// What is set in its environment.
    pub environment: BTreeMap<OsString, OsString>,
    /// What else is in it.
    pub inherit: Inherit,
}

/// A running process, and whatever it starts.
///
/// The parts are separate so that each can be waited for while the others are in use.
pub struct Process {
    /// What it writes to standard output and standard error, in the order of writing.
    pub output: Pin<Box<dyn AsyncRead + Send>>,
    /// Resolves when the process has ended, with its exit code: 128 and the signal if one killed
    /// it, nothing if that got lost. What the process has started may still run.
    pub exit: BoxFuture<'static, io::Result<Option<i32>>>,
    /// Keeps all of it running.
    pub lease: Lease,
}

impl fmt::Debug for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Process").finish_non_exhaustive()
    }
}

/// The right of a process, and of all it has started, to run. Dropping it kills them at once;
/// [`Lease::end`] also waits until they are gone.
pub struct Lease {
    held: Box<dyn Any + Send + Sync>,
    gone: BoxFuture<'static, ()>,
}

impl Lease {
    /// A lease that ends when `held` is dropped; `gone` resolves when nothing is left then.
    pub fn new(held: impl Any + Send + Sync, gone: BoxFuture<'static, ()>) -> Self {
        Self { held: Box::new(held), gone }
    }

    /// Kills everything and waits until it is gone.
    pub async fn end(self) {
        drop(self.held);
        self.gone.await;
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease").finish_non_exhaustive()
    }
}
