//! Processes: what an executor is asked to start, and what it gives for it.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;

use tokio::io::{AsyncRead, AsyncWrite};

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
    /// Names of variables in `environment` that the user gave to this program. They reach it in a
    /// sandbox as well, which removes other variables with secrets.
    pub given: BTreeSet<OsString>,
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
            given: BTreeSet::new(),
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

    /// Sets environment variables that the user gave to this program.
    #[must_use]
    pub fn given<N: Into<OsString>, V: Into<OsString>>(
        mut self,
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        for (name, value) in variables {
            let name = name.into();
            self.given.insert(name.clone());
            self.environment.insert(name, value.into());
        }
        self
    }

    /// Sets the environment to which the variables are added.
    #[must_use]
    pub fn base_environment(mut self, base: BaseEnvironment) -> Self {
        self.base_environment = base;
        self
    }
}

/// A running process with empty standard input and merged output.
///
/// The parts are separate so that each can be awaited while the others are in use.
pub struct Process {
    /// Standard output and standard error, in the order of writing.
    pub output: Pin<Box<dyn AsyncRead + Send>>,
    /// Resolves when the process has ended: the exit code, 128 plus the signal if a signal killed
    /// it, `None` if the code was lost. Processes that it started may still run.
    pub exit: BoxFuture<'static, io::Result<Option<i32>>>,
    /// The process and everything it started.
    pub tree: ProcessTree,
}

pi_protocol::debug_fields!(Process);

/// A running process with separate standard streams, for servers that talk over them.
///
/// Drain `stdout` and `stderr`: a process whose output is not read blocks when the pipe is full.
/// Dropping `tree` kills the process and everything it started, also while a stream is in use.
#[non_exhaustive]
pub struct PipedProcess {
    /// Standard input. Dropping it closes the input, which asks most servers to exit.
    pub stdin: Pin<Box<dyn AsyncWrite + Send>>,
    /// Standard output.
    pub stdout: Pin<Box<dyn AsyncRead + Send>>,
    /// Standard error.
    pub stderr: Pin<Box<dyn AsyncRead + Send>>,
    /// Resolves when the process has ended, as [`Process::exit`].
    pub exit: BoxFuture<'static, io::Result<Option<i32>>>,
    /// The process and everything it started.
    pub tree: ProcessTree,
}

impl PipedProcess {
    /// Assembles a process, for implementations of [`Executor`](super::Executor).
    pub fn new(
        stdin: impl AsyncWrite + Send + 'static,
        stdout: impl AsyncRead + Send + 'static,
        stderr: impl AsyncRead + Send + 'static,
        exit: BoxFuture<'static, io::Result<Option<i32>>>,
        tree: ProcessTree,
    ) -> Self {
        let (stdin, stdout, stderr) = (Box::pin(stdin), Box::pin(stdout), Box::pin(stderr));
        Self { stdin, stdout, stderr, exit, tree }
    }
}

pi_protocol::debug_fields!(PipedProcess);

/// A process and everything it started. Dropping the value kills all of them;
/// [`ProcessTree::kill`] also waits until they are gone.
pub struct ProcessTree {
    lease: Box<dyn Any + Send + Sync>,
    terminate: Option<Box<dyn Fn() + Send + Sync>>,
    gone: BoxFuture<'static, ()>,
    aftermath: Option<BoxFuture<'static, Aftermath>>,
    running: Option<Box<dyn Fn() -> Vec<String> + Send + Sync>>,
}

/// What is known about processes when all of them are gone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Aftermath {
    /// Sentences for the model and the user: limits that the processes reached, and files of theirs
    /// that were disabled or restored.
    pub notes: Vec<String>,
    /// A file that may run programs outside of the sandbox could not be disabled: the result of the
    /// command, or of the session, is a failure.
    pub is_dangerous: bool,
}

impl ProcessTree {
    /// A tree of processes that are killed when `lease` is dropped; `gone` resolves after that,
    /// when no process is left.
    pub fn new(lease: impl Any + Send + Sync, gone: BoxFuture<'static, ()>) -> Self {
        Self { lease: Box::new(lease), terminate: None, gone, aftermath: None, running: None }
    }

    /// Adds the way to ask the processes to exit. It must not keep the lease alive.
    #[cfg(unix)]
    pub(crate) fn with_terminate(self, terminate: impl Fn() + Send + Sync + 'static) -> Self {
        Self { terminate: Some(Box::new(terminate)), ..self }
    }

    /// Asks all processes to exit, with SIGTERM. Does not wait, and does nothing on executors that
    /// cannot send signals.
    pub fn terminate(&self) {
        if let Some(terminate) = &self.terminate {
            terminate();
        }
    }

    /// Adds the source of the processes that run.
    #[cfg(target_os = "linux")]
    pub(crate) fn with_running(
        self,
        running: impl Fn() -> Vec<String> + Send + Sync + 'static,
    ) -> Self {
        Self { running: Some(Box::new(running)), ..self }
    }

    /// Returns the command lines of the processes that run, if the executor knows them. Those in a
    /// sandbox end with its first process.
    pub(crate) fn running(&self) -> Vec<String> {
        self.running.as_ref().map(|running| running()).unwrap_or_default()
    }

    /// Adds an examination of what the processes left, which happens when they are gone.
    pub(crate) fn with_aftermath(self, aftermath: BoxFuture<'static, Aftermath>) -> Self {
        Self { aftermath: Some(aftermath), ..self }
    }

    /// Kills all processes, waits until they are gone, and examines what they left.
    pub async fn kill(self) -> Aftermath {
        drop(self.lease);
        self.gone.await;
        match self.aftermath {
            Some(aftermath) => aftermath.await,
            None => Aftermath::default(),
        }
    }
}

pi_protocol::debug_fields!(ProcessTree);
