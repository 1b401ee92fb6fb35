//! Files and commands of a confined host.
//!
//! Paths are looked at twice: what they really are is found out and judged, and then exactly that
//! is opened. A confined process may exchange a directory or a file for a link between the two. So
//! the second time no link is followed, and if there is one, everything begins anew.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::path::{Component, Path, PathBuf};

use pi_guard::confine::{Confined, Denial};

use super::directory::{Directory, is_change};
use crate::executor::replace::{OtherNames, open_itself, put, target};
use crate::executor::{BaseEnvironment, Command};

/// How often it begins anew. Nobody who works changes a path so often.
const TRIES: usize = 100;

/// The command that runs this one confined.
pub(super) fn command(confined: &Confined, command: &Command) -> Command {
    let environment: Vec<_> = command.environment.clone().into_iter().collect();
    let program = command.program.clone().into_os_string();
    #[cfg(target_os = "linux")]
    let held = confined.direct_command(&program, &command.arguments, &command.cwd, &environment);
    #[cfg(not(target_os = "linux"))]
    let held = confined.command(&program, &command.arguments, &command.cwd, &environment);
    Command {
        program: held.program.into(),
        arguments: held.arguments,
        cwd: command.cwd.clone(),
        environment: held.environment.into_iter().collect(),
        // What this process has in its environment is not for others.
        base_environment: BaseEnvironment::Empty,
    }
}

/// What is known about a file.
pub(super) fn metadata(confined: &Confined, path: &Path) -> io::Result<Metadata> {
    in_place(
        || fs::canonicalize(path),
        |real| confined.may_read(real),
        |place| match fs::symlink_metadata(place)? {
            // By now.
            link if link.is_symlink() => Err(io::ErrorKind::NotADirectory.into()),
            metadata => Ok(metadata),
        },
    )
}

/// A file to read.
pub(super) fn open(confined: &Confined, path: &Path) -> io::Result<File> {
    in_place(
        || fs::canonicalize(path),
        |real| confined.may_read(real),
        |place| open_itself(OpenOptions::new().read(true), place),
    )
}

/// What `list` finds in a directory.
pub(super) fn list<T>(
    confined: &Confined,
    path: &Path,
    list: impl Fn(&Path) -> io::Result<T>,
) -> io::Result<T> {
    until_settled(|| {
        let real = fs::canonicalize(path)?;
        confined.may_read(&real).map_err(refused)?;
        list(&Directory::open(&real)?.path(Path::new(".")))
    })
}

/// Whether a file may be read and written.
pub(super) fn check_writable(confined: &Confined, path: &Path) -> io::Result<()> {
    in_place(
        || fs::canonicalize(path),
        |real| confined.may_write(real),
        |place| open_itself(OpenOptions::new().read(true).write(true), place).map(drop),
    )
}

/// Puts content in the place of a file.
pub(super) fn replace(confined: &Confined, path: &Path, content: &[u8]) -> io::Result<()> {
    let real = || {
        let target = target(path)?;
        match (target.parent(), target.file_name()) {
            // What does not exist yet has a real path nevertheless.
            (Some(parent), Some(name)) => Ok(fs::canonicalize(parent)?.join(name)),
            _ => Ok(target),
        }
    };
    in_place(real, |real| confined.may_write(real), |place| put(place, content, OtherNames::Keep))
}

/// Creates a directory and those above it.
pub(super) fn create_directory(confined: &Confined, path: &Path) -> io::Result<()> {
    until_settled(|| {
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

/// Finds the real path, asks whether it may be touched, and touches it without following a link.
fn in_place<T>(
    real: impl Fn() -> io::Result<PathBuf>,
    may: impl Fn(&Path) -> Result<(), Denial>,
    touch: impl Fn(&Path) -> io::Result<T>,
) -> io::Result<T> {
    until_settled(|| {
        let real = real()?;
        may(&real).map_err(refused)?;
        let (parent, name) = match (real.parent(), real.file_name()) {
            (Some(parent), Some(name)) => (parent, name),
            _ => (real.as_path(), OsStr::new(".")),
        };
        touch(&Directory::open(parent)?.path(Path::new(name)))
    })
}

/// Does it again while somebody changes the way there.
fn until_settled<T>(attempt: impl Fn() -> io::Result<T>) -> io::Result<T> {
    let mut tries = 1;
    loop {
        match attempt() {
            Err(error) if is_change(&error) && tries < TRIES => tries += 1,
            done => return done,
        }
    }
}

fn refused(denial: Denial) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, denial)
}
