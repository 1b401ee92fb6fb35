//! Extensions, skills, templates and themes of installed packages. `pi-packages` installs them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use serde_json::Value;

use super::discover::{Kind, files_of};
use super::patterns::Entries;
use super::source::{PackageLimits, ResourceScope};
use crate::{Diagnostic, Environment};

/// A package that is installed.
#[derive(Debug, Clone)]
pub struct PackageRoot {
    /// Directory of the package; a package of a path can be one extension file.
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
    /// Entries that select its themes; `None` for all.
    pub themes: Option<Vec<String>>,
    /// Rights and runtime of its extensions; `None` for those of all extensions.
    pub limits: Option<Arc<PackageLimits>>,
}

/// The resource files of a package.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PackageContents {
    /// Entry files of extensions.
    pub extensions: Vec<PathBuf>,
    /// Files of the package's skills.
    pub skills: Vec<PathBuf>,
    /// Files of prompt templates.
    pub prompts: Vec<PathBuf>,
    /// Files of the package's themes.
    pub themes: Vec<PathBuf>,
}

impl PackageRoot {
    /// Creates the root of a package of the user, with all its resources.
    pub fn whole(source: &str, directory: &Path) -> Self {
        Self {
            directory: directory.to_path_buf(),
            scope: ResourceScope::User,
            source: source.to_owned(),
            extensions: None,
            skills: None,
            prompts: None,
            themes: None,
            limits: None,
        }
    }

    /// Returns the files that the package contains and the settings select.
    pub fn contents(
        &self,
        environment: &Environment,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> PackageContents {
        let mut files = |kind| self.files(kind, environment, diagnostics);
        PackageContents {
            extensions: files(Kind::Extensions),
            skills: files(Kind::Skills),
            prompts: files(Kind::Prompts),
            themes: files(Kind::Themes),
        }
    }

    /// Returns the theme files that the package contains and the settings select.
    pub fn theme_files(&self, environment: &Environment) -> Vec<PathBuf> {
        // Problems with the manifest are reported with the other kinds.
        self.files(Kind::Themes, environment, &mut Vec::new())
    }

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
            Kind::Themes => &self.themes,
        };
        if filter.as_ref().is_some_and(Vec::is_empty) {
            return Vec::new();
        }
        if self.directory.is_file() {
            let is_extension = kind == Kind::Extensions;
            return if is_extension { vec![self.directory.clone()] } else { Vec::new() };
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
