//! Reports of the programs and files that a command uses, for a caller that wants to know what a
//! command depends on. Nothing is judged here.

use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use pi_exec_watch::FileUse;

use super::Observing;
use super::caller::{self, Image};

/// Most processes of a lineage.
const MOST_PARENTS: usize = 64;

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
        /// Returns the numbers of the process and of those that started it, the nearest first.
        lineage: &'a dyn Fn() -> Vec<u32>,
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
    /// A process changes these paths, or opens them to do so.
    Change {
        /// The paths: two if the call renames.
        paths: Vec<PathBuf>,
        /// True if everything below the paths moves with them.
        is_move: bool,
    },
}

impl fmt::Debug for Observed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, path): (_, &dyn fmt::Debug) = match self {
            Self::Program { path, .. } => ("Program", path),
            Self::File { path, .. } => ("File", path),
            Self::Change { paths, .. } => ("Change", paths),
        };
        f.debug_struct(name).field("path", path).finish_non_exhaustive()
    }
}

/// Receives what commands use, on a thread of the watch. The command waits meanwhile.
#[derive(Clone)]
pub struct Observer {
    observing: Observing,
    observe: Arc<dyn Fn(Observed<'_>) + Send + Sync>,
}

impl Observer {
    /// Creates an observer of programs and of these uses of files.
    pub fn new(
        observing: Observing,
        observe: impl Fn(Observed<'_>) + Send + Sync + 'static,
    ) -> Self {
        Self { observing, observe: Arc::new(observe) }
    }

    pub(super) fn observing(&self) -> Observing {
        self.observing
    }

    pub(super) fn change(&self, paths: Vec<PathBuf>, is_move: bool) {
        (self.observe)(Observed::Change { paths, is_move });
    }

    pub(super) fn file(&self, thread: u32, path: PathBuf, use_of: FileUse) {
        let program = || {
            let path = fs::read_link(format!("/proc/{thread}/exe")).ok()?;
            path.file_name()?.to_str().map(str::to_owned)
        };
        (self.observe)(Observed::File { path, use_of, program: &program });
    }

    pub(super) fn program(&self, thread: u32, image: &Image) {
        let cwd = caller::cwd(thread);
        let arguments = || image.arguments();
        let lineage = || lineage(thread);
        (self.observe)(Observed::Program {
            path: cwd.join(&image.path),
            cwd,
            arguments: &arguments,
            lineage: &lineage,
        });
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Observer").finish_non_exhaustive()
    }
}

/// Returns the process of a thread and those that started it.
fn lineage(thread: u32) -> Vec<u32> {
    let mut lineage = Vec::new();
    let mut next = Some(thread);
    while let Some(process) = next.filter(|process| *process > 1 && lineage.len() < MOST_PARENTS) {
        let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
        let number = |name: &str| -> Option<u32> {
            status.lines().find_map(|line| line.strip_prefix(name))?.trim().parse().ok()
        };
        lineage.push(number("Tgid:").unwrap_or(process));
        next = number("PPid:");
    }
    lineage
}
