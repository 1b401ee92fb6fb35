//! The process as JavaScript sees it: its variables, working directory, arguments and output.
//!
//! JavaScript may change variables and directory. The changes stay here, because those of the real
//! process are shared by all threads: they apply to paths and to the programs that JavaScript starts.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::access::Access;

/// A stream to which JavaScript writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputStream {
    /// `console`.
    Console,
    /// `process.stdout`.
    Stdout,
    /// `process.stderr`.
    Stderr,
}

/// Receives what JavaScript writes.
pub type OutputWriter = Arc<dyn Fn(OutputStream, &[u8]) + Send + Sync>;

/// Returns columns and rows of the terminal; `None` if the standard streams are none.
pub type TerminalSize = Arc<dyn Fn() -> Option<(u16, u16)> + Send + Sync>;

/// Where the standard streams of a program lead that inherits those of this program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum InheritedStreams {
    /// Output goes to standard error; there is no input.
    #[default]
    Stderr,
    /// The terminal, while no screen is drawn.
    Terminal,
    /// Nowhere, because a screen is drawn.
    Nothing,
}

/// Properties of the process that JavaScript sees.
#[derive(Clone)]
#[non_exhaustive]
pub struct ProcessOptions {
    /// Environment variables.
    pub variables: BTreeMap<String, String>,
    /// Working directory.
    pub cwd: PathBuf,
    /// Path of this program, with which extensions start it again.
    pub executable: PathBuf,
    /// Arguments of this program, without its name.
    pub arguments: Vec<String>,
    /// Receives what JavaScript writes.
    pub output: OutputWriter,
    /// Returns where inherited streams lead at the moment.
    pub inherited: Arc<dyn Fn() -> InheritedStreams + Send + Sync>,
    /// Returns the size of the terminal while the program draws a screen on one.
    pub terminal: TerminalSize,
}

impl ProcessOptions {
    /// Creates the properties of a process in a directory, without variables. Output goes to
    /// standard error: standard output belongs to the protocol of the program.
    pub fn new(cwd: impl Into<PathBuf>) -> Self {
        Self {
            variables: BTreeMap::new(),
            cwd: cwd.into(),
            executable: PathBuf::from("/proc/self/exe"),
            arguments: Vec::new(),
            output: Arc::new(|_, bytes| {
                use std::io::Write as _;
                // An error here has no reader.
                let _ = std::io::stderr().write_all(bytes);
            }),
            inherited: Arc::new(InheritedStreams::default),
            terminal: Arc::new(|| None),
        }
    }
}

pi_protocol::debug_fields!(ProcessOptions, cwd);

/// The process of one JavaScript thread, with the changes that JavaScript made.
pub(crate) struct ProcessState {
    pub(crate) options: ProcessOptions,
    variables: RefCell<BTreeMap<String, String>>,
    cwd: RefCell<PathBuf>,
}

impl ProcessState {
    pub(crate) fn new(options: ProcessOptions, access: &Access) -> Self {
        let variables = RefCell::new(access.visible(options.variables.clone()));
        let cwd = RefCell::new(options.cwd.clone());
        Self { options, variables, cwd }
    }

    /// Returns the working directory.
    pub(crate) fn cwd(&self) -> PathBuf {
        self.cwd.borrow().clone()
    }

    pub(crate) fn set_cwd(&self, directory: PathBuf) {
        *self.cwd.borrow_mut() = directory;
    }

    /// Returns the absolute path of a path that JavaScript gives.
    pub(crate) fn absolute(&self, path: &Path) -> PathBuf {
        if path.is_absolute() { path.to_owned() } else { self.cwd.borrow().join(path) }
    }

    /// Returns the variables for a program that JavaScript starts.
    pub(crate) fn variables(&self) -> BTreeMap<String, String> {
        self.variables.borrow().clone()
    }

    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        self.variables.borrow().get(name).cloned()
    }

    pub(crate) fn set_variable(&self, name: String, value: Option<String>) {
        match value {
            Some(value) => self.variables.borrow_mut().insert(name, value),
            None => self.variables.borrow_mut().remove(&name),
        };
    }
}
