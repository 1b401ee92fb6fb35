//! The packages of the settings, and those of them that are installed.

use std::path::PathBuf;
use std::sync::Arc;

use super::{InvalidLocation, PackageLimits, PackageLocation, PackageRoot, ResourceScope};
use crate::settings::PackageSource;
use crate::{Diagnostic, Environment, SettingsScope, SettingsStore};

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
    /// The entry of a project changes the selection of the same package of the user.
    pub is_delta: bool,
    /// What the entry says about rights and runtime of the extensions.
    pub limits: PackageLimits,
    entry: PackageSource,
}

impl ConfiguredPackage {
    /// Returns a text that is equal for two entries of one package.
    pub fn identity(&self, environment: &Environment) -> Option<String> {
        let base = base(environment, self.scope);
        Some(self.location.as_ref().ok()?.identity(&base, environment))
    }

    /// Returns true if only selected resources are loaded.
    fn is_partial(&self) -> bool {
        matches!(self.entry, PackageSource::Part { autoload: Some(false), .. })
    }

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
            limits: None,
        }
    }
}

/// Returns the directory of a settings file.
fn base(environment: &Environment, scope: SettingsScope) -> PathBuf {
    match scope {
        SettingsScope::User => environment.agent_directory.clone(),
        SettingsScope::Project => environment.project_directory(),
    }
}

/// Returns true if an entry selects resources, as an object does that says nothing else.
fn is_filtered(entry: &PackageSource) -> bool {
    match entry {
        PackageSource::Whole(_) => false,
        PackageSource::Part {
            autoload,
            extensions,
            skills,
            prompts,
            themes,
            rights,
            runtime,
            ..
        } => {
            let has_lists = [extensions, skills, prompts, themes].iter().any(|list| list.is_some());
            has_lists || autoload.is_some() || (rights.is_none() && runtime.is_none())
        }
    }
}

/// Returns the limits of a package. Those of the user also apply to the entry of a project, which
/// could lift them otherwise.
fn limits(
    entries: &[ConfiguredPackage],
    identity: Option<&String>,
    environment: &Environment,
) -> Option<Arc<PackageLimits>> {
    let mut limits = PackageLimits::default();
    for scope in [SettingsScope::User, SettingsScope::Project] {
        let of_scope = entries.iter().filter(|entry| entry.scope == scope);
        for entry in of_scope.filter(|entry| entry.limits != PackageLimits::default()) {
            if entry.identity(environment).as_ref() == identity {
                limits.rights = limits.rights.or_else(|| entry.limits.rights.clone());
                limits.runtime = limits.runtime.or_else(|| entry.limits.runtime.clone());
            }
        }
    }
    (limits != PackageLimits::default()).then(|| Arc::new(limits))
}

/// Returns the packages of a settings file.
pub fn configured_packages(
    environment: &Environment,
    settings: &SettingsStore,
    scope: SettingsScope,
) -> Vec<ConfiguredPackage> {
    let base = base(environment, scope);
    let entries = settings.scope(scope).packages.unwrap_or_default();
    let package = |entry: PackageSource| {
        let (source, limits) = match &entry {
            PackageSource::Whole(source) => (source.clone(), PackageLimits::default()),
            PackageSource::Part { source, rights, runtime, .. } => {
                let (rights, runtime) = (rights.clone(), runtime.clone());
                (source.clone(), PackageLimits { rights, runtime })
            }
        };
        let is_filtered = is_filtered(&entry);
        let location = PackageLocation::parse(&source);
        let place = location.as_ref().map(|location| location.directory(&base, environment));
        let directory = place.unwrap_or_default();
        let is_delta = false;
        ConfiguredPackage {
            scope,
            source,
            location,
            directory,
            is_filtered,
            is_delta,
            limits,
            entry,
        }
    };
    let mut packages: Vec<ConfiguredPackage> = entries.into_iter().map(package).collect();
    if scope == SettingsScope::Project && packages.iter().any(ConfiguredPackage::is_partial) {
        let users = configured_packages(environment, settings, SettingsScope::User);
        for package in packages.iter_mut().filter(|package| package.is_partial()) {
            let own = package.identity(environment);
            package.is_delta = users.iter().any(|user| user.identity(environment) == own);
        }
    }
    packages
}

/// Returns the themes of the installed packages, those of a trusted project first.
pub fn package_themes(environment: &Environment, settings: &SettingsStore) -> Vec<PathBuf> {
    let roots = installed(environment, settings, &mut Vec::new());
    roots.iter().flat_map(|root| root.theme_files(environment)).collect()
}

/// Adds the decisions of a project to the selection of the user.
fn narrow(root: &mut PackageRoot, delta: &ConfiguredPackage) {
    let PackageSource::Part { extensions, skills, prompts, themes, .. } = &delta.entry else {
        return;
    };
    let add = |filter: &mut Option<Vec<String>>, more: &Option<Vec<String>>| {
        let Some(more) = more.as_ref().filter(|more| !more.is_empty()) else { return };
        // An empty list selects nothing; a further entry must not select everything.
        let selects_nothing = filter.as_ref().is_some_and(Vec::is_empty);
        let list = filter.get_or_insert_default();
        list.extend(selects_nothing.then(|| "!**".to_owned()));
        list.extend(more.iter().cloned());
    };
    add(&mut root.extensions, extensions);
    add(&mut root.skills, skills);
    add(&mut root.prompts, prompts);
    add(&mut root.themes, themes);
}

/// Returns the installed packages of the settings, those of the project first, which take
/// precedence. A package that is not installed is reported.
pub(super) fn installed(
    environment: &Environment,
    settings: &SettingsStore,
    problems: &mut Vec<Diagnostic>,
) -> Vec<PackageRoot> {
    let mut roots: Vec<PackageRoot> = Vec::new();
    let mut deltas: Vec<ConfiguredPackage> = Vec::new();
    let scopes = [SettingsScope::Project, SettingsScope::User];
    let entries = scopes.map(|scope| configured_packages(environment, settings, scope)).concat();
    for package in entries.iter().cloned() {
        if package.is_delta {
            deltas.push(package);
            continue;
        }
        if let Err(invalid) = &package.location {
            problems.push(Diagnostic::warning(None, format!("{invalid}; remove it")));
        } else if roots.iter().any(|root| root.directory == package.directory) {
            continue;
        } else if package.directory.exists() {
            let identity = package.identity(environment);
            let mut root = package.root();
            root.limits = limits(&entries, identity.as_ref(), environment);
            let same = deltas.iter().filter(|delta| delta.identity(environment) == identity);
            same.for_each(|delta| narrow(&mut root, delta));
            roots.push(root);
        } else {
            let source = &package.source;
            let message =
                format!("the package {source} is not installed, so its resources are ignored");
            problems.push(Diagnostic::warning(package.directory, message));
        }
    }
    roots
}
