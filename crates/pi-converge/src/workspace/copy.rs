//! A copy of a directory for one attempt.
//!
//! Everything is copied, also what git ignores: dependencies and build output are often what a
//! check needs. Links stay links. File systems with copy-on-write share the content.

use std::fs;
use std::io;
use std::path::Path;

/// Copies a directory to a new one. `skipped` and everything below it is left out, because the copy
/// may be inside of the original. Returns notes about what was left out.
pub(super) fn copy_directory(from: &Path, to: &Path, skipped: &Path) -> io::Result<Vec<String>> {
    let mut notes = Vec::new();
    fs::create_dir_all(to)?;
    let mut directories = vec![(from.to_owned(), to.to_owned())];
    let mut modes = Vec::new();
    while let Some((source, target)) = directories.pop() {
        for entry in fs::read_dir(&source)? {
            let entry = entry?;
            let (path, copy) = (entry.path(), target.join(entry.file_name()));
            let kind = entry.file_type()?;
            if path == skipped {
                continue;
            }
            if kind.is_dir() {
                fs::create_dir(&copy)?;
                modes.push((copy.clone(), entry.metadata()?.permissions()));
                directories.push((path, copy));
            } else if kind.is_symlink() {
                link(&fs::read_link(&path)?, &copy)?;
            } else if !kind.is_file() {
                notes.push(format!("{} is not a regular file and is not copied", path.display()));
            } else if entry.file_name() == ".git" {
                // It points to a repository that the copy would share with the original.
                notes.push(format!(
                    "{} belongs to another repository; the copy has no git",
                    path.display()
                ));
            } else {
                copy_file(&path, &copy)?;
            }
        }
    }
    // Inner directories first: a directory that cannot be written takes no more files.
    for (directory, permissions) in modes.into_iter().rev() {
        fs::set_permissions(directory, permissions)?;
    }
    Ok(notes)
}

/// Copies a file with its mode and time: build tools compare times.
pub(crate) fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    fs::copy(from, to)?;
    let modified = fs::metadata(from)?.modified()?;
    match fs::OpenOptions::new().write(true).open(to) {
        Ok(file) => file.set_modified(modified),
        // A read-only file keeps the time of the copy.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(unix)]
pub(crate) fn link(target: &Path, path: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, path)
}

#[cfg(not(unix))]
pub(crate) fn link(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
