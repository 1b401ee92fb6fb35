//! Updates of installed packages. Exact versions and git refs stay.

use pi_config::resources::ConfiguredPackage;
use pi_config::resources::PackageLocation;

use super::{PackageEvent, PackageManager};
use crate::PackageError;
use crate::npm::{Spec, installed_version};

/// The result of an update of several packages.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Updated {
    /// Sources of the packages that changed.
    pub changed: Vec<String>,
    /// Packages that could not be updated.
    pub failed: Vec<(String, PackageError)>,
}

impl PackageManager {
    /// Updates all packages of the settings.
    pub async fn update_all(&mut self) -> Updated {
        let mut updated = Updated::default();
        for package in self.configured() {
            match self.update_package(&package).await {
                Ok(true) => updated.changed.push(package.source),
                Ok(false) => {}
                Err(error) => updated.failed.push((package.source, error)),
            }
        }
        updated
    }

    /// Updates the packages of a source, in the settings of the user and of a trusted project.
    pub async fn update(&mut self, source: &str) -> Result<(), PackageError> {
        let location = PackageLocation::parse(source)?;
        let mut packages = self.configured();
        packages.retain(|one| self.matcher(source, &location, one.scope)(&one.source));
        if packages.is_empty() {
            return Err(PackageError::NotConfigured(source.to_owned()));
        }
        for package in packages {
            self.update_package(&package).await?;
        }
        Ok(())
    }

    /// Updates one package. Returns true if it changed.
    async fn update_package(&mut self, package: &ConfiguredPackage) -> Result<bool, PackageError> {
        if self.is_offline || package.is_delta {
            return Ok(false);
        }
        let base = self.base(package.scope);
        let is_there = package.directory.exists();
        match &package.location {
            Ok(PackageLocation::Npm { name, spec }) => {
                let wanted = Spec::parse(spec.as_deref().unwrap_or("latest"));
                if is_there && wanted.is_pinned() {
                    return Ok(false);
                }
                let mut spec = spec.clone();
                if self.npm_command().is_some() {
                    spec = spec.or_else(|| Some("latest".to_owned()));
                } else if is_there {
                    let packument = self.registry(package.scope).packument(name).await?;
                    let newest = packument.pick(name, &wanted)?.version;
                    if installed_version(&package.directory) == Some(newest) {
                        return Ok(false);
                    }
                }
                (self.report)(PackageEvent::Updating(package.source.clone()));
                self.fetch_npm(name, spec.as_deref(), &base.join("npm"), true).await?;
                Ok(true)
            }
            Ok(PackageLocation::Git(git)) => {
                if is_there && git.reference.is_some() {
                    return Ok(false);
                }
                (self.report)(PackageEvent::Updating(package.source.clone()));
                self.fetch_git(git, &base.join("git"), &package.directory).await
            }
            Ok(PackageLocation::Path(_)) => Ok(false),
            Err(invalid) => Err(invalid.clone().into()),
        }
    }
}
