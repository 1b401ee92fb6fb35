//! Files and commands of a host with a sandbox.
//!
//! A path is resolved and checked first, and then the resolved path is opened. A sandboxed process
//! may replace a directory or file by a link in between. So links are not followed the second time;
//! if there is one, the operation is retried.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::path::{Component, Path, PathBuf};
#[cfg(unix)]
use std::sync::Arc;

use pi_fs::{OtherNames, open_regular_no_follow, put, target};
#[cfg(unix)]
use pi_guard::confine::Examination;
use pi_guard::confine::{Confined, ConfinementLevel, Denial};

#[cfg(unix)]
use super::Group;
use super::directory::{Directory, is_change};
#[cfg(unix)]
use crate::executor::Aftermath;
#[cfg(unix)]
use crate::executor::BoxFuture;
use crate::executor::{BaseEnvironment, Command};

/// Number of attempts. No well-behaved program changes a path this often.
const ATTEMPTS: usize = 100;

/// Prepares a command, and takes note of the repositories and protected files before it.
#[cfg(unix)]
pub(super) async fn prepare(
    confined: &Arc<Confined>,
    command: &Command,
) -> io::Result<(Command, Option<Examination>, Group)> {
    if confined.level() == ConfinementLevel::None {
        return Ok((self::command(confined, command), None, Group::default()));
    }
    #[cfg(target_os = "linux")]
    {
        if let Some(danger) = confined.dangers().first() {
            return Err(io::Error::other(format!("an earlier command left a {danger}")));
        }
        let recording = Arc::clone(confined);
        let group = Group::new(*confined.resource_limits());
        let begin = tokio::task::spawn_blocking(move || Examination::begin(recording));
        let examination = begin.await.map_err(io::Error::other)?;
        Ok((self::command(confined, command), Some(examination), group))
    }
    #[cfg(not(target_os = "linux"))]
    Ok((self::command(confined, command), None, Group))
}

/// Returns the examination of what a command left when all its processes are gone.
#[cfg(unix)]
pub(super) fn aftermath(
    examination: Option<Examination>,
    group: Group,
) -> BoxFuture<'static, Aftermath> {
    #[cfg(target_os = "linux")]
    {
        Box::pin(async move {
            let work = tokio::task::spawn_blocking(move || {
                let mut aftermath = Aftermath { notes: group.reached(), is_dangerous: false };
                for leftover in examination.iter().flat_map(Examination::finish) {
                    aftermath.is_dangerous |= leftover.is_dangerous();
                    aftermath.notes.push(format!("{leftover}."));
                }
                aftermath
            });
            work.await.unwrap_or_else(|error| Aftermath {
                notes: vec![format!("What the command left could not be examined: {error}.")],
                is_dangerous: true,
            })
        })
    }
    #[cfg(not(target_os = "linux"))]
    {
        drop((examination, group));
        Box::pin(async { Aftermath::default() })
    }
}

/// Returns the command that runs another command in the sandbox.
fn command(confined: &Confined, command: &Command) -> Command {
    let environment: Vec<_> = command.environment.clone().into_iter().collect();
    let program = command.program.clone().into_os_string();
    #[cfg(target_os = "linux")]
    let sandboxed =
        confined.direct_command(&program, &command.arguments, &command.cwd, &environment);
    #[cfg(not(target_os = "linux"))]
    let sandboxed = confined.command(&program, &command.arguments, &command.cwd, &environment);
    let mut environment: BTreeMap<_, _> = sandboxed.environment.into_iter().collect();
    for name in command.given.iter().filter(|name| !is_temporary(name)) {
        if let Some(value) = command.environment.get(name) {
            // What the sandbox sets itself stays.
            environment.entry(name.clone()).or_insert_with(|| value.clone());
        }
    }
    Command {
        program: sandboxed.program.into(),
        arguments: sandboxed.arguments,
        cwd: command.cwd.clone(),
        environment,
        given: command.given.clone(),
        base_environment: match confined.level() {
            ConfinementLevel::None => command.base_environment,
            // The environment of this process is not for commands.
            _ => BaseEnvironment::Empty,
        },
    }
}

/// Returns true for variables that name the directory of temporary files, which the sandbox replaces.
fn is_temporary(name: &OsStr) -> bool {
    ["TMPDIR", "TMP", "TEMP"].iter().any(|temporary| name == *temporary)
}

/// Returns the metadata of a file.
pub(super) fn metadata(confined: &Confined, path: &Path) -> io::Result<Metadata> {
    in_place(
        || fs::canonicalize(path),
        |real| confined.may_read(real),
        |place| match fs::symlink_metadata(place)? {
            // A link has replaced the file.
            link if link.is_symlink() => Err(io::ErrorKind::NotADirectory.into()),
            metadata => Ok(metadata),
        },
    )
}

/// Opens a file for reading.
pub(super) fn open(confined: &Confined, path: &Path) -> io::Result<File> {
    in_place(
        || fs::canonicalize(path),
        |real| confined.may_read(real),
        |place| open_regular_no_follow(OpenOptions::new().read(true), place),
    )
}

/// Calls `list` with a directory.
pub(super) fn list<T>(
    confined: &Confined,
    path: &Path,
    list: impl Fn(&Path) -> io::Result<T>,
) -> io::Result<T> {
    retry_on_change(|| {
        let real = fs::canonicalize(path)?;
        confined.may_read(&real).map_err(refused)?;
        list(&Directory::open(&real)?.path(Path::new(".")))
    })
}

/// Returns an error if a file cannot be read and written.
pub(super) fn check_writable(confined: &Confined, path: &Path) -> io::Result<()> {
    in_place(
        || fs::canonicalize(path),
        |real| confined.may_write(real),
        |place| open_regular_no_follow(OpenOptions::new().read(true).write(true), place).map(drop),
    )
}

/// Replaces the content of a file.
pub(super) fn replace(confined: &Confined, path: &Path, content: &[u8]) -> io::Result<()> {
    let real = || {
        let target = target(path)?;
        match (target.parent(), target.file_name()) {
            // A new file has a real path, too.
            (Some(parent), Some(name)) => Ok(fs::canonicalize(parent)?.join(name)),
            _ => Ok(target),
        }
    };
    in_place(real, |real| confined.may_write(real), |place| put(place, content, OtherNames::Keep))
}

/// Creates a directory and its parents.
pub(super) fn create_directory(confined: &Confined, path: &Path) -> io::Result<()> {
    retry_on_change(|| {
        let (mut missing, mut above) = (Vec::new(), path);
        let existing = loop {
            match fs::canonicalize(above) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                found => break found?,
            }
            match (above.parent(), above.components().next_back()) {
                (Some(parent), Some(Component::Normal(name))) => {
                    missing.push(name);
                    above = parent;
                }
                _ => return Err(io::ErrorKind::NotFound.into()),
            }
        };
        if missing.is_empty() {
            let is_directory = fs::metadata(&existing)?.is_dir();
            return if is_directory { Ok(()) } else { Err(io::ErrorKind::AlreadyExists.into()) };
        }
        let names = missing.iter().rev();
        let wanted: PathBuf = existing.iter().chain(names.clone().copied()).collect();
        confined.may_write(&wanted).map_err(refused)?;
        let mut directory = Directory::open(&existing)?;
        for name in names {
            directory = directory.make(Path::new(name))?;
        }
        Ok(())
    })
}

/// Resolves the path, checks it, and calls `touch` with it without following links.
fn in_place<T>(
    real: impl Fn() -> io::Result<PathBuf>,
    may: impl Fn(&Path) -> Result<(), Denial>,
    touch: impl Fn(&Path) -> io::Result<T>,
) -> io::Result<T> {
    retry_on_change(|| {
        let real = real()?;
        may(&real).map_err(refused)?;
        let (parent, name) = match (real.parent(), real.file_name()) {
            (Some(parent), Some(name)) => (parent, name),
            _ => (real.as_path(), OsStr::new(".")),
        };
        touch(&Directory::open(parent)?.path(Path::new(name)))
    })
}

/// Retries an operation while another process changes the path.
fn retry_on_change<T>(attempt: impl Fn() -> io::Result<T>) -> io::Result<T> {
    let mut attempts = 1;
    loop {
        match attempt() {
            Err(error) if is_change(&error) && attempts < ATTEMPTS => attempts += 1,
            done => return done,
        }
    }
}

fn refused(denial: Denial) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, denial)
}
