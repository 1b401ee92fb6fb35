//! Fetching a package into its directory, without the settings.

use std::path::Path;

use pi_config::SettingsScope;
use pi_config::resources::{GitLocation, PackageLocation};

use super::{PackageEvent, PackageManager};
use crate::PackageError;
use crate::git::Checkout;
use crate::npm::{Change, Project};
use crate::process::Output;

impl PackageManager {
    /// Installs the package of a location below `base`. With `is_update`, the newest version that
    /// fits is used, else the one of the lock file.
    pub(super) async fn fetch(
        &mut self,
        location: &PackageLocation,
        base: &Path,
        directory: &Path,
        is_update: bool,
    ) -> Result<(), PackageError> {
        match location {
            PackageLocation::Npm { name, spec } => {
                self.fetch_npm(name, spec.as_deref(), &base.join("npm"), is_update).await
            }
            PackageLocation::Git(git) => {
                self.fetch_git(git, &base.join("git"), directory).await.map(drop)
            }
            PackageLocation::Path(_) => Ok(()),
        }
    }

    /// Installs a package of a registry into an installation directory.
    pub(super) async fn fetch_npm(
        &mut self,
        name: &str,
        spec: Option<&str>,
        root: &Path,
        is_update: bool,
    ) -> Result<(), PackageError> {
        let _lock = self.lock(root).await?;
        if let Some(command) = self.npm_command() {
            let wanted = match spec {
                Some(spec) => format!("{name}@{spec}"),
                None => name.to_owned(),
            };
            let manifest = root.join("package.json");
            if !manifest.exists() {
                let text = "{\n  \"name\": \"pi-extensions\",\n  \"private\": true\n}\n";
                std::fs::write(&manifest, text).map_err(PackageError::file(&manifest))?;
            }
            let mut errors = String::new();
            let installing = command.install(&wanted, root, &self.environment, &mut errors);
            let result = installing.await;
            return self.command_result(result, errors);
        }
        let add = [(name.to_owned(), spec.map(str::to_owned))].into();
        let change = Change { add, is_update, ..Change::default() };
        let registry = self.registry(self.scope_of(root));
        let changed = Project::own(root).change(&registry, change).await?;
        (self.report)(PackageEvent::Changed(changed));
        Ok(())
    }

    /// Clones or updates a repository, and installs its dependencies. Returns true if it changed.
    pub(super) async fn fetch_git(
        &mut self,
        git: &GitLocation,
        root: &Path,
        directory: &Path,
    ) -> Result<bool, PackageError> {
        let _lock = self.lock(root).await?;
        let mut checkout = Checkout::new(git, directory, &self.environment);
        let is_there = checkout.exists();
        let result = match is_there {
            true => checkout.update().await,
            false => checkout.clone(root).await.map(|()| true),
        };
        if !checkout.errors.is_empty() {
            (self.report)(PackageEvent::ErrorOutput(checkout.errors));
        }
        // Dependencies that an earlier installation left out are installed as well.
        let has_changed = result?;
        if has_changed || !directory.join("node_modules").exists() {
            let installed = self.install_dependencies(root, directory).await;
            if let Err(error) = installed {
                if !is_there {
                    // Without its dependencies the package is not installed.
                    let _ = std::fs::remove_dir_all(directory);
                }
                return Err(error);
            }
        }
        Ok(has_changed)
    }

    async fn install_dependencies(
        &mut self,
        root: &Path,
        directory: &Path,
    ) -> Result<(), PackageError> {
        if !directory.join("package.json").exists() {
            return Ok(());
        }
        if let Some(command) = self.npm_command() {
            let mut errors = String::new();
            let result = command.install_dependencies(directory, &self.environment, &mut errors);
            let result = result.await;
            return self.command_result(result, errors);
        }
        let registry = self.registry(self.scope_of(root));
        let project = Project::repository(directory);
        let changed = project.change(&registry, Change::default()).await?;
        if changed != crate::Changed::default() {
            (self.report)(PackageEvent::Changed(changed));
        }
        Ok(())
    }

    /// Returns the scope whose registry configuration applies to an installation directory.
    fn scope_of(&self, root: &Path) -> SettingsScope {
        match root.starts_with(self.environment.project_directory()) {
            true => SettingsScope::Project,
            false => SettingsScope::User,
        }
    }

    /// Reports the output of an external npm.
    pub(super) fn command_result(
        &mut self,
        result: Result<Output, PackageError>,
        errors: String,
    ) -> Result<(), PackageError> {
        if !errors.is_empty() {
            (self.report)(PackageEvent::ErrorOutput(errors));
        }
        let Output { stdout, stderr } = result?;
        if !stdout.is_empty() {
            (self.report)(PackageEvent::Output(stdout));
        }
        if !stderr.is_empty() {
            (self.report)(PackageEvent::ErrorOutput(stderr));
        }
        Ok(())
    }
}
