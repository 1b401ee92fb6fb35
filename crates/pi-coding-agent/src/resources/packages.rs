//! Extensions, skills and templates of installed packages. Packages are installed elsewhere.

use std::path::{Path, PathBuf};
use std::{fs, io};

use serde_json::Value;

use super::discover::{Kind, files_of};
use super::patterns::Entries;
use super::source::ResourceScope;
use crate::{Diagnostic, Environment};

/// An installed package.
#[derive(Debug, Clone)]
pub struct PackageRoot {
    /// Directory of the package.
    pub directory: PathBuf,
    /// Owner of the settings that name the package.
    pub scope: ResourceScope,
    /// Source in the settings: `npm:name`, a git address or a path.
    pub source: String,
    /// Entries that select its extensions; `None` for all.
    pub extensions: Option<Vec<String>>,
    /// Entries that select its skills; `None` for all.
    pub skills: Option<Vec<String>>,
    /// Entries that select its templates; `None` for all.
    pub prompts: Option<Vec<String>>,
}

impl PackageRoot {
    /// Returns the files of a kind that the package contains and the settings select.
    pub(super) fn files(
        &self,
        kind: Kind,
        environment: &Environment,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Vec<PathBuf> {
        let filter = match kind {
            Kind::Extensions => &self.extensions,
            Kind::Skills => &self.skills,
            Kind::Prompts => &self.prompts,
        };
        if filter.as_ref().is_some_and(Vec::is_empty) {
            return Vec::new();
        }
        let mut files = match manifest(&self.directory, kind, diagnostics) {
            Manifest::Absent => files_of(kind, &self.directory.join(kind.directory())),
            Manifest::Lists(list) => self.listed(kind, &list, environment, diagnostics),
        };
        if let Some(filter) = filter {
            let filter = Entries::parse_filter(filter, environment, diagnostics);
            files.retain(|file| filter.keep_named(file, &self.directory));
        }
        files
    }

    /// Returns the files that the entries of the manifest name.
    fn listed(
        &self,
        kind: Kind,
        list: &[String],
        environment: &Environment,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Vec<PathBuf> {
        let root = &self.directory;
        // `./skills` and `skills` are the same path, but only the second works as a pattern.
        let list: Vec<String> =
            list.iter().map(|entry| entry.strip_prefix("./").unwrap_or(entry).to_owned()).collect();
        let entries = Entries::parse(&list, environment, diagnostics);
        let mut files = Vec::new();
        for plain in &entries.plain {
            let path = root.join(plain);
            if path.is_dir() {
                files.extend(files_of(kind, &path));
            } else if path.is_file() {
                files.push(path);
            }
        }
        if entries.has_includes() {
            let all = files_of(kind, root);
            files.extend(all.into_iter().filter(|file| entries.includes(file, root)));
        }
        files.retain(|file| entries.keep_discovered(file, root));
        files
    }
}

/// The entries of a manifest for one kind of resource.
enum Manifest {
    /// There is no `pi` in `package.json`: the standard directories are used.
    Absent,
    /// Paths and patterns of the resources.
    Lists(Vec<String>),
}

fn manifest(root: &Path, kind: Kind, diagnostics: &mut Vec<Diagnostic>) -> Manifest {
    let path = root.join("package.json");
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Manifest::Absent,
        Err(error) => {
            let message = format!("the manifest of the package cannot be read: {error}");
            diagnostics.push(Diagnostic::warning(path, message));
            return Manifest::Absent;
        }
    };
    let package: Value = match serde_json::from_slice(&bytes) {
        Ok(package) => package,
        Err(error) => {
            let message =
                format!("the manifest of the package is invalid ({error}); reinstall the package");
            diagnostics.push(Diagnostic::warning(path, message));
            return Manifest::Absent;
        }
    };
    let Some(pi) = package.get("pi").and_then(Value::as_object) else { return Manifest::Absent };
    let list = pi.get(kind.directory()).and_then(Value::as_array);
    let entries = list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
    Manifest::Lists(entries.collect())
}
