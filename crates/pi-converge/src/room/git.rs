//! The repository of a room: the branches and the index are copies of those of the start or of the
//! workspace, the configuration is that of the start, and the objects are those of the original,
//! which commands cannot write.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::repository::StartRepository;

/// The directory of the room's repository in which commands find the objects of the original.
const OBJECTS: &str = ".git/pi-objects";

/// The state that is copied: hooks, logs and objects are not.
pub(super) const COPIED: &[&str] = &["HEAD", "index", "packed-refs", "refs", "shallow"];
/// What decides how tools treat the repository; always that of the start.
pub(super) const SETTINGS: &[&str] = &["config", "description", "info"];

/// Copies what a repository needs besides objects: the state of the start, or that of now. Returns
/// the directory with the objects, and the place in the room at which commands have to find it.
pub(super) fn copy_metadata(
    from: &Path,
    start: &StartRepository,
    is_start: bool,
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
    let state = if is_start { start.directory() } else { &source };
    for name in COPIED {
        copy(&state.join(name), &target.join(name))?;
    }
    for name in SETTINGS {
        copy(&start.directory().join(name), &target.join(name))?;
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
pub(super) fn copy(from: &Path, to: &Path) -> io::Result<()> {
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
