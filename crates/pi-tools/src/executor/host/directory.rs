//! A directory that was opened without following links, and that stays the same directory if its
//! path changes.
//!
//! On Linux, its entries are named through its descriptor (`/proc/self/fd/3/name`), so that all
//! functions that take paths can be used. Elsewhere it is a path, which a fast process can
//! exchange.

use std::io;
use std::path::{Path, PathBuf};

#[cfg(target_os = "linux")]
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, mkdirat, open, openat, openat2};
#[cfg(target_os = "linux")]
use rustix::io::Errno;

#[derive(Debug)]
pub(super) struct Directory {
    #[cfg(target_os = "linux")]
    descriptor: std::os::fd::OwnedFd,
    #[cfg(not(target_os = "linux"))]
    path: PathBuf,
}

#[cfg(target_os = "linux")]
impl Directory {
    const FLAGS: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

    /// Opens a directory by its real path. If a part of the path has become a link, [`is_change`]
    /// is true for the error.
    pub(super) fn open(real: &Path) -> io::Result<Self> {
        let links = ResolveFlags::NO_SYMLINKS;
        match openat2(CWD, real, Self::FLAGS, Mode::empty(), links) {
            Ok(descriptor) => Ok(Self { descriptor }),
            // Old kernels, and container runtimes that block the call.
            Err(Errno::NOSYS | Errno::PERM) => Self::step_by_step(real),
            Err(error) => Err(error.into()),
        }
    }

    fn step_by_step(real: &Path) -> io::Result<Self> {
        let mut at = Self { descriptor: open("/", Self::FLAGS, Mode::empty())? };
        for part in real.strip_prefix("/").unwrap_or(real) {
            at = at.enter(Path::new(part))?;
        }
        Ok(at)
    }

    /// Opens a directory in this one.
    fn enter(&self, name: &Path) -> io::Result<Self> {
        let flags = Self::FLAGS | OFlags::NOFOLLOW;
        let descriptor = openat(&self.descriptor, name, flags, Mode::empty())?;
        Ok(Self { descriptor })
    }

    /// Opens a directory in this one, and creates it if it does not exist.
    pub(super) fn make(&self, name: &Path) -> io::Result<Self> {
        match mkdirat(&self.descriptor, name, Mode::from(0o777)) {
            Ok(()) | Err(Errno::EXIST) => self.enter(name),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns a path for an entry, valid as long as this value.
    pub(super) fn path(&self, name: &Path) -> PathBuf {
        use std::os::fd::AsRawFd;
        Path::new("/proc/self/fd").join(self.descriptor.as_raw_fd().to_string()).join(name)
    }
}

#[cfg(not(target_os = "linux"))]
impl Directory {
    pub(super) fn open(real: &Path) -> io::Result<Self> {
        Ok(Self { path: real.to_owned() })
    }

    pub(super) fn make(&self, name: &Path) -> io::Result<Self> {
        let path = self.path.join(name);
        std::fs::create_dir_all(&path)?;
        Ok(Self { path })
    }

    pub(super) fn path(&self, name: &Path) -> PathBuf {
        self.path.join(name)
    }
}

/// Returns true if an error means that a part of a real path has become a link, or is no longer a
/// directory.
pub(super) fn is_change(error: &io::Error) -> bool {
    // The error kind for links is not stable yet.
    #[cfg(target_os = "linux")]
    let is_link = error.raw_os_error() == Some(Errno::LOOP.raw_os_error());
    #[cfg(not(target_os = "linux"))]
    let is_link = false;
    is_link || error.kind() == io::ErrorKind::NotADirectory
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_not_followed() {
        let temporary = tempfile::tempdir().unwrap();
        let real = fs::canonicalize(temporary.path()).unwrap();
        fs::create_dir_all(real.join("a/b")).unwrap();
        symlink("a", real.join("to a")).unwrap();
        symlink("b", real.join("a/to b")).unwrap();
        fs::write(real.join("a/b/f"), "x").unwrap();
        for open in [Directory::open, Directory::step_by_step] {
            let directory = open(&real.join("a/b")).unwrap();
            assert_eq!(fs::read(directory.path(Path::new("f"))).unwrap(), b"x");
            assert!(open(Path::new("/")).unwrap().path(Path::new("proc")).exists());
            for name in ["to a", "to a/b", "a/to b", "a/b/f"] {
                assert!(is_change(&open(&real.join(name)).unwrap_err()), "{name}");
            }
            let missing = open(&real.join("none")).unwrap_err();
            assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        }
    }

    #[test]
    fn open_directory_survives_a_rename() {
        let temporary = tempfile::tempdir().unwrap();
        let real = fs::canonicalize(temporary.path()).unwrap();
        fs::create_dir_all(real.join("a")).unwrap();
        fs::create_dir_all(real.join("other")).unwrap();
        let directory = Directory::open(&real.join("a")).unwrap();
        fs::rename(real.join("a"), real.join("moved")).unwrap();
        symlink("other", real.join("a")).unwrap();
        fs::write(directory.path(Path::new("f")), "x").unwrap();
        directory.make(Path::new("d")).unwrap().make(Path::new("e")).unwrap();
        directory.make(Path::new("d")).unwrap();
        assert!(real.join("moved/f").exists() && real.join("moved/d/e").exists());
        assert_eq!(fs::read_dir(real.join("other")).unwrap().count(), 0);
    }
}
