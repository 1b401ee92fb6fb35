//! Reading text files with a byte order mark or invalid UTF-8.

use std::path::Path;
use std::{fs, io};

use crate::Diagnostic;

/// Reads a text file. Invalid UTF-8 is replaced and reported.
pub(super) fn read(path: &Path, diagnostics: &mut Vec<Diagnostic>) -> io::Result<String> {
    let mut text = match String::from_utf8(fs::read(path)?) {
        Ok(text) => text,
        Err(error) => {
            let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = good.iter().filter(|byte| **byte == b'\n').count() + 1;
            let message = format!(
                "this file is not UTF-8 (first at line {line}); invalid bytes were replaced; save \
                 it as UTF-8"
            );
            diagnostics.push(Diagnostic::warning(path.to_path_buf(), message));
            String::from_utf8_lossy(error.as_bytes()).into_owned()
        }
    };
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    Ok(text)
}
