//! Module specifiers to files, as Node resolves them.
//!
//! What differs from Node is what extensions expect of their loader: an extension may be left out,
//! a directory means its index file, TypeScript files count, and `x.js` may name `x.ts`.

mod exports;
mod manifest;
mod path;

use std::path::{Path, PathBuf};

use crate::access::Access;
use crate::modules;
use manifest::Manifest;

/// The module that a specifier names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Resolved {
    /// A module of this program, by its canonical name.
    Host(&'static str),
    /// A module of Node that this program lacks, without `node:`.
    Absent(String),
    /// Text in a `data:` URL.
    Data(String),
    File(PathBuf),
}

/// A specifier that names no module.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ResolveError {
    #[error("Cannot find module '{specifier}'\nRequire stack:\n- {base}")]
    NotFound { specifier: String, base: String },
    #[error("No such built-in module: {0}")]
    UnknownBuiltin(String),
    #[error("Package subpath '{subpath}' is not defined by \"exports\" in {manifest}")]
    NotExported { subpath: String, manifest: String },
    #[error("Package import specifier \"{specifier}\" is not defined in package {manifest}")]
    NotImported { specifier: String, manifest: String },
    #[error("Unknown file extension \"{extension}\" for {path}")]
    UnknownExtension { extension: String, path: String },
}

impl ResolveError {
    /// Returns the code by which Node's errors are told apart.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "MODULE_NOT_FOUND",
            Self::UnknownBuiltin(_) => "ERR_UNKNOWN_BUILTIN_MODULE",
            Self::NotExported { .. } => "ERR_PACKAGE_PATH_NOT_EXPORTED",
            Self::NotImported { .. } => "ERR_PACKAGE_IMPORT_NOT_DEFINED",
            Self::UnknownExtension { .. } => "ERR_UNKNOWN_FILE_EXTENSION",
        }
    }

    /// Returns the global constructor of the error.
    pub(crate) fn class(&self) -> &'static str {
        match self {
            Self::UnknownExtension { .. } => "TypeError",
            _ => "Error",
        }
    }
}

/// The kind of a request: both see the conditions `node` and `default`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Request {
    Import,
    Require,
}

/// Resolves a specifier in the file `base`.
pub(crate) fn resolve(
    access: &Access,
    base: &Path,
    specifier: &str,
    request: Request,
) -> Result<Resolved, ResolveError> {
    if let Some(name) = modules::canonical_name(specifier) {
        return Ok(Resolved::Host(name));
    }
    if let Some(name) = specifier.strip_prefix("node:") {
        return if modules::is_builtin(name) {
            Ok(Resolved::Absent(name.to_owned()))
        } else {
            Err(ResolveError::UnknownBuiltin(specifier.to_owned()))
        };
    }
    if specifier.starts_with("data:") {
        return Ok(Resolved::Data(specifier.to_owned()));
    }
    let search = Search { access, base, specifier, request };
    let found = match search.file() {
        Ok(path) => Ok(path),
        // A package may have the name of a module of Node; the package wins.
        Err(_) if modules::is_builtin(specifier) => {
            return Ok(Resolved::Absent(specifier.to_owned()));
        }
        Err(error) => Err(error),
    };
    let path = found?;
    // A link and its target are one module.
    let path = path.canonicalize().unwrap_or(path);
    path::check_extension(&path)?;
    Ok(Resolved::File(path))
}

/// A search for a file.
struct Search<'a> {
    access: &'a Access,
    base: &'a Path,
    specifier: &'a str,
    request: Request,
}

impl Search<'_> {
    fn not_found(&self) -> ResolveError {
        ResolveError::NotFound {
            specifier: self.specifier.to_owned(),
            base: self.base.display().to_string(),
        }
    }

    fn file(&self) -> Result<PathBuf, ResolveError> {
        let directory = self.base.parent().unwrap_or(Path::new("/"));
        if let Some(url) = self.specifier.strip_prefix("file://") {
            let path = path::from_url(url).ok_or_else(|| self.not_found())?;
            return self.at(&path).ok_or_else(|| self.not_found());
        }
        // A query makes a new instance in Node; here it is left out, as the loader of pi does.
        if path::is_relative(self.specifier) || self.specifier.starts_with('/') {
            let path = path::normalize(&directory.join(self.specifier));
            if let Some(found) = self.at(&path) {
                return Ok(found);
            }
            let without = self.specifier.split(['?', '#']).next().unwrap_or_default();
            let path = path::normalize(&directory.join(without));
            return self.at(&path).ok_or_else(|| self.not_found());
        }
        if self.specifier.starts_with('#') {
            return self.internal(directory);
        }
        self.package(directory, self.specifier)
    }

    /// Returns the file that a path means: itself, with an extension, or the index of a directory.
    fn at(&self, path: &Path) -> Option<PathBuf> {
        self.access.module(path).ok()?;
        path::with_extension(path).or_else(|| self.directory(path))
    }

    fn directory(&self, directory: &Path) -> Option<PathBuf> {
        if !directory.is_dir() {
            return None;
        }
        let main = Manifest::read(directory).and_then(|manifest| manifest.main());
        let main = main.map(|main| path::normalize(&directory.join(main)));
        let main =
            main.and_then(|main| path::with_extension(&main).or_else(|| path::index_in(&main)));
        main.or_else(|| path::index_in(directory))
    }

    /// Resolves a name that begins with `#` through the `imports` of the enclosing package.
    fn internal(&self, directory: &Path) -> Result<PathBuf, ResolveError> {
        let (root, manifest) = Manifest::enclosing(directory).ok_or_else(|| self.not_found())?;
        let undefined = || ResolveError::NotImported {
            specifier: self.specifier.to_owned(),
            manifest: root.join("package.json").display().to_string(),
        };
        let imports = manifest.imports().ok_or_else(undefined)?;
        let target =
            exports::select(imports, self.specifier, self.request).ok_or_else(undefined)?;
        if target.starts_with("./") {
            return self.at(&path::normalize(&root.join(&target))).ok_or_else(|| self.not_found());
        }
        self.package(&root, &target)
    }

    /// Resolves the name of a package, from `directory` upward.
    fn package(&self, directory: &Path, specifier: &str) -> Result<PathBuf, ResolveError> {
        let (name, subpath) = split_package(specifier).ok_or_else(|| self.not_found())?;
        if let Some((root, manifest)) = Manifest::enclosing(directory)
            && manifest.name() == Some(name)
            && manifest.exports().is_some()
        {
            return self.inside(&root, Some(&manifest), subpath);
        }
        for ancestor in directory.ancestors() {
            if ancestor.file_name().is_some_and(|name| name == "node_modules") {
                continue;
            }
            let root = ancestor.join("node_modules").join(name);
            if !root.is_dir() {
                // `node_modules/x.js` is a package too.
                if subpath.is_empty()
                    && let Some(file) = path::with_extension(&root)
                {
                    return Ok(file);
                }
                continue;
            }
            let manifest = Manifest::read(&root);
            match self.inside(&root, manifest.as_ref(), subpath) {
                Err(ResolveError::NotFound { .. }) => {}
                decided => return decided,
            }
        }
        Err(self.not_found())
    }

    /// Resolves a path inside a package; an empty one is the package itself.
    fn inside(
        &self,
        root: &Path,
        manifest: Option<&Manifest>,
        subpath: &str,
    ) -> Result<PathBuf, ResolveError> {
        let Some(exports) = manifest.and_then(Manifest::exports) else {
            let path = path::normalize(&root.join(subpath));
            return self.at(&path).ok_or_else(|| self.not_found());
        };
        let key = if subpath.is_empty() { ".".to_owned() } else { format!("./{subpath}") };
        let other = match self.request {
            Request::Import => Request::Require,
            Request::Require => Request::Import,
        };
        // A package for one kind of request only serves the other one too, as in pi's loader.
        let target = exports::select(exports, &key, self.request)
            .or_else(|| exports::select(exports, &key, other));
        let Some(target) = target else {
            return Err(ResolveError::NotExported {
                subpath: key,
                manifest: root.join("package.json").display().to_string(),
            });
        };
        let path = path::normalize(&root.join(&target));
        // A target that leaves its package is no target.
        if !path.starts_with(root) {
            return Err(self.not_found());
        }
        self.at(&path).ok_or_else(|| self.not_found())
    }
}

/// Splits `@scope/name/sub/path` into name and subpath.
fn split_package(specifier: &str) -> Option<(&str, &str)> {
    let slashes = usize::from(specifier.starts_with('@'));
    let end = specifier.match_indices('/').nth(slashes).map(|(at, _)| at);
    let (name, subpath) = match end {
        Some(end) => (&specifier[..end], &specifier[end + 1..]),
        None => (specifier, ""),
    };
    let is_name = !name.is_empty()
        && !name.starts_with('.')
        && !name.contains(['\\', '%', ':'])
        && name.matches('/').count() == slashes;
    is_name.then_some((name, subpath))
}
