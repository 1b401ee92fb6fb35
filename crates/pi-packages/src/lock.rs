//! The lock of an installation directory: one process changes it at a time.

use std::fs::{self, File, OpenOptions};
use std::path::Path;
use std::time::Duration;

use crate::PackageError;

const NAME: &str = ".pi-lock";

/// A held lock. The kernel releases it when the process ends.
#[derive(Debug)]
pub(crate) struct RootLock {
    _file: File,
}

impl RootLock {
    /// Takes the lock of a directory, which is created if needed. Calls `on_wait` if another
    /// process holds it, and waits.
    pub(crate) async fn take(
        root: &Path,
        on_wait: impl FnOnce() + Send,
    ) -> Result<Self, PackageError> {
        let file = Self::open(root)?;
        if pi_fs::try_lock(&file, Duration::ZERO).map_err(PackageError::file(root))? {
            return Ok(Self { _file: file });
        }
        on_wait();
        let locking = tokio::task::spawn_blocking(move || file.lock().map(|()| file));
        match locking.await {
            Ok(Ok(file)) => Ok(Self { _file: file }),
            Ok(Err(error)) => Err(PackageError::file(root)(error)),
            Err(error) => Err(PackageError::file(root)(error.into())),
        }
    }

    fn open(root: &Path) -> Result<File, PackageError> {
        fs::create_dir_all(root).map_err(PackageError::file(root))?;
        // Nothing that is installed belongs into a repository.
        let ignore = root.join(".gitignore");
        if !ignore.exists() {
            fs::write(&ignore, "*\n!.gitignore\n").map_err(PackageError::file(&ignore))?;
        }
        let path = root.join(NAME);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        options.open(&path).map_err(PackageError::file(&path))
    }
}
