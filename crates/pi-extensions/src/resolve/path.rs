//! Paths of modules: extensions, index files, file URLs.

use std::path::{Component, Path, PathBuf};

use super::ResolveError;

/// Extensions that may be left out, in the order in which pi's loader tries them.
const EXTENSIONS: &[&str] = &["js", "mjs", "cjs", "ts", "tsx", "mts", "cts", "json"];

/// Extensions of files that can be modules, besides those above.
const LOADABLE: &[&str] = &["jsx", "node"];

/// Output names of TypeScript files: `x.js` may name `x.ts`.
const OUTPUTS: &[(&str, &[&str])] =
    &[(".js", &[".ts", ".tsx"]), (".mjs", &[".mts"]), (".cjs", &[".cts"]), (".jsx", &[".tsx"])];

/// Returns true for `./x`, `../x`, `.` and `..`.
pub(super) fn is_relative(specifier: &str) -> bool {
    matches!(specifier, "." | "..") || specifier.starts_with("./") || specifier.starts_with("../")
}

/// Returns the file of a path, which may lack its extension or have that of the compiler's output.
pub(super) fn with_extension(path: &Path) -> Option<PathBuf> {
    if path.is_file() {
        return Some(path.to_owned());
    }
    let text = path.to_str()?;
    for (output, sources) in OUTPUTS {
        if let Some(stem) = text.strip_suffix(output) {
            let source = sources.iter().map(|source| PathBuf::from(format!("{stem}{source}")));
            if let Some(found) = source.into_iter().find(|path| path.is_file()) {
                return Some(found);
            }
        }
    }
    if text.ends_with('/') {
        return None;
    }
    let with = |extension: &&str| PathBuf::from(format!("{text}.{extension}"));
    EXTENSIONS.iter().map(with).find(|path| path.is_file())
}

/// Returns the index file of a directory.
pub(super) fn index_in(directory: &Path) -> Option<PathBuf> {
    let index = |extension: &&str| directory.join(format!("index.{extension}"));
    EXTENSIONS.iter().map(index).find(|path| path.is_file())
}

/// Refuses files that are no modules, such as text. A file without an extension is JavaScript.
pub(super) fn check_extension(path: &Path) -> Result<(), ResolveError> {
    let Some(extension) = path.extension().and_then(|extension| extension.to_str()) else {
        return Ok(());
    };
    if EXTENSIONS.contains(&extension) || LOADABLE.contains(&extension) {
        return Ok(());
    }
    Err(ResolveError::UnknownExtension {
        extension: format!(".{extension}"),
        path: path.display().to_string(),
    })
}

/// Removes `.` and `..` by name.
pub(super) fn normalize(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                normal.pop();
            }
            Component::CurDir => {}
            other => normal.push(other),
        }
    }
    normal
}

/// Returns the path of the part of a file URL after `file://`.
pub(super) fn from_url(rest: &str) -> Option<PathBuf> {
    let rest = rest.strip_prefix("localhost").unwrap_or(rest);
    let rest = rest.split(['?', '#']).next()?;
    if !rest.starts_with('/') {
        return None;
    }
    let bytes = percent_decode(rest)?;
    Some(normalize(&PathBuf::from(String::from_utf8(bytes).ok()?)))
}

/// Decodes `%XX`.
pub(crate) fn percent_decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        if *first == b'%' {
            let (digits, after) = after.split_at_checked(2)?;
            let digits = std::str::from_utf8(digits).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = after;
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    Some(bytes)
}
