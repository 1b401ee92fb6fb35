//! Where files and processes are: here, in a container, on another machine.
//!
//! Tools name files by absolute paths of the executor and never ask the operating system
//! themselves. What an executor promises is written down here and tested for each.

mod connect;
mod host;
mod process;
#[cfg(unix)]
mod remote;
pub(crate) mod replace;
mod spec;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

pub use pi_agent::BoxFuture;

pub use connect::{ConnectError, ConnectOptions, ConnectedExecutor, connect};
pub use host::Host;
pub use process::{BaseEnvironment, Command, PipedProcess, Process, ProcessTree};
pub use spec::{ExecutorSpec, ParseExecutorError};

/// Access to files and processes, wherever they are.
///
/// Contract: paths are absolute and in the executor's own name space. Symbolic links are followed,
/// except by [`Executor::list`]. Nothing blocks the caller's thread.
pub trait Executor: Send + Sync + fmt::Debug {
    /// What there is at a path.
    fn stat<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<Stat>>;

    /// Reads a file; at most `limit` bytes of it.
    fn read<'a>(&'a self, path: &'a Path, limit: u64) -> BoxFuture<'a, io::Result<Vec<u8>>>;

    /// Puts `content` in the place of a file, or creates it. All or nothing: whoever looks sees
    /// the old content or the new, also after a crash. Mode, owner and other names of the file
    /// stay as they were; where that and a replacement do not go together, it is written in place.
    fn replace<'a>(&'a self, path: &'a Path, content: &'a [u8]) -> BoxFuture<'a, io::Result<()>>;

    /// Creates a directory and those above it.
    fn create_directory<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<()>>;

    /// What is in a directory, in no particular order.
    fn list<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<Vec<DirectoryEntry>>>;

    /// The path without symbolic links.
    fn canonical<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<PathBuf>>;

    /// Whether a file may be read and written; the error says what may not.
    fn check_writable<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<()>>;

    /// Starts a process. It and all that it starts, however far removed, run no longer than its
    /// [`ProcessTree`], nor longer than this program.
    fn spawn<'a>(&'a self, command: &'a Command) -> BoxFuture<'a, io::Result<Process>>;

    /// Starts a process with separate standard streams, under the same rules as
    /// [`Executor::spawn`]. For servers that talk over standard input and output.
    ///
    /// The default implementation returns an error of the kind [`io::ErrorKind::Unsupported`].
    fn spawn_piped<'a>(&'a self, command: &'a Command) -> BoxFuture<'a, io::Result<PipedProcess>> {
        let _ = command;
        Box::pin(async { Err(io::ErrorKind::Unsupported.into()) })
    }

    /// The same file as this process would name it, if it can reach it directly.
    fn host_path(&self, path: &Path) -> Option<PathBuf>;

    /// Where what commands see at this path is for the other methods. The same, except where
    /// commands have places of their own.
    fn map_command_path(&self, path: PathBuf) -> PathBuf {
        path
    }

    /// Which real paths nobody may look into, where that is known beforehand. Reading and listing
    /// refuse these by themselves; this is for searching through [`Executor::host_path`].
    fn hidden_paths(&self) -> Option<PathPredicate> {
        None
    }

    /// All that is below a directory, parents before children. More than `limit` is an error of the
    /// kind [`io::ErrorKind::FileTooLarge`].
    ///
    /// This and [`Executor::read_many`] are for searching where [`Executor::host_path`] has no
    /// answer. Executors that are far away do better than to ask for one directory after another.
    fn tree<'a>(
        &'a self,
        path: &'a Path,
        limit: usize,
    ) -> BoxFuture<'a, io::Result<Vec<TreeEntry>>> {
        Box::pin(async move {
            let (mut found, mut next) = (Vec::new(), 0);
            let mut directory = Some(PathBuf::new());
            while let Some(inside) = directory {
                let listed = self.list(&path.join(&inside)).await;
                match listed {
                    Ok(entries) => found.extend(entries.into_iter().map(|entry| TreeEntry {
                        path: inside.join(entry.name),
                        kind: entry.kind,
                        readable: true,
                    })),
                    Err(error) if next == 0 => return Err(error),
                    Err(_) => found[next - 1].readable = false,
                }
                if found.len() > limit {
                    return Err(io::ErrorKind::FileTooLarge.into());
                }
                let is_directory = |found: &TreeEntry| found.kind == FileKind::Directory;
                directory = found[next..].iter().position(is_directory).map(|further| {
                    next += further + 1;
                    found[next - 1].path.clone()
                });
            }
            Ok(found)
        })
    }

    /// Reads files, each with its own success; `limit` bytes of all together, and an error of the
    /// kind [`io::ErrorKind::FileTooLarge`] if there is more.
    fn read_many<'a>(
        &'a self,
        paths: &'a [PathBuf],
        limit: u64,
    ) -> BoxFuture<'a, io::Result<Vec<io::Result<Vec<u8>>>>> {
        Box::pin(async move {
            let (mut contents, mut left) = (Vec::new(), limit);
            for path in paths {
                let content = self.read(path, left.saturating_add(1)).await;
                let size = content.as_ref().map_or(0, |content| content.len() as u64);
                left = left.checked_sub(size).ok_or(io::ErrorKind::FileTooLarge)?;
                contents.push(content);
            }
            Ok(contents)
        })
    }
}

/// A question about a path.
pub type PathPredicate = Arc<dyn Fn(&Path) -> bool + Send + Sync>;

/// What kind of thing a path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link. Only lists of directories tell of these.
    Link,
    /// A device, a pipe, a socket.
    Other,
}

/// What is known about a file without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stat {
    /// What it is.
    pub kind: FileKind,
    /// Bytes.
    pub size: u64,
    /// When its content last changed, where that is known.
    pub modified: Option<SystemTime>,
}

/// Something below a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    /// Its path, seen from that directory.
    pub path: PathBuf,
    /// What it is.
    pub kind: FileKind,
    /// Not a directory that may not be looked into.
    pub readable: bool,
}

/// One name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// The name, as far as it is text.
    pub name: String,
    /// What it is.
    pub kind: FileKind,
}
