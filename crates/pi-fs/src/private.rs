//! Files and directories that only their owner can read: sessions quote private code and keys.

use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::path::Path;

/// Returns options whose new files only their owner can read.
pub fn private_file() -> OpenOptions {
    #[allow(unused_mut, reason = "modes exist on Unix only")]
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Returns a builder of directories that only their owner can read.
pub fn private_directory() -> DirBuilder {
    #[allow(unused_mut, reason = "modes exist on Unix only")]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// Creates a directory and its missing ancestors, which only their owner can read. Existing
/// directories keep their mode.
pub fn create_private(directory: &Path) -> io::Result<()> {
    if directory.is_dir() {
        return Ok(());
    }
    private_directory().recursive(true).create(directory)
}
