//! The repository of a room: the branches, the index and the configuration are copies, and the
//! objects are those of the original, which commands cannot write.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The directory of the room's repository in which commands find the objects of the original.
const OBJECTS: &str = ".git/pi-objects";

/// What is copied: hooks, logs and objects are not.
const COPIED: &[&str] =
    &["HEAD", "config", "description", "index", "info", "packed-refs", "refs", "shallow"];

/// Copies what a repository needs besides objects. Returns the directory with the objects, and the
/// place in the room at which commands have to find it.
pub(super) fn copy_metadata(
    from: &Path,
    room: &Path,
    is_mounted: bool,
) -> io::Result<Option<(PathBuf, PathBuf)>> {
    let (source, target) = (from.join(".git"), room.join(".git"));
    let Ok(metadata) = fs::symlink_metadata(&source) else { return Ok(None) };
    if metadata.is_file() {
        // A worktree: the file names the repository, which is elsewhere.
        fs::copy(&source, &target)?;
        return Ok(None);
    }
    // A link leads out of the workspace, where nothing changes.
    if metadata.is_symlink() {
        crate::workspace::link(&fs::read_link(&source)?, &target)?;
        return Ok(None);
    }
    let objects = source.join("objects");
    if !metadata.is_dir() || !objects.is_dir() {
        return Ok(None);
    }
    fs::create_dir_all(target.join("objects/info"))?;
    fs::create_dir_all(target.join("objects/pack"))?;
    for name in COPIED {
        copy(&source.join(name), &target.join(name))?;
    }
    // A path that is not absolute starts at the directory of objects.
    let alternate = if is_mounted { Path::new("../pi-objects") } else { &objects };
    let mut line = alternate.as_os_str().as_encoded_bytes().to_vec();
    line.push(b'\n');
    fs::write(target.join("objects/info/alternates"), line)?;
    fs::create_dir(room.join(OBJECTS))?;
    Ok(Some((objects, OBJECTS.into())))
}

/// Copies a file or a directory of files, if it exists. Links are left out: they lead elsewhere.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let mut pending = vec![(from.to_owned(), to.to_owned())];
    while let Some((from, to)) = pending.pop() {
        let Ok(metadata) = fs::symlink_metadata(&from) else { continue };
        if metadata.is_dir() {
            fs::create_dir_all(&to)?;
            for entry in fs::read_dir(&from)? {
                let entry = entry?;
                pending.push((entry.path(), to.join(entry.file_name())));
            }
        } else if metadata.is_file() {
            match fs::copy(&from, &to) {
                // Another process has just replaced or removed it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                copied => drop(copied?),
            }
        }
    }
    Ok(())
}
