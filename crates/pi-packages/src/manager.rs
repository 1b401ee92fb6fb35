//! The package manager: operations on packages and on the settings that name them.

mod ensure;
mod fetch;
mod update;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use pi_config::Environment;
use pi_config::resources::{ConfiguredPackage, configured_packages};
use pi_config::resources::{PackageContents, PackageLocation, PackageRoot};
use pi_config::{SettingsScope, SettingsStore};
use pi_web::Downloader;

use crate::PackageError;
use crate::entries;
use crate::lock::RootLock;
use crate::npm::{
    Change, Changed, NpmCommand, Project, Registry, RegistryConfig, direct_dependencies,
};

pub use ensure::NotInstalled;
pub use update::Updated;

/// What an operation does, for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PackageEvent {
    /// A package is being updated.
    Updating(String),
    /// Another process changes the same directory; the operation waits for it.
    Waiting(PathBuf),
    /// Packages of a registry were installed or removed.
    Changed(Changed),
    /// Output of another program.
    Output(String),
    /// Error output of another program.
    ErrorOutput(String),
}

/// A package that was installed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Installed {
    /// Place of the package.
    pub directory: PathBuf,
    /// Files that the package contains.
    pub contents: PackageContents,
}

/// Receives the events of an operation.
pub type Reporter = Box<dyn FnMut(PackageEvent) + Send>;

/// The package manager of a user and a project.
pub struct PackageManager {
    environment: Environment,
    settings: SettingsStore,
    downloader: Downloader,
    report: Reporter,
    /// Pause before the first retry of a download.
    pause: Duration,
    is_offline: bool,
}

impl std::fmt::Debug for PackageManager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PackageManager").finish_non_exhaustive()
    }
}

impl PackageManager {
    /// Creates the package manager. The settings decide whether the project is trusted.
    pub fn new(environment: Environment, settings: SettingsStore, report: Reporter) -> Self {
        let variables = Arc::clone(&environment.variables);
        let env = Arc::new(move |name: &str| variables.get(name).cloned());
        let downloader = Downloader::new(env, settings.settings().http_proxy.clone());
        let pause = Duration::from_millis(500);
        Self { environment, settings, downloader, report, pause, is_offline: false }
    }

    /// Sets the pause before the first retry of a download, which doubles with each retry.
    #[must_use]
    pub fn with_pause(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }

    /// Disables updates and the installation of missing packages.
    #[must_use]
    pub fn offline(mut self, is_offline: bool) -> Self {
        self.is_offline = is_offline;
        self
    }

    /// Returns the packages of the settings: those of the user, then those of a trusted project.
    pub fn configured(&self) -> Vec<ConfiguredPackage> {
        let scopes = [SettingsScope::User, SettingsScope::Project];
        scopes.into_iter().flat_map(|scope| self.of_scope(scope)).collect()
    }

    fn of_scope(&self, scope: SettingsScope) -> Vec<ConfiguredPackage> {
        configured_packages(&self.environment, &self.settings, scope)
    }

    /// Returns the files that a package contains.
    pub fn contents(&self, source: &str, directory: &Path) -> PackageContents {
        // Problems of the manifest are reported when the package is used.
        PackageRoot::whole(source, directory).contents(&self.environment, &mut Vec::new())
    }

    /// Installs a package and adds it to the settings.
    pub async fn install(
        &mut self,
        source: &str,
        scope: SettingsScope,
    ) -> Result<Installed, PackageError> {
        let location = PackageLocation::parse(source)?;
        self.check_trust(scope)?;
        let base = self.base(scope);
        let directory = match &location {
            PackageLocation::Path(_) => {
                let path = location.directory(&self.environment.cwd, &self.environment);
                if !path.exists() {
                    return Err(PackageError::NoSuchPath(path));
                }
                path
            }
            _ => {
                let directory = location.directory(&base, &self.environment);
                self.fetch(&location, &base, &directory, true).await?;
                directory
            }
        };
        let stored = entries::stored_source(source, &location, &base, &self.environment);
        let is_same = self.matcher(source, &location, scope);
        self.settings.update(scope, |changes| {
            changes.edit(&["packages"], move |list| entries::with(list, &stored, &is_same));
        })?;
        let contents = self.contents(source, &directory);
        Ok(Installed { directory, contents })
    }

    /// Removes a package and its entry in the settings.
    pub async fn remove(&mut self, source: &str, scope: SettingsScope) -> Result<(), PackageError> {
        self.check_trust(scope)?;
        let location = PackageLocation::parse(source)?;
        let is_same = self.matcher(source, &location, scope);
        let found = self.of_scope(scope).into_iter().find(|one| is_same(&one.source));
        let Some(found) = found else {
            return Err(PackageError::NotConfigured(source.to_owned()));
        };
        match &found.location {
            Ok(PackageLocation::Npm { name, .. }) => self.uninstall(name, scope).await?,
            Ok(PackageLocation::Git(_)) => self.delete_checkout(&found.directory, scope).await?,
            // Directories of the user stay; an invalid source was never installed.
            Ok(PackageLocation::Path(_)) | Err(_) => {}
        }
        self.settings.update(scope, |changes| {
            changes.edit(&["packages"], move |list| entries::without(list, &is_same));
        })?;
        Ok(())
    }

    async fn uninstall(&mut self, name: &str, scope: SettingsScope) -> Result<(), PackageError> {
        let root = self.base(scope).join("npm");
        let is_known = direct_dependencies(&root).contains_key(name);
        if !is_known && !root.join("node_modules").join(name).exists() {
            return Ok(());
        }
        let _lock = self.lock(&root).await?;
        if let Some(command) = self.npm_command() {
            let mut errors = String::new();
            let removing = command.uninstall(name, &root, &self.environment, &mut errors);
            let result = removing.await;
            return self.command_result(result, errors);
        }
        let remove = [name.to_owned()].into();
        let change = Change { remove, ..Change::default() };
        let registry = self.registry(scope);
        let changed = Project::own(&root).change(&registry, change).await?;
        (self.report)(PackageEvent::Changed(changed));
        // A package that npm did not record is still there.
        let left = root.join("node_modules").join(name);
        if left.exists() {
            fs::remove_dir_all(&left).map_err(PackageError::file(&left))?;
        }
        Ok(())
    }

    async fn delete_checkout(
        &mut self,
        directory: &Path,
        scope: SettingsScope,
    ) -> Result<(), PackageError> {
        let root = self.base(scope).join("git");
        if !directory.starts_with(&root) || !directory.exists() {
            return Ok(());
        }
        let _lock = self.lock(&root).await?;
        // Renamed first: an interrupted removal leaves no half of a package.
        let aside = tempfile::Builder::new().prefix(".pi-clone-").tempdir_in(&root);
        let aside = aside.map_err(PackageError::file(&root))?;
        let old = aside.path().join("old");
        fs::rename(directory, &old).map_err(PackageError::file(directory))?;
        let parents = directory.ancestors().skip(1).take_while(|parent| *parent != root);
        for parent in parents {
            // Only empty directories can be removed.
            if fs::remove_dir(parent).is_err() {
                break;
            }
        }
        Ok(())
    }

    /// Returns a function that recognizes the entries of a package in a settings file.
    fn matcher(
        &self,
        source: &str,
        location: &PackageLocation,
        scope: SettingsScope,
    ) -> impl Fn(&str) -> bool + Send + 'static {
        let environment = self.environment.clone();
        let base = self.base(scope);
        let wanted = location.identity(&environment.cwd, &environment);
        let written = source.trim().to_owned();
        move |entry: &str| {
            let identity = PackageLocation::parse(entry);
            let identity = identity.map(|location| location.identity(&base, &environment));
            entry == written || identity.is_ok_and(|identity| identity == wanted)
        }
    }

    /// Fails if the settings of a scope may not be changed.
    pub fn check_trust(&self, scope: SettingsScope) -> Result<(), PackageError> {
        if scope == SettingsScope::Project && !self.settings.is_trusted() {
            return Err(PackageError::NotTrusted);
        }
        Ok(())
    }

    fn base(&self, scope: SettingsScope) -> PathBuf {
        match scope {
            SettingsScope::User => self.environment.agent_directory.clone(),
            SettingsScope::Project => self.environment.project_directory(),
        }
    }

    async fn lock(&mut self, root: &Path) -> Result<RootLock, PackageError> {
        let report = &mut self.report;
        RootLock::take(root, || report(PackageEvent::Waiting(root.to_owned()))).await
    }

    fn npm_command(&self) -> Option<NpmCommand> {
        NpmCommand::new(self.settings.settings().npm_command.as_deref()?)
    }

    /// Returns the registries with the configuration of the user, and of the project for its own
    /// packages.
    fn registry(&self, scope: SettingsScope) -> Registry {
        let environment = &self.environment;
        let mut files = Vec::new();
        let named = environment.variable("NPM_CONFIG_USERCONFIG");
        let named = named.or_else(|| environment.variable("npm_config_userconfig"));
        files.extend(match named {
            Some(path) => Some(PathBuf::from(path)),
            None => environment.home.as_ref().map(|home| home.join(".npmrc")),
        });
        if scope == SettingsScope::Project {
            files.push(environment.cwd.join(".npmrc"));
        }
        files.push(self.base(scope).join("npm/.npmrc"));
        let mut config = RegistryConfig::default();
        for file in files {
            // Files that do not exist or cannot be read count for nothing, as in npm.
            if let Ok(text) = fs::read_to_string(file) {
                config.add_file(&text, |name| environment.variables.get(name).cloned());
            }
        }
        let variables = environment.variables.iter();
        config.add_variables(variables.map(|(name, value)| (name.as_str(), value.as_str())));
        Registry::new(self.downloader.clone(), config, self.pause)
    }
}
