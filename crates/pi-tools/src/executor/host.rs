//! The executor of this machine.

#[cfg(target_os = "linux")]
mod control_group;
mod directory;
mod guarded;
#[cfg(unix)]
pub(super) mod piped;
#[cfg(unix)]
mod process;
#[cfg(target_os = "linux")]
mod supervised;

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_fs::{open_regular, replace};
use pi_guard::confine::{Confined, ConfinementLevel};

#[cfg(target_os = "linux")]
use control_group::Group;

use super::{BoxFuture, Command, DirectoryEntry, Executor, FileKind, PathPredicate, Process, Stat};
use crate::supervisor::Supervisor;

/// Memory that is allocated for a file before it is read.
const MOST_ALLOCATED: u64 = 64 * 1024 * 1024;

/// The machine that this process runs on, optionally with a sandbox.
///
/// # Sandbox
///
/// Commands run in the sandbox, with an environment of their own: nothing is inherited, and secrets
/// are removed from the variables that are set. Files are accessed by this process, which is not
/// sandboxed, so it checks each path itself: it opens exactly the file whose real path was checked,
/// even if a link replaces it at the same moment (on Linux). A refusal is an error of the kind
/// [`io::ErrorKind::PermissionDenied`] with a [`Denial`](pi_guard::confine::Denial) as its source.
/// A file with several names is replaced under one of them only: the others may be where writing is
/// forbidden.
///
/// Remote executors have no sandbox, and the program that connects to them runs outside of it.
#[derive(Debug, Clone, Default)]
pub struct Host {
    supervisor: Option<Supervisor>,
    sandbox: Option<Arc<Confined>>,
}

impl Host {
    /// Sets the supervisor of all processes.
    ///
    /// Without a supervisor, and on systems other than Linux, processes that leave their process
    /// group outlive their command, and all processes outlive a killed program.
    #[must_use]
    pub fn with_supervisor(mut self, supervisor: impl Into<Option<Supervisor>>) -> Self {
        self.supervisor = supervisor.into();
        self
    }

    /// Sets the sandbox for commands and tools.
    ///
    /// Both this program and the supervisor must be able to start the sandbox's helper program; if
    /// they are the same program, it is `/proc/self/exe`.
    #[must_use]
    pub fn with_sandbox(mut self, sandbox: impl Into<Option<Arc<Confined>>>) -> Self {
        self.sandbox = sandbox.into();
        self
    }

    /// Returns the sandbox for commands and tools.
    pub fn sandbox(&self) -> Option<&Arc<Confined>> {
        self.sandbox.as_ref()
    }

    /// Returns the sandbox, if it restricts anything.
    fn active_sandbox(&self) -> Option<Arc<Confined>> {
        self.sandbox.as_ref().filter(|confined| confined.level() != ConfinementLevel::None).cloned()
    }

    /// Starts a command as it is, in a control group.
    #[cfg(unix)]
    async fn start(&self, command: &Command, group: &mut Group) -> io::Result<Process> {
        #[cfg(target_os = "linux")]
        if let Some(supervisor) = &self.supervisor {
            return supervised::spawn(supervisor, command, group).await;
        }
        process::spawn(command, group)
    }

    /// Returns the sandbox, if it restricts or watches commands.
    fn launcher(&self) -> Option<Arc<Confined>> {
        let acts = |confined: &&Arc<Confined>| {
            confined.level() != ConfinementLevel::None || confined.is_watched()
        };
        self.sandbox.as_ref().filter(acts).cloned()
    }

    /// Runs a blocking operation: directly, or with the checks of the sandbox.
    fn checked<'a, T: Send + 'static>(
        &self,
        path: &Path,
        direct: impl FnOnce(&Path) -> io::Result<T> + Send + 'static,
        guarded: impl FnOnce(&Confined, &Path) -> io::Result<T> + Send + 'static,
    ) -> BoxFuture<'a, io::Result<T>> {
        match self.active_sandbox() {
            Some(confined) => blocking(path, move |path| guarded(&confined, path)),
            None => blocking(path, direct),
        }
    }
}

impl Executor for Host {
    fn stat<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<Stat>> {
        let stat = |metadata: fs::Metadata| {
            let (kind, size) = (kind(metadata.file_type()), metadata.len());
            Stat { kind, size, modified: metadata.modified().ok() }
        };
        self.checked(
            path,
            move |path| fs::metadata(path).map(stat),
            move |confined, path| guarded::metadata(confined, path).map(stat),
        )
    }

    fn read<'a>(&'a self, path: &'a Path, limit: u64) -> BoxFuture<'a, io::Result<Vec<u8>>> {
        let read = move |file: fs::File| {
            // Allocated at once: a growing vector would hold a large file twice. A file may claim
            // any size, though.
            let size = file.metadata()?.len().min(limit).min(MOST_ALLOCATED);
            let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
            file.take(limit).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        self.checked(
            path,
            move |path| read(open(path)?),
            move |confined, path| read(guarded::open(confined, path)?),
        )
    }

    fn open<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<Box<dyn Read + Send>>> {
        let boxed = |file: fs::File| -> Box<dyn Read + Send> { Box::new(file) };
        self.checked(
            path,
            move |path| open(path).map(boxed),
            move |confined, path| guarded::open(confined, path).map(boxed),
        )
    }

    fn replace<'a>(&'a self, path: &'a Path, content: &'a [u8]) -> BoxFuture<'a, io::Result<()>> {
        let content = Arc::<[u8]>::from(content);
        let same = Arc::clone(&content);
        self.checked(
            path,
            move |path| replace(path, &content),
            move |confined, path| guarded::replace(confined, path, &same),
        )
    }

    fn create_directory<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<()>> {
        self.checked(path, |path| fs::create_dir_all(path), guarded::create_directory)
    }

    fn list<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<Vec<DirectoryEntry>>> {
        let list = |path: &Path| {
            let mut entries = Vec::new();
            for entry in fs::read_dir(path)? {
                let entry = entry?;
                let name = entry.file_name().to_string_lossy().into_owned();
                entries.push(DirectoryEntry { name, kind: kind(entry.file_type()?) });
            }
            Ok(entries)
        };
        self.checked(path, list, move |confined, path| guarded::list(confined, path, list))
    }

    fn canonical<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<PathBuf>> {
        blocking(path, |path| fs::canonicalize(path))
    }

    fn check_writable<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<()>> {
        self.checked(
            path,
            |path| open_regular(fs::OpenOptions::new().read(true).write(true), path).map(drop),
            guarded::check_writable,
        )
    }

    #[cfg(unix)]
    fn spawn<'a>(&'a self, command: &'a Command) -> BoxFuture<'a, io::Result<Process>> {
        Box::pin(async move {
            let Some(confined) = self.launcher() else {
                return self.start(command, &mut Group::default()).await;
            };
            let (sandboxed, examination, mut group) = guarded::prepare(&confined, command).await?;
            let mut process = self.start(&sandboxed, &mut group).await?;
            process.tree = process.tree.with_aftermath(guarded::aftermath(examination, group));
            Ok(process)
        })
    }

    #[cfg(unix)]
    fn spawn_piped<'a>(
        &'a self,
        command: &'a Command,
    ) -> BoxFuture<'a, io::Result<super::PipedProcess>> {
        Box::pin(async move {
            let Some(confined) = self.launcher() else {
                return piped::spawn(self, command).await;
            };
            let (sandboxed, examination, mut group) = guarded::prepare(&confined, command).await?;
            let mut process = piped::start(self, &sandboxed, &mut group).await?;
            process.tree = process.tree.with_aftermath(guarded::aftermath(examination, group));
            Ok(process)
        })
    }

    #[cfg(not(unix))]
    fn spawn<'a>(&'a self, _: &'a Command) -> BoxFuture<'a, io::Result<Process>> {
        Box::pin(async { Err(io::ErrorKind::Unsupported.into()) })
    }

    fn host_path(&self, path: &Path) -> Option<PathBuf> {
        Some(path.to_owned())
    }

    fn map_command_path(&self, path: PathBuf) -> PathBuf {
        match self.active_sandbox() {
            Some(confined) => confined.host_path(path),
            None => path,
        }
    }

    fn hidden_paths(&self) -> Option<PathPredicate> {
        let confined = self.active_sandbox()?;
        Some(Arc::new(move |real| confined.may_read(real).is_err()))
    }
}

/// Only Linux has control groups.
#[cfg(all(unix, not(target_os = "linux")))]
#[derive(Debug, Default)]
struct Group;

#[cfg(all(unix, not(target_os = "linux")))]
impl Group {
    fn add_later(&mut self, _: Option<u32>) {}
}

/// Opens a regular file for reading.
fn open(path: &Path) -> io::Result<fs::File> {
    open_regular(fs::OpenOptions::new().read(true), path)
}

/// Runs a blocking operation on another thread.
fn blocking<'a, T: Send + 'static>(
    path: &Path,
    work: impl FnOnce(&Path) -> io::Result<T> + Send + 'static,
) -> BoxFuture<'a, io::Result<T>> {
    let path = path.to_owned();
    Box::pin(async move {
        let done = tokio::task::spawn_blocking(move || work(&path)).await;
        // The panic continues here; the agent loop turns it into a result.
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
