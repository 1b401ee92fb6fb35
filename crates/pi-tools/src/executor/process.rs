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

/// The environment that a command starts from, before its own variables are set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum BaseEnvironment {
    /// No variables: the command has its own variables only.
    #[default]
    Empty,
    /// The environment of the executor. On another machine or in a container, this is its own
    /// search path, home directory and locale, which this machine does not know.
    Executor,
}

/// A program to start, its arguments, working directory and environment.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Command {
    /// Path of the program on the executor.
    pub program: PathBuf,
    /// Arguments, without the name of the program.
    pub arguments: Vec<OsString>,
    /// Working directory.
    pub cwd: PathBuf,
    /// Environment variables to set.
    pub environment: BTreeMap<OsString, OsString>,
    /// Environment to which `environment` is added.
    pub base_environment: BaseEnvironment,
}

impl Command {
    /// A command without arguments and with an empty environment.
    pub fn new(program: impl Into<PathBuf>, cwd: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
            cwd: cwd.into(),
            environment: BTreeMap::new(),
            base_environment: BaseEnvironment::default(),
        }
    }

    /// Appends arguments.
    #[must_use]
    pub fn arguments<A: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Sets environment variables; others stay as they are.
    #[must_use]
    pub fn environment<N: Into<OsString>, V: Into<OsString>>(
        mut self,
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        let variables = variables.into_iter();
        self.environment.extend(variables.map(|(name, value)| (name.into(), value.into())));
        self
    }

    /// Sets the environment to which the variables are added.
    #[must_use]
    pub fn base_environment(mut self, base: BaseEnvironment) -> Self {
        self.base_environment = base;
        self
    }
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
    pub tree: ProcessTree,
}

impl fmt::Debug for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Process").finish_non_exhaustive()
    }
}

/// The right of a process, and of all it has started, to run. Dropping it kills them at once;
/// [`ProcessTree::kill`] also waits until they are gone.
pub struct ProcessTree {
    held: Box<dyn Any + Send + Sync>,
    gone: BoxFuture<'static, ()>,
}

impl ProcessTree {
    /// A tree that ends when `held` is dropped; `gone` resolves when nothing is left then.
    pub fn new(held: impl Any + Send + Sync, gone: BoxFuture<'static, ()>) -> Self {
        Self { held: Box::new(held), gone }
    }

    /// Kills everything and waits until it is gone.
    pub async fn kill(self) {
        drop(self.held);
        self.gone.await;
    }
}

impl fmt::Debug for ProcessTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProcessTree").finish_non_exhaustive()
    }
}
