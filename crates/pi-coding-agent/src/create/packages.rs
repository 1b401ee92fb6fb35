//! The packages of the settings, and those of them that are installed.

use std::path::PathBuf;

use crate::config::settings::PackageSource;
use crate::config::{SettingsScope, SettingsStore};
use crate::resources::{InvalidLocation, PackageLocation, PackageRoot, ResourceScope};
use crate::{Diagnostic, Environment};

/// A package of the settings.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ConfiguredPackage {
    /// Owner of the settings file.
    pub scope: SettingsScope,
    /// Source as the settings write it.
    pub source: String,
    /// Parsed source.
    pub location: Result<PackageLocation, InvalidLocation>,
    /// Place of the installed package; a package of a path can be a file. Empty if the source is
    /// invalid.
    pub directory: PathBuf,
    /// The settings select resources of the package.
    pub is_filtered: bool,
    entry: PackageSource,
}

impl ConfiguredPackage {
    /// Returns the package as a source of resources.
    pub fn root(&self) -> PackageRoot {
        let (autoload, extensions, skills, prompts, themes) = match self.entry.clone() {
            PackageSource::Whole(_) => (None, None, None, None, None),
            PackageSource::Part { autoload, extensions, skills, prompts, themes, .. } => {
                (autoload, extensions, skills, prompts, themes)
            }
        };
        // Without autoload, only the selected resources are loaded.
        let none = || (autoload == Some(false)).then(Vec::new);
        PackageRoot {
            directory: self.directory.clone(),
            scope: match self.scope {
                SettingsScope::User => ResourceScope::User,
                SettingsScope::Project => ResourceScope::Project,
            },
            source: self.source.clone(),
            extensions: extensions.or_else(none),
            skills: skills.or_else(none),
            prompts: prompts.or_else(none),
            themes: themes.or_else(none),
        }
    }
}

/// Returns the packages of a settings file.
pub fn configured_packages(
    environment: &Environment,
    settings: &SettingsStore,
    scope: SettingsScope,
) -> Vec<ConfiguredPackage> {
    let base = match scope {
        SettingsScope::User => environment.agent_directory.clone(),
        SettingsScope::Project => environment.project_directory(),
    };
    let entries = settings.scope(scope).packages.unwrap_or_default();
    let package = |entry: PackageSource| {
        let (source, is_filtered) = match &entry {
            PackageSource::Whole(source) => (source.clone(), false),
            PackageSource::Part { source, .. } => (source.clone(), true),
        };
        let location = PackageLocation::parse(&source);
        let place = location.as_ref().map(|location| location.directory(&base, environment));
        let directory = place.unwrap_or_default();
        ConfiguredPackage { scope, source, location, directory, is_filtered, entry }
    };
    entries.into_iter().map(package).collect()
}

/// Returns the themes of the installed packages, those of a trusted project first.
pub fn package_themes(environment: &Environment, settings: &SettingsStore) -> Vec<PathBuf> {
    let roots = installed(environment, settings, &mut Vec::new());
    roots.iter().flat_map(|root| root.theme_files(environment)).collect()
}

/// Returns the installed packages of the settings, those of the project first, which take
/// precedence. A package that is not installed is reported.
pub(super) fn installed(
    environment: &Environment,
    settings: &SettingsStore,
    problems: &mut Vec<Diagnostic>,
) -> Vec<PackageRoot> {
    let mut roots: Vec<PackageRoot> = Vec::new();
    for scope in [SettingsScope::Project, SettingsScope::User] {
        for package in configured_packages(environment, settings, scope) {
            if let Err(invalid) = &package.location {
                problems.push(Diagnostic::warning(None, format!("{invalid}; remove it")));
            } else if roots.iter().any(|root| root.directory == package.directory) {
                continue;
            } else if package.directory.exists() {
                roots.push(package.root());
            } else {
                let source = &package.source;
                let message =
                    format!("the package {source} is not installed, so its resources are ignored");
                problems.push(Diagnostic::warning(package.directory, message));
            }
        }
    }
    roots
}
