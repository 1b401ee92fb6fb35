//! Reasons why a confinement cannot be enforced.

use std::io;
use std::path::PathBuf;

use super::ConfinementLevel;

/// The reason why a confinement cannot be enforced.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfineError {
    /// The machine does not offer the required level.
    #[error("{required} is required, but this machine offers {offered}: {missing}")]
    #[allow(missing_docs, reason = "the message says it")]
    Unavailable { required: ConfinementLevel, offered: ConfinementLevel, missing: String },
    /// The machine cannot limit the network to named hosts.
    #[error(
        "a network limited to named hosts needs bubblewrap, but this machine offers {offered}: \
         {missing}"
    )]
    #[allow(missing_docs, reason = "the message says it")]
    HostsUnsupported { offered: ConfinementLevel, missing: String },
    /// The machine cannot show a directory at another path.
    #[error(
        "a directory at another path needs bubblewrap, but this machine offers {offered}: {missing}"
    )]
    #[allow(missing_docs, reason = "the message says it")]
    MountsUnsupported { offered: ConfinementLevel, missing: String },
    /// The network is limited to named hosts, and no proxy is configured.
    #[error("a network limited to named hosts needs a proxy")]
    NoProxy,
    /// The socket of the proxy does not exist.
    #[error("the proxy socket {path} cannot be used: {source}")]
    #[allow(missing_docs, reason = "the message says it")]
    ProxySocket { path: PathBuf, source: io::Error },
    /// A root does not exist or is not a directory.
    #[error("{path} cannot be a writable root: {source}")]
    #[allow(missing_docs, reason = "the message says it")]
    InvalidRoot { path: PathBuf, source: io::Error },
    /// A root is a system directory, or a temporary directory contains a root.
    #[error(
        "{0} cannot be writable as a whole: it contains the system or the workspace; choose a \
         smaller directory"
    )]
    RootTooBroad(PathBuf),
    /// A protected path is a symbolic link, which could be redirected.
    #[error("{0} is protected and is a symbolic link; replace the link with a directory")]
    ProtectedSymlink(PathBuf),
}
