//! The errors of package operations.

use std::io;
use std::path::{Path, PathBuf};

use pi_config::ConfigError;
use pi_config::resources::InvalidLocation;
use pi_web::DownloadError;

/// A package operation that failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PackageError {
    /// The source names no package.
    #[error(transparent)]
    Location(#[from] InvalidLocation),
    /// The directory of a local package does not exist.
    #[error("Path does not exist: {}", .0.display())]
    NoSuchPath(PathBuf),
    /// No package of the settings has this source.
    #[error("No matching package found for {0}")]
    NotConfigured(String),
    /// The settings of the project may not be changed.
    #[error("Project is not trusted. Use --approve to modify local package config.")]
    NotTrusted,
    /// The registry has no package of this name.
    #[error("{name} is not in the registry {registry}")]
    NoPackage {
        /// Name of the package.
        name: String,
        /// URL of the registry.
        registry: String,
    },
    /// No version of the package fits.
    #[error("{name} has no version that fits {spec:?}; its latest version is {latest}")]
    NoVersion {
        /// Name of the package.
        name: String,
        /// The wanted version.
        spec: String,
        /// The tag `latest`.
        latest: String,
    },
    /// A dependency is not in a registry.
    #[error(
        "the dependency {name} ({spec}) of {of} is not supported: only packages of a registry can be installed without npm"
    )]
    UnsupportedDependency {
        /// Name of the dependency.
        name: String,
        /// Specification of the dependency.
        spec: String,
        /// The package that depends on it.
        of: String,
    },
    /// A required package does not support this platform.
    #[error("{package} does not support this platform")]
    Platform {
        /// Name and version of the package.
        package: String,
    },
    /// The dependencies are more than any real package has.
    #[error("more than {0} packages would be installed")]
    TooManyPackages(usize),
    /// The registry's answer cannot be read.
    #[error("the registry's answer about {name} is invalid: {problem}")]
    Metadata {
        /// Name of the package.
        name: String,
        /// The problem.
        problem: String,
    },
    /// The downloaded archive is not the expected one.
    #[error(
        "the checksum of {package} is wrong: expected {expected}, got {actual}; nothing was installed"
    )]
    Integrity {
        /// Name and version of the package.
        package: String,
        /// Checksum of the registry or the lock file.
        expected: String,
        /// Checksum of the archive.
        actual: String,
    },
    /// The registry gives no checksum.
    #[error("the registry has no checksum for {package}; nothing was installed")]
    NoIntegrity {
        /// Name and version of the package.
        package: String,
    },
    /// The registry changed a version that is locked.
    #[error(
        "{package} has changed in the registry: the lock file has {locked}, the registry {found}; if you expect this, remove the package first"
    )]
    Changed {
        /// Name and version of the package.
        package: String,
        /// Checksum of the lock file.
        locked: String,
        /// Checksum of the registry.
        found: String,
    },
    /// The archive of a package is refused.
    #[error("{package}: {source}")]
    Archive {
        /// Name and version of the package.
        package: String,
        /// The reason.
        source: ArchiveError,
    },
    /// The archive contains another package than the registry says.
    #[error("the archive of {package} contains {found}; nothing was installed")]
    OtherPackage {
        /// Name and version of the package.
        package: String,
        /// Name and version in the archive.
        found: String,
    },
    /// A download failed.
    #[error(transparent)]
    Download(#[from] DownloadError),
    /// A program failed.
    #[error("{command} failed{}", code.map(|code| format!(" with code {code}")).unwrap_or_default())]
    Command {
        /// The command line.
        command: String,
        /// Exit code of the program; `None` after a signal.
        code: Option<i32>,
    },
    /// A program cannot be started.
    #[error("cannot run {program}: {source}")]
    Program {
        /// The program.
        program: String,
        /// The cause.
        source: io::Error,
    },
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A file of an installation is damaged.
    #[error("{} is damaged: {problem}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The problem.
        problem: String,
    },
    /// The settings cannot be changed.
    #[error(transparent)]
    Settings(#[from] ConfigError),
}

impl PackageError {
    /// Returns a function that adds the path to an error.
    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::File { path: path.to_owned(), source }
    }
}

/// The reason why an archive is refused.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The archive cannot be read.
    #[error("the archive is damaged: {0}")]
    Damaged(String),
    /// A path would be outside of the package, or is unusable.
    #[error("the archive is refused: the path {path:?} {problem}")]
    Path {
        /// The path in the archive.
        path: String,
        /// The problem with it.
        problem: &'static str,
    },
    /// An entry is neither a file nor a directory nor a link.
    #[error("the archive is refused: {path:?} is a device or of an unknown type")]
    Type {
        /// The path in the archive.
        path: String,
    },
    /// The archive exceeds a bound.
    #[error("the archive is refused: it has more than {0}")]
    TooLarge(String),
    /// A file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}
