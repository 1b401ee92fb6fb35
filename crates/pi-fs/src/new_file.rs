//! Files of pi, replaced as a whole: a reader sees the old content or the new one.
//!
//! The content goes to a new file in the same directory, which is then renamed. If writing fails or
//! is given up, the old file stays.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// The users who may read a new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Only the owner.
    Private,
    /// As the umask says.
    Default,
}

/// Replaces or creates a file.
pub fn write(path: &Path, access: Access, content: &[u8]) -> io::Result<()> {
    let mut new = NewFile::create(path, access)?;
    new.write_all(content)?;
    new.finish()
}

/// New content of a file, until it is finished. Dropping it removes it.
#[derive(Debug)]
pub struct NewFile {
    new: NamedTempFile,
    path: PathBuf,
}

impl NewFile {
    /// Begins the new content of a file, which need not exist.
    pub fn create(path: &Path, access: Access) -> io::Result<Self> {
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let mut builder = tempfile::Builder::new();
        #[cfg(unix)]
        if access == Access::Default {
            builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        }
        #[cfg(not(unix))]
        let _ = access;
        let new = builder.tempfile_in(directory.unwrap_or(Path::new(".")))?;
        Ok(Self { new, path: path.to_owned() })
    }

    /// Returns the open file, for its permissions and for synchronization.
    pub fn file(&self) -> &File {
        self.new.as_file()
    }

    /// Gives the content the name of the file.
    pub fn finish(self) -> io::Result<()> {
        self.new.persist(&self.path).map(drop).map_err(|error| error.error)
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.new.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.new.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_is_replaced_whole_or_not_at_all() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        write(&path, Access::Private, b"old").unwrap();
        let mut given_up = NewFile::create(&path, Access::Private).unwrap();
        given_up.write_all(b"new").unwrap();
        drop(given_up);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        write(&path, Access::Private, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }
}
