//! Paths and link targets as text, for the journal and for lists.
//!
//! A name may consist of any bytes. Valid UTF-8 stays as it is; each invalid byte becomes a zero
//! character, which no name contains, and two hexadecimal digits.

use std::borrow::Cow;
use std::path::Path;

/// Character before an encoded byte.
#[cfg(unix)]
const ESCAPE: char = '\0';

/// Encodes a path. Returns `None` on systems with names that cannot be encoded.
#[cfg(unix)]
pub(super) fn to_text(path: &Path) -> Option<String> {
    use std::fmt::Write;
    use std::os::unix::ffi::OsStrExt;
    let mut text = String::with_capacity(path.as_os_str().len());
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            write!(text, "{ESCAPE}{byte:02x}").ok()?;
        }
    }
    Some(text)
}

/// Decodes a path.
#[cfg(unix)]
pub(super) fn to_path(text: &str) -> Cow<'_, Path> {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;
    let mut parts = text.split(ESCAPE);
    let mut bytes = match parts.next() {
        Some(first) if first.len() < text.len() => first.as_bytes().to_vec(),
        _ => return Cow::Borrowed(Path::new(text)),
    };
    for part in parts {
        let byte = part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.extend(byte);
        bytes.extend(part.get(2..).unwrap_or_default().as_bytes());
    }
    Cow::Owned(OsString::from_vec(bytes).into())
}

/// Encodes a path. Returns `None` on systems with names that cannot be encoded.
#[cfg(not(unix))]
pub(super) fn to_text(path: &Path) -> Option<String> {
    path.to_str().map(str::to_owned)
}

/// Decodes a path.
#[cfg(not(unix))]
pub(super) fn to_path(text: &str) -> Cow<'_, Path> {
    Cow::Borrowed(Path::new(text))
}

#[cfg(all(test, unix))]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn any_name_round_trips() {
        let cases: [(&[u8], &str); 6] = [
            (b"plain/name", "plain/name"),
            ("caf\u{e9} \u{fffd} \\xff %ff\n".as_bytes(), "caf\u{e9} \u{fffd} \\xff %ff\n"),
            (b"caf\xe9", "caf\0e9"),
            (b"\xff\xfe/ab", "\0ff\0fe/ab"),
            (b"a\xf0\x9f\x98b", "a\0f0\09f\098b"),
            (b"\xe9a0", "\0e9a0"),
        ];
        for (name, text) in cases {
            let path = Path::new(OsStr::from_bytes(name));
            assert_eq!(to_text(path).as_deref(), Some(text));
            assert_eq!(to_path(text), path, "{text:?}");
        }
    }
}
