//! Reports of the programs and files that a command uses, for a caller that wants to know what a
//! command depends on. Nothing is judged here.

use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use pi_exec_watch::FileUse;

use super::caller::Image;

/// A program that starts, or a file that a process opens or looks for. Paths are absolute, as the
/// command sees them, with their links and `..`. A reported call may still fail.
#[non_exhaustive]
pub enum Observed<'a> {
    /// A process becomes a program, or has become it.
    Program {
        /// The program: a script, or the file that interprets it.
        path: PathBuf,
        /// The working directory of the process.
        cwd: PathBuf,
        /// The arguments, the name of the program first.
        arguments: &'a dyn Fn() -> Vec<String>,
    },
    /// A process opens a file or looks for one.
    File {
        /// The file.
        path: PathBuf,
        /// The use that the process asks for.
        use_of: FileUse,
        /// Returns the name of the program that the process runs.
        program: &'a dyn Fn() -> Option<String>,
    },
}

impl fmt::Debug for Observed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, path) = match self {
            Self::Program { path, .. } => ("Program", path),
            Self::File { path, .. } => ("File", path),
        };
        f.debug_struct(name).field("path", path).finish_non_exhaustive()
    }
}

/// Receives what commands use, on a thread of the watch. The command waits meanwhile.
#[derive(Clone)]
pub struct Observer(Arc<dyn Fn(Observed<'_>) + Send + Sync>);

impl Observer {
    /// Creates an observer.
    pub fn new(observe: impl Fn(Observed<'_>) + Send + Sync + 'static) -> Self {
        Self(Arc::new(observe))
    }

    pub(super) fn file(&self, thread: u32, path: PathBuf, use_of: FileUse) {
        let program = || {
            let path = fs::read_link(format!("/proc/{thread}/exe")).ok()?;
            path.file_name()?.to_str().map(str::to_owned)
        };
        (self.0)(Observed::File { path, use_of, program: &program });
    }

    pub(super) fn program(&self, image: &Image, cwd: PathBuf) {
        let arguments = || image.arguments();
        (self.0)(Observed::Program { path: cwd.join(&image.path), cwd, arguments: &arguments });
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Observer").finish_non_exhaustive()
    }
}
