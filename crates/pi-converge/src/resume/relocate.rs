//! Moving a session to another working directory, for a run that is resumed elsewhere.

use std::fs;
use std::io;
use std::path::Path;

use pi_session::session_files;
use serde_json::Value;

/// Sets the working directory of the session logs in a directory.
pub(crate) fn relocate(sessions: &Path, cwd: &Path) -> io::Result<()> {
    let files = match session_files(sessions) {
        Ok(files) => files,
        Err(error) => return Err(io::Error::other(error)),
    };
    for file in files {
        let text = fs::read(&file)?;
        let end = text.iter().position(|byte| *byte == b'\n').unwrap_or(text.len());
        let (header, rest) = text.split_at(end);
        // A file without a header is reported when it is opened.
        let Ok(mut header) = serde_json::from_slice::<Value>(header) else { continue };
        let here = Value::from(cwd.to_string_lossy());
        let Some(directory) = header.get_mut("cwd").filter(|directory| **directory != here) else {
            continue;
        };
        *directory = here;
        let mut moved = serde_json::to_vec(&header)?;
        moved.extend_from_slice(rest);
        pi_tools::replace_file(&file, &moved)?;
    }
    Ok(())
}
