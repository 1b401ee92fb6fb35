//! This machine.

#[cfg(unix)]
mod connection;
#[cfg(unix)]
mod process;
#[cfg(target_os = "linux")]
mod supervised;

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

#[cfg(unix)]
pub(super) use connection::{Connection, connect};

use super::replace::replace;
use super::{BoxFuture, Command, DirectoryEntry, Executor, FileKind, Process, Stat};
use crate::supervisor::Supervisor;

/// The machine that this process runs on, with all the rights it has.
#[derive(Debug, Clone, Default)]
pub struct Host {
    /// Who owns the processes. Without one, and where there are none (not Linux), processes that
    /// leave their process group outlive their command, and all outlive a killed program.
    pub supervisor: Option<Supervisor>,
}

impl Executor for Host {
    fn stat<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<Stat>> {
        blocking(path, |path| {
            let metadata = fs::metadata(path)?;
            let (kind, size) = (kind(metadata.file_type()), metadata.len());
            Ok(Stat { kind, size, modified: metadata.modified().ok() })
        })
    }

    fn read<'a>(&'a self, path: &'a Path, limit: u64) -> BoxFuture<'a, io::Result<Vec<u8>>> {
        blocking(path, move |path| {
            let file = fs::File::open(path)?;
            // Room for all of it at once: a vector that grows holds a big file twice.
            let size = file.metadata()?.len().min(limit);
            let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
            file.take(limit).read_to_end(&mut bytes)?;
            Ok(bytes)
        })
    }

    fn replace<'a>(&'a self, path: &'a Path, content: &'a [u8]) -> BoxFuture<'a, io::Result<()>> {
        let content = content.to_vec();
        blocking(path, move |path| replace(path, &content))
    }

    fn create_directory<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<()>> {
        blocking(path, |path| fs::create_dir_all(path))
    }

    fn list<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<Vec<DirectoryEntry>>> {
        blocking(path, |path| {
            let mut entries = Vec::new();
            for entry in fs::read_dir(path)? {
                let entry = entry?;
                let name = entry.file_name().to_string_lossy().into_owned();
                entries.push(DirectoryEntry { name, kind: kind(entry.file_type()?) });
            }
            Ok(entries)
        })
    }

    fn canonical<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<PathBuf>> {
        blocking(path, |path| fs::canonicalize(path))
    }

    fn check_writable<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<()>> {
        blocking(path, |path| fs::OpenOptions::new().read(true).write(true).open(path).map(drop))
    }

    #[cfg(unix)]
    fn spawn<'a>(&'a self, command: &'a Command) -> BoxFuture<'a, io::Result<Process>> {
        #[cfg(target_os = "linux")]
        if let Some(supervisor) = &self.supervisor {
            return Box::pin(supervised::spawn(supervisor, command));
        }
        Box::pin(async { process::spawn(command) })
    }

    #[cfg(not(unix))]
    fn spawn<'a>(&'a self, _: &'a Command) -> BoxFuture<'a, io::Result<Process>> {
        Box::pin(async { Err(io::ErrorKind::Unsupported.into()) })
    }

    fn host_path(&self, path: &Path) -> Option<PathBuf> {
        Some(path.to_owned())
    }
}

/// Does something on a thread that may wait.
fn blocking<'a, T: Send + 'static>(
    path: &Path,
    work: impl FnOnce(&Path) -> io::Result<T> + Send + 'static,
) -> BoxFuture<'a, io::Result<T>> {
    let path = path.to_owned();
    Box::pin(async move {
        let done = tokio::task::spawn_blocking(move || work(&path)).await;
        // A panic in there goes on out here; the loop makes a result of it.
        done.unwrap_or_else(|error| match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(cancelled) => Err(io::Error::other(cancelled)),
        })
    })
}

fn kind(kind: fs::FileType) -> FileKind {
    if kind.is_file() {
        FileKind::File
    } else if kind.is_dir() {
        FileKind::Directory
    } else if kind.is_symlink() {
        FileKind::Link
    } else {
        FileKind::Other
    }
}
