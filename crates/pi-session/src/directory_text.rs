//! Working directories as text in the headers of sessions.
//!
//! A path may consist of any bytes, and JSON has text only. Valid UTF-8 stays as it is; each invalid
//! byte becomes a zero character, which no path contains, and two hexadecimal digits. So a session
//! is found again in its directory.

use std::path::{Path, PathBuf};

/// Returns the text of a directory in a header.
pub fn directory_to_text(path: &Path) -> String {
    #[cfg(unix)]
    {
        use std::fmt::Write as _;
        use std::os::unix::ffi::OsStrExt as _;
        let mut text = String::new();
        for chunk in path.as_os_str().as_bytes().utf8_chunks() {
            text.push_str(chunk.valid());
            for byte in chunk.invalid() {
                // Writing to a string cannot fail.
                let _ = write!(text, "\0{byte:02x}");
            }
        }
        text
    }
    #[cfg(not(unix))]
    path.to_string_lossy().into_owned()
}

/// Returns the directory that a header names.
pub fn directory_from_text(text: &str) -> PathBuf {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStringExt as _;
        let mut parts = text.split('\0');
        let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
        for part in parts {
            let digits = part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
            bytes.extend(digits);
            bytes.extend(part.get(2..).unwrap_or_default().as_bytes());
        }
        std::ffi::OsString::from_vec(bytes).into()
    }
    #[cfg(not(unix))]
    PathBuf::from(text)
}

#[cfg(all(test, unix))]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    use super::*;

    #[test]
    fn any_directory_is_found_again() {
        let cases: [(&[u8], &str); 3] = [
            (b"/plain/directory", "/plain/directory"),
            (b"/caf\xe9/\xff\xfeab", "/caf\0e9/\0ff\0feab"),
            ("/caf\u{e9}".as_bytes(), "/caf\u{e9}"),
        ];
        for (bytes, text) in cases {
            let path = Path::new(OsStr::from_bytes(bytes));
            assert_eq!(directory_to_text(path), text);
            assert_eq!(directory_from_text(text), path);
        }
    }
}
