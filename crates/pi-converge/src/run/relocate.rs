//! Moving a session to another working directory, for a run that is resumed elsewhere.

use std::fs;
use std::io;
use std::path::Path;

use pi_fs::if_exists;
use serde_json::Value;

/// Sets the working directory of the session logs in a directory and in those below it, which have
/// the sessions of sub-agents.
pub(crate) fn relocate(sessions: &Path, cwd: &Path) -> io::Result<()> {
    let mut directories = vec![sessions.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in if_exists(fs::read_dir(&directory))?.into_iter().flatten() {
            let entry = entry?;
            let path = entry.path();
            if entry.file_type()?.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "jsonl") {
                set_directory(&path, cwd)?;
            }
        }
    }
    Ok(())
}

/// Sets the working directory in the header of a session log.
fn set_directory(file: &Path, cwd: &Path) -> io::Result<()> {
    let text = fs::read(file)?;
    let end = text.iter().position(|byte| *byte == b'\n').unwrap_or(text.len());
    let (header, rest) = text.split_at(end);
    // A file without a header is reported when it is opened.
    let Ok(mut header) = serde_json::from_slice::<Value>(header) else { return Ok(()) };
    let here = Value::from(cwd.to_string_lossy());
    match header.get_mut("cwd") {
        Some(directory) if *directory != here => *directory = here,
        _ => return Ok(()),
    }
    let mut moved = serde_json::to_vec(&header)?;
    moved.extend_from_slice(rest);
    pi_fs::replace(file, &moved)
}
