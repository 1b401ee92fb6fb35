//! The origin of a resource, as RPC clients see it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use super::packages::PackageRoot;

/// The owner of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ResourceScope {
    /// The user; the resource is available in every project.
    User,
    /// A project that is trusted.
    Project,
    /// This run, for example a file of the command line.
    Temporary,
}

/// The kind of location in which a resource was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResourceOrigin {
    /// A package that is installed.
    Package,
    /// A directory of the user or the project, or a setting.
    TopLevel,
}

/// The origin of a resource, serialized for the RPC command `get_commands`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SourceInfo {
    /// Path of the file.
    pub path: PathBuf,
    /// `auto` for a discovered file, `local` for one that a setting or a flag names, `cli` for an
    /// extension that a flag names, else the source of the package in the settings.
    pub source: String,
    /// Owner of the resource.
    pub scope: ResourceScope,
    /// Kind of the location.
    pub origin: ResourceOrigin,
    /// Directory that patterns in settings are relative to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_dir: Option<PathBuf>,
    /// What the settings say about the extensions of its package.
    #[serde(skip)]
    pub limits: Option<Arc<PackageLimits>>,
}

/// What the settings say about the extensions of a package, as they write it. The host of
/// extensions checks it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PackageLimits {
    /// Rights; `None` for all.
    pub rights: Option<Value>,
    /// The runtime; `None` for the one of all extensions.
    pub runtime: Option<Value>,
}

impl SourceInfo {
    /// Creates the origin of a file in a standard directory.
    pub(super) fn discovered(path: &Path, scope: ResourceScope, base: &Path) -> Self {
        Self::new(path, "auto", scope, ResourceOrigin::TopLevel, Some(base))
    }

    /// Creates the origin of a file that a setting names.
    pub(super) fn configured(path: &Path, scope: ResourceScope) -> Self {
        Self::new(path, "local", scope, ResourceOrigin::TopLevel, None)
    }

    /// Creates the origin of a file that a flag names.
    pub(super) fn flag(path: &Path) -> Self {
        Self::new(path, "local", ResourceScope::Temporary, ResourceOrigin::TopLevel, path.parent())
    }

    /// Creates the origin of an extension that a flag names.
    pub(super) fn extension_flag(path: &Path) -> Self {
        Self::new(path, "cli", ResourceScope::Temporary, ResourceOrigin::TopLevel, path.parent())
    }

    /// Creates the origin of a file in a package.
    pub(super) fn package(path: &Path, package: &PackageRoot) -> Self {
        let (scope, root) = (package.scope, Some(package.directory.as_path()));
        let source = Self::new(path, &package.source, scope, ResourceOrigin::Package, root);
        Self { limits: package.limits.clone(), ..source }
    }

    fn new(
        path: &Path,
        source: &str,
        scope: ResourceScope,
        origin: ResourceOrigin,
        base: Option<&Path>,
    ) -> Self {
        let (path, base_dir) = (path.to_path_buf(), base.map(Path::to_path_buf));
        Self { path, source: source.to_owned(), scope, origin, base_dir, limits: None }
    }
}
