//! Executors: access to files and processes on this machine, in a container or on another machine.
//!
//! Tools use absolute paths of the executor and never call the operating system themselves. The
//! contract of an executor is documented here and tested for each of them.

mod connect;
mod host;
mod process;
#[cfg(unix)]
mod remote;
mod spec;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

pub use pi_agent::BoxFuture;

pub use connect::{ConnectError, ConnectOptions, ConnectedExecutor, connect};
pub use host::Host;
pub use process::{Aftermath, BaseEnvironment, Command, PipedProcess, Process, ProcessTree};
pub use spec::{ExecutorSpec, ParseExecutorError};

/// Access to the files and processes of a machine or container.
///
/// # Contract
///
/// Paths are absolute and belong to the executor. Symbolic links are followed, except by
/// [`Executor::list`]. No method blocks the thread of the caller.
pub trait Executor: Send + Sync + fmt::Debug {
    /// Returns the kind, size and time of a file.
    fn stat<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<Stat>>;

    /// Reads a regular file, at most `limit` bytes. Pipes, devices and sockets are errors.
    fn read<'a>(&'a self, path: &'a Path, limit: u64) -> BoxFuture<'a, io::Result<Vec<u8>>>;

    /// Opens a regular file for reading from its beginning to its end, which may be far away. The
    /// reader may block.
    ///
    /// The default implementation reads the whole file, up to 256 MiB; a larger one is an error of
    /// the kind [`io::ErrorKind::FileTooLarge`].
    fn open<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<Box<dyn io::Read + Send>>> {
        const LIMIT: u64 = 256 * 1024 * 1024;
        Box::pin(async move {
            let content = self.read(path, LIMIT + 1).await?;
            if content.len() as u64 > LIMIT {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            Ok(Box::new(io::Cursor::new(content)) as Box<dyn io::Read + Send>)
        })
    }

    /// Replaces the content of a file, or creates it. Pipes, devices and sockets are errors. Readers
    /// see the old content or the new content, never a part, even after a crash. Mode, owner and other names of the file stay.
    /// Where a replacement cannot keep them, the file is overwritten in place.
    fn replace<'a>(&'a self, path: &'a Path, content: &'a [u8]) -> BoxFuture<'a, io::Result<()>>;

    /// Creates a directory and its parents.
    fn create_directory<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<()>>;

    /// Returns the entries of a directory, in no particular order.
    fn list<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<Vec<DirectoryEntry>>>;

    /// Returns the path without symbolic links.
    fn canonical<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<PathBuf>>;

    /// Returns an error if a file cannot be read and written.
    fn check_writable<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<()>>;

    /// Starts a process. The process and all its descendants run no longer than its
    /// [`ProcessTree`], and no longer than this program.
    fn spawn<'a>(&'a self, command: &'a Command) -> BoxFuture<'a, io::Result<Process>>;

    /// Starts a process with separate standard streams, under the same rules as
    /// [`Executor::spawn`]. For servers that talk over standard input and output.
    ///
    /// The default implementation returns an error of the kind [`io::ErrorKind::Unsupported`].
    fn spawn_piped<'a>(&'a self, command: &'a Command) -> BoxFuture<'a, io::Result<PipedProcess>> {
        let _ = command;
        Box::pin(async { Err(io::ErrorKind::Unsupported.into()) })
    }

    /// Returns the path of a file for this process, if this process can reach it directly.
    fn host_path(&self, path: &Path) -> Option<PathBuf>;

    /// Converts a path as commands see it to a path for the other methods. Both are equal unless
    /// commands have directories of their own, such as a private `/tmp`.
    fn map_command_path(&self, path: PathBuf) -> PathBuf {
        path
    }

    /// Returns a test for real paths that must not be shown, if they are known in advance. Reading
    /// and listing refuse them anyway; the test is for searches through [`Executor::host_path`].
    fn hidden_paths(&self) -> Option<PathPredicate> {
        None
    }

    /// Returns everything below a directory, parents before children. More than `limit` entries are
    /// an error of the kind [`io::ErrorKind::FileTooLarge`].
    ///
    /// Searches use this method and [`Executor::read_many`] if [`Executor::host_path`] returns
    /// `None`. Remote executors should override them: the default makes one call per directory or
    /// file.
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

    /// Reads files; each has its own result. More than `limit` bytes in total are an error of the
    /// kind [`io::ErrorKind::FileTooLarge`].
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

/// A test of a path.
pub type PathPredicate = Arc<dyn Fn(&Path) -> bool + Send + Sync>;

/// The kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link. Only [`Executor::list`] and [`Executor::tree`] return it.
    Link,
    /// A device, a pipe or a socket.
    Other,
}

/// The metadata of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stat {
    /// Kind of the file.
    pub kind: FileKind,
    /// Size in bytes.
    pub size: u64,
    /// Time of the last change of the content, if it is known.
    pub modified: Option<SystemTime>,
}

/// A file or directory below another directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    /// Path relative to that directory.
    pub path: PathBuf,
    /// Kind of the file.
    pub kind: FileKind,
    /// False for a directory that cannot be listed.
    pub readable: bool,
}

/// An entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// Name of the entry; invalid UTF-8 is replaced.
    pub name: String,
    /// Kind of the entry.
    pub kind: FileKind,
}
