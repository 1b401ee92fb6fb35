//! Paths as models write them.

use std::path::{Component, Path, PathBuf};

use unicode_normalization::UnicodeNormalization;

/// Resolves a path of a model to an absolute path, relative to `cwd` and with `~` for `home`.
pub(crate) fn resolve(path: &str, cwd: &Path, home: Option<&Path>) -> PathBuf {
    let path: String = path.chars().map(|c| if is_space(c) { ' ' } else { c }).collect();
    // Models copy the `@` with which users refer to files.
    let path = path.strip_prefix('@').unwrap_or(&path);
    let path = from_url(path).unwrap_or_else(|| path.to_owned());
    let expanded = match (path.strip_prefix('~'), home) {
        (Some(""), Some(home)) => home.to_owned(),
        (Some(rest), Some(home)) if rest.starts_with('/') => {
            home.join(rest.trim_start_matches('/'))
        }
        _ => PathBuf::from(&path),
    };
    normalize(&cwd.join(expanded))
}

/// Returns other Unicode spellings of a path that does not exist: file systems and users change
/// names in these ways.
pub(crate) fn variants(path: &Path) -> Vec<PathBuf> {
    let Some(text) = path.to_str() else { return Vec::new() };
    let decomposed: String = text.nfd().collect();
    // macOS puts a narrow space into the names of screenshots.
    let narrow = ["AM.", "PM.", "am.", "pm."].iter().fold(text.to_owned(), |text, half| {
        text.replace(&format!(" {half}"), &format!("\u{202f}{half}"))
    });
    let curly = |text: &str| text.replace('\'', "\u{2019}");
    [narrow, decomposed.clone(), curly(text), curly(&decomposed)]
        .into_iter()
        .filter(|variant| variant != text)
        .map(PathBuf::from)
        .collect()
}

/// Returns true for Unicode spaces other than the plain one.
fn is_space(c: char) -> bool {
    matches!(c, '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}')
}

/// Returns the path of a `file:` URL.
fn from_url(text: &str) -> Option<String> {
    let rest = text.strip_prefix("file://")?;
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, tail @ ..] = rest {
        let escaped = (*first == b'%').then(|| tail.get(..2)).flatten().and_then(hex);
        match escaped {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes).ok().filter(|path| path.starts_with('/'))
}

fn hex(digits: &[u8]) -> Option<u8> {
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// Removes `.` and `..` without access to the file system.
fn normalize(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(normal.pop()),
            other => normal.push(other),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_models_are_resolved() {
        let cases = [
            ("a.txt", "/w/a.txt"),
            ("./b/../a.txt", "/w/a.txt"),
            ("../../../x", "/x"),
            ("/abs/x", "/abs/x"),
            ("@src/x", "/w/src/x"),
            ("@@x", "/w/@x"),
            ("~", "/home/u"),
            ("~/x", "/home/u/x"),
            ("~user/x", "/w/~user/x"),
            ("a\u{a0}b\u{202f}c\u{3000}d", "/w/a b c d"),
            ("file:///tmp/a%20b", "/tmp/a b"),
            ("file://localhost/x", "/x"),
            ("a/", "/w/a"),
        ];
        for (text, expected) in cases {
            let found = resolve(text, Path::new("/w"), Some(Path::new("/home/u")));
            assert_eq!(found, Path::new(expected), "{text}");
        }
        assert_eq!(resolve("~/x", Path::new("/w"), None), Path::new("/w/~/x"));
    }

    #[test]
    fn unicode_variants_are_returned() {
        let found = variants(Path::new("/d/Capture d'écran 3.04 PM.png"));
        assert!(found.contains(&PathBuf::from("/d/Capture d'écran 3.04\u{202f}PM.png")));
        assert!(found.contains(&PathBuf::from("/d/Capture d\u{2019}écran 3.04 PM.png")));
        assert!(found.contains(&PathBuf::from("/d/Capture d'e\u{301}cran 3.04 PM.png")));
        assert_eq!(variants(Path::new("/plain")), [] as [PathBuf; 0]);
    }
}
