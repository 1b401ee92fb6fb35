//! Module specifiers to files, as Node resolves them.

use std::path::{Path, PathBuf};

use crate::access::Access;
use crate::modules;

/// The module that a specifier names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Resolved {
    /// A module of this program, by its canonical name.
    Host(&'static str),
    File(PathBuf),
}

/// A specifier that names no module.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ResolveError {
    #[error("Cannot find module '{specifier}'\nRequire stack:\n- {base}")]
    NotFound { specifier: String, base: String },
}

impl ResolveError {
    /// Returns the code by which Node's errors are told apart.
    pub(crate) fn code(&self) -> &'static str {
        "MODULE_NOT_FOUND"
    }
}

const EXTENSIONS: &[&str] = &["ts", "tsx", "mts", "cts", "js", "mjs", "cjs", "json"];

/// Resolves a specifier in the file `base`.
pub(crate) fn resolve(
    _access: &Access,
    base: &Path,
    specifier: &str,
    _is_require: bool,
) -> Result<Resolved, ResolveError> {
    if let Some(name) = modules::canonical_name(specifier) {
        return Ok(Resolved::Host(name));
    }
    let not_found = || ResolveError::NotFound {
        specifier: specifier.to_owned(),
        base: base.display().to_string(),
    };
    let directory = base.parent().unwrap_or(Path::new("/"));
    let is_path = specifier.starts_with('.') || specifier.starts_with('/');
    if is_path {
        let path = normalize(&directory.join(specifier));
        return file_at(&path).map(Resolved::File).ok_or_else(not_found);
    }
    Err(not_found())
}

/// Returns the file that a path without its extension, or of a directory, means.
fn file_at(path: &Path) -> Option<PathBuf> {
    if path.is_file() {
        return Some(path.to_owned());
    }
    // TypeScript sources import each other under the names of their output.
    if let Some(stem) = path.to_str().and_then(|path| path.strip_suffix(".js")) {
        let typescript = PathBuf::from(format!("{stem}.ts"));
        if typescript.is_file() {
            return Some(typescript);
        }
    }
    let with = |extension: &&str| PathBuf::from(format!("{}.{extension}", path.display()));
    let direct = EXTENSIONS.iter().map(with).find(|path| path.is_file());
    direct.or_else(|| {
        let index = |extension: &&str| path.join(format!("index.{extension}"));
        EXTENSIONS.iter().map(index).find(|path| path.is_file())
    })
}

fn normalize(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => {
                normal.pop();
            }
            std::path::Component::CurDir => {}
            other => normal.push(other),
        }
    }
    normal
}
