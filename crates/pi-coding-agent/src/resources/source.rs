//! Where a resource comes from, as clients are told it.

use std::path::{Path, PathBuf};

use serde::Serialize;

/// Whose resource it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ResourceScope {
    /// The user's, in every project.
    User,
    /// The project's; only used when the project is trusted.
    Project,
    /// Named on the command line, for this run.
    Temporary,
}

/// Whether it came in a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// From an installed package.
    Package,
    /// From a directory of the user or the project, or from a setting.
    TopLevel,
}

/// The provenance of a resource; serialised as the RPC command `get_commands` shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SourceInfo {
    /// The file.
    pub path: PathBuf,
    /// `auto` for what was discovered, `local` for what a setting or a flag names, else the
    /// package as the settings name it.
    pub source: String,
    /// Whose it is.
    pub scope: ResourceScope,
    /// Whether it came in a package.
    pub origin: Origin,
    /// The directory that patterns in settings are relative to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_dir: Option<PathBuf>,
}

impl SourceInfo {
    /// Found in one of the usual directories.
    pub(super) fn discovered(path: &Path, scope: ResourceScope, base: &Path) -> Self {
        Self::new(path, "auto", scope, Origin::TopLevel, Some(base))
    }

    /// Named by a setting.
    pub(super) fn configured(path: &Path, scope: ResourceScope) -> Self {
        Self::new(path, "local", scope, Origin::TopLevel, None)
    }

    /// Named on the command line.
    pub(super) fn flag(path: &Path) -> Self {
        Self::new(path, "local", ResourceScope::Temporary, Origin::TopLevel, path.parent())
    }

    /// Part of a package.
    pub(super) fn package(path: &Path, source: &str, scope: ResourceScope, root: &Path) -> Self {
        Self::new(path, source, scope, Origin::Package, Some(root))
    }

    fn new(
        path: &Path,
        source: &str,
        scope: ResourceScope,
        origin: Origin,
        base: Option<&Path>,
    ) -> Self {
        let (path, base_dir) = (path.to_path_buf(), base.map(Path::to_path_buf));
        Self { path, source: source.to_owned(), scope, origin, base_dir }
    }
}
