//! Files that are dropped on a terminal. They arrive as a paste of paths, quoted for a shell, as
//! URLs, or as Windows paths. Nothing is read here: the caller checks that the files exist.

use std::path::{Path, PathBuf};

use super::Format;

/// Returns the paths if a paste consists of paths of image files and nothing else. `is_wsl` turns
/// Windows paths into those of the Linux below.
pub fn image_paths(paste: &str, is_wsl: bool) -> Option<Vec<PathBuf>> {
    // A text of this length is not a list of dropped files.
    if paste.len() > 64 * 1024 || paste.contains('\0') {
        return None;
    }
    let mut paths = Vec::new();
    for line in paste.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let words = words(line).and_then(|words| {
            words.iter().map(|word| image_path(word, is_wsl)).collect::<Option<Vec<_>>>()
        });
        match words {
            Some(words) if !words.is_empty() => paths.extend(words),
            // Some terminals do not quote: the line is one path with spaces.
            _ => paths.push(image_path(line, is_wsl)?),
        }
    }
    (!paths.is_empty()).then_some(paths)
}

/// Returns true if a path has the name of an image file.
pub fn is_image(path: &Path) -> bool {
    path.extension().and_then(|end| end.to_str()).and_then(Format::from_extension).is_some()
}

/// Splits a line into words as a shell does. Returns `None` if a quote is not closed.
fn words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        let current = word.get_or_insert_default();
        match (quote, character) {
            (Some(open), close) if open == close => quote = None,
            (None, open @ ('\'' | '"')) => quote = Some(open),
            // Backslashes separate the parts of Windows paths, which are never escaped.
            (None, '\\') if !is_windows_so_far(current, characters.peek()) => {
                current.push(characters.next()?);
            }
            (Some('"'), '\\') if matches!(characters.peek(), Some('"' | '$' | '`')) => {
                current.push(characters.next()?);
            }
            (None, space) if space.is_whitespace() => {
                if let Some(word) = word.take().filter(|word| !word.is_empty()) {
                    words.push(word);
                }
            }
            (_, other) => current.push(other),
        }
    }
    if quote.is_some() {
        return None;
    }
    words.extend(word.filter(|word| !word.is_empty()));
    Some(words)
}

/// Returns the path of an image file that a word names.
fn image_path(word: &str, is_wsl: bool) -> Option<PathBuf> {
    let word = word.trim();
    let path = if let Some(address) = word.strip_prefix("file://") {
        let (host, path) = address.split_at(address.find('/')?);
        if !host.is_empty() && host != "localhost" {
            return None;
        }
        let path = percent_decoded(path)?;
        // `file:///C:/x.png` names a drive.
        match path.strip_prefix('/').filter(|path| is_windows(path)) {
            Some(path) => windows_path(path, is_wsl)?,
            None => path,
        }
    } else if is_windows(word) {
        windows_path(word, is_wsl)?
    } else if word.starts_with('/') || word.starts_with("~/") {
        word.to_owned()
    } else {
        return None;
    };
    let name = path.rsplit(['/', '\\']).next()?;
    let extension = Path::new(name).extension()?.to_str()?;
    Format::from_extension(extension)?;
    Some(PathBuf::from(path))
}

/// Returns true for paths with a drive, and for those of the network.
fn is_windows(word: &str) -> bool {
    match word.as_bytes() {
        [drive, b':', b'\\' | b'/', ..] => drive.is_ascii_alphabetic(),
        [drive, b':'] => drive.is_ascii_alphabetic(),
        [b'\\', b'\\', ..] => true,
        _ => false,
    }
}

/// Returns true if a backslash after this text belongs to a Windows path.
fn is_windows_so_far(text: &str, next: Option<&char>) -> bool {
    is_windows(text) || (text.is_empty() && next == Some(&'\\'))
}

/// Returns a Windows path as this program has to open it.
fn windows_path(path: &str, is_wsl: bool) -> Option<String> {
    if !is_wsl {
        return Some(path.to_owned());
    }
    let path = path.replace('\\', "/");
    if let Some(network) = path.strip_prefix("//") {
        // `//wsl.localhost/Distribution/home/x` is a file of the Linux itself.
        let (host, rest) = network.split_once('/')?;
        let is_linux = ["wsl$", "wsl.localhost"].contains(&host.to_ascii_lowercase().as_str());
        let (_, path) = rest.split_once('/').filter(|_| is_linux)?;
        return Some(format!("/{path}"));
    }
    let (drive, rest) = path.split_once(':')?;
    Some(format!("/mnt/{}{rest}", drive.to_ascii_lowercase()))
}

/// Decodes `%20` and the like. Returns `None` if the result is not UTF-8, or has a control
/// character.
fn percent_decoded(text: &str) -> Option<String> {
    let mut out = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'%' {
            out.push(*first);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2)?;
        out.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
        rest = after;
    }
    String::from_utf8(out).ok().filter(|text| !text.contains(char::is_control))
}
