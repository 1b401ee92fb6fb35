//! Packages that the settings name and that are not there when a session starts.

use std::path::{Path, PathBuf};

use pi_config::SettingsScope;
use pi_config::resources::ConfiguredPackage;
use pi_config::resources::PackageLocation;
use sha2::{Digest as _, Sha256};

use super::PackageManager;
use crate::PackageError;
use crate::npm::{Range, Version, installed_version, is_interrupted, recover};

/// A package of the settings that is not installed.
#[derive(Debug)]
#[non_exhaustive]
pub struct NotInstalled {
    /// Source of the package.
    pub source: String,
    /// Place where it would be.
    pub directory: PathBuf,
    /// The reason; `None` if installation was not attempted.
    pub error: Option<PackageError>,
}

impl PackageManager {
    /// Returns true if a package of the settings has to be installed. This is all that a start
    /// with complete packages costs: one look at each.
    pub fn is_incomplete(&self) -> bool {
        self.configured().iter().any(|package| self.is_missing(package))
    }

    /// Installs the packages that are missing, or that have a version which does not fit the
    /// settings. Unattended runs install nothing. Returns the packages that are still missing.
    pub async fn ensure_installed(&mut self) -> Vec<NotInstalled> {
        for scope in [SettingsScope::User, SettingsScope::Project] {
            // A failure shows when the packages are looked at.
            let _ = self.recover(scope).await;
        }
        let is_unattended = self.settings.settings().is_unattended();
        let mut missing = Vec::new();
        for package in self.configured() {
            if !self.is_missing(&package) {
                continue;
            }
            let Ok(location) = package.location.clone() else { continue };
            let mut error = None;
            if !self.is_offline && !is_unattended {
                let base = self.base(package.scope);
                let fetched = self.fetch(&location, &base, &package.directory, false).await;
                match fetched {
                    Ok(()) => continue,
                    Err(failed) => error = Some(failed),
                }
            }
            let (source, directory) = (package.source, package.directory);
            missing.push(NotInstalled { source, directory, error });
        }
        missing
    }

    fn is_missing(&self, package: &ConfiguredPackage) -> bool {
        if package.is_delta {
            // The package itself is that of the user.
            return false;
        }
        match &package.location {
            Ok(PackageLocation::Npm { spec, .. }) => {
                let root = self.base(package.scope).join("npm");
                is_interrupted(&root) || !fits(&package.directory, spec.as_deref())
            }
            Ok(PackageLocation::Git(_)) => !package.directory.exists(),
            // A path cannot be installed.
            Ok(PackageLocation::Path(_)) | Err(_) => false,
        }
    }

    /// Installs a package for one run, without the settings: `-e npm:NAME`. Returns its place. An
    /// installed copy is updated; if that fails, it is used as it is.
    pub async fn install_temporary(&mut self, source: &str) -> Result<PathBuf, PackageError> {
        let location = PackageLocation::parse(source)?;
        let hash = pi_base::text::hex(&Sha256::digest(source.trim().as_bytes())[..4]);
        let top = self.environment.agent_directory.join("tmp/extensions");
        match &location {
            PackageLocation::Npm { name, spec } => {
                let root = top.join("npm").join(hash);
                let directory = root.join("node_modules").join(name);
                let is_there = fits(&directory, spec.as_deref());
                if is_there && self.is_offline {
                    return Ok(directory);
                }
                let result = self.fetch_npm(name, spec.as_deref(), &root, true).await;
                usable(result, is_there, directory)
            }
            PackageLocation::Git(git) => {
                let root = top.join("git").join(hash);
                let directory = root.join(&git.host).join(&git.path);
                let is_there = directory.exists();
                if is_there && self.is_offline {
                    return Ok(directory);
                }
                let result = self.fetch_git(git, &root, &directory).await;
                usable(result.map(drop), is_there, directory)
            }
            PackageLocation::Path(_) => {
                let path = location.directory(&self.environment.cwd, &self.environment);
                if path.exists() { Ok(path) } else { Err(PackageError::NoSuchPath(path)) }
            }
        }
    }

    /// Completes an installation that was interrupted. This needs no network.
    async fn recover(&mut self, scope: SettingsScope) -> Result<(), PackageError> {
        let root = self.base(scope).join("npm");
        if self.check_trust(scope).is_ok() && is_interrupted(&root) {
            let _lock = self.lock(&root).await?;
            recover(&root)?;
        }
        Ok(())
    }
}

/// Returns the place of a package that is there, old or new.
fn usable(
    result: Result<(), PackageError>,
    is_there: bool,
    directory: PathBuf,
) -> Result<PathBuf, PackageError> {
    match result {
        Err(error) if !is_there => Err(error),
        _ => Ok(directory),
    }
}

/// Returns true if a version that fits is installed. Tags fit every version.
fn fits(directory: &Path, spec: Option<&str>) -> bool {
    let Some(version) = installed_version(directory) else { return directory.exists() };
    let range = spec.and_then(Range::parse);
    match (range, Version::parse(&version)) {
        (Some(range), Some(version)) => range.contains(&version),
        _ => true,
    }
}
