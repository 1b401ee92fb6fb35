//! The sandbox: limits on a command that the operating system enforces, even if the policy was
//! wrong about that command.
//!
//! A [`Confinement`] describes the limits. [`Confinement::prepare`] chooses the highest
//! [`ConfinementLevel`] that the [`Machine`] offers, or refuses; the resulting [`Confined`] rewrites
//! commands so that they start confined. This module starts no processes: the caller starts the
//! rewritten command, which runs this program again as a helper ([`run_helper_if_requested`]). The
//! helper gives up its privileges and then becomes the command.
//!
//! # Guarantees and their limits
//!
//! Everything is readable except hidden paths; only the writable roots can be written, except for
//! the protected paths in them. Services of the machine are unreachable because no Unix socket can
//! be opened (stream pairs can). Capabilities are dropped, also for root: a confined root cannot
//! read or write files of other users.
//!
//! * With bubblewrap, a protected path that does not exist is covered by an empty directory, which
//!   needs an empty directory below it as a mount point. [`Confined::covered_paths`] lists these,
//!   and [`Confined::remove_covers`] removes them. A process may open network sockets even if the
//!   network is off, but its network contains no other host.
//! * With bubblewrap, `/tmp` is private. The directory directly in `/tmp` that contains a root stays
//!   visible, read-only. A hidden path in it that appears while a command runs can be read by that
//!   command.
//! * A network limited to named hosts is a separate network in which only a bridge listens. The
//!   bridge leads to a [`Proxy`], which enforces the limit. Programs that ignore the usual proxy
//!   variables reach no host. The bytes in a tunnel (HTTPS) are not inspected: do not allow a host
//!   that answers for other hosts or forwards what it receives.
//! * Landlock alone cannot revoke access below a directory to which it grants access. So protected
//!   files in the roots are writable for a command; what it changed is moved away and restored when
//!   it has ended ([`Confined::disable_leftovers`]). Programs outside of the sandbox can meet the
//!   changed files until then. Nothing can be created, renamed or removed *directly in* a directory
//!   with a path below it that is sealed ([`Confinement::sealed`]), hidden, a start-up file of the
//!   home, or too large to be restored (4,096 files or 16 MiB in all); everything below its other
//!   children can. Landlock alone does not protect modes, owners, times and extended attributes of
//!   the user's files while anything is writable; directories above a hidden
//!   path cannot be listed; `/tmp` and `/dev/shm` cannot be written; there is no loopback network;
//!   and other processes of the user can be slowed down (priority, processor affinity).
//! * A hidden path that appears while a command runs cannot be read by that command, but its name
//!   is visible. The price is that other files that appear beside it, or beside a directory above
//!   it, cannot be read by that command either. Inside a writable root, such a path belongs to the
//!   command for as long as it runs.
//! * With Landlock alone and forbidden programs, a running command cannot read or run files that
//!   appear beside such a program.
//! * Of a repository, hooks and configuration are protected, together with included files, the
//!   configured directory of hooks, and the same paths of its submodules and work trees that exist
//!   when a command starts. With bubblewrap, a `commondir` without effect reserves that name. What
//!   cannot be protected is examined after each command ([`Confined::disable_leftovers`]): new
//!   repositories at any depth, steps of a rebase, and with Landlock alone `commondir`. Until the
//!   command has ended, `git` outside of the sandbox would use them.
//! * Files that a command leaves in its roots may be run by others later: build files, scripts,
//!   swap files of editors.

mod access;
mod agent_files;
#[cfg(target_os = "linux")]
mod bridge;
#[cfg(target_os = "linux")]
mod bubblewrap;
mod confined;
mod covers;
mod denial;
#[cfg(target_os = "linux")]
mod descriptors;
mod detect;
mod environment;
mod error;
mod examination;
mod git;
mod hidden;
#[cfg(target_os = "linux")]
mod kept;
#[cfg(target_os = "linux")]
mod kernel;
#[cfg(target_os = "linux")]
mod launch;
#[cfg(target_os = "linux")]
mod leftovers;
mod limits;
mod program_files;
#[cfg(unix)]
mod proxy;
mod roots;
mod seatbelt;
#[cfg(target_os = "linux")]
mod syscalls;
mod trace;
#[cfg(target_os = "linux")]
mod watch;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::protected::{self, Protection};

pub use agent_files::AgentFiles;
pub use confined::{Command, Confined};
pub use covers::{is_cover, remove_stale_covers};
pub use denial::{Denial, DenialTarget, explain_denial, explain_denials};
pub use detect::{Machine, exec_watch_problem};
pub use environment::without_secrets;
pub use error::ConfineError;
pub use examination::Examination;
pub use hidden::credential_paths;
#[cfg(target_os = "linux")]
pub use leftovers::Leftover;
pub use limits::Limits;
#[cfg(target_os = "linux")]
pub use pi_exec_watch::FileUse;
pub use program_files::ProgramFiles;
#[cfg(unix)]
pub use proxy::{HostFilter, Proxy, RefusedHost, host_matches};
pub use roots::links_on_the_way;
pub use seatbelt::seatbelt_profile;
pub use trace::{Trace, Tracing};
#[cfg(target_os = "linux")]
pub use watch::{ExecFilter, ExecWatch, Observed, Observer, Observing, Watch};

/// The first argument that makes a program the helper.
pub const HELPER_ARGUMENT: &str = "--pi-confine";

/// The limits of a command. [`Confinement::new`] makes one with the default protected paths.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Confinement {
    /// The paths that can be written.
    pub mode: Mode,
    /// The hosts that can be reached.
    pub network: Network,
    /// Paths that stay read-only although a writable root contains them. A relative path applies
    /// to every root.
    pub protected: Vec<PathBuf>,
    /// Protected paths that must not change even for a moment, because programs outside of the
    /// sandbox use or run them while commands run. With Landlock alone, nothing can be created beside
    /// these; the other protected paths are restored after each command.
    #[serde(default)]
    pub sealed: Vec<PathBuf>,
    /// Links that lead to protected files. No mount can hold a link, so these are restored after each
    /// command.
    #[serde(default)]
    pub links: Vec<PathBuf>,
    /// Paths that cannot be read.
    pub hidden: Vec<PathBuf>,
    /// The home of the user. If it is writable, its shell start-up files are protected.
    pub home: Option<PathBuf>,
    /// Names of environment variables with secrets, besides those recognized by their name.
    pub secret_variables: Vec<String>,
    /// Names of environment variables that commands keep although they look like secrets.
    #[serde(default)]
    pub kept_variables: Vec<String>,
    /// The socket of the [`Proxy`] that leads to named hosts, required for [`Network::Hosts`] and
    /// ignored otherwise.
    #[serde(default)]
    pub proxy: Option<PathBuf>,
    /// Programs that cannot be run under any name: neither directly, nor by a loader or in the
    /// first line of a script, nor as a copy that a command makes, since they cannot be read
    /// either. A copy or a hard link from before is not recognized. A file that is many programs
    /// (`busybox`) is forbidden under all its names.
    #[serde(default)]
    pub forbidden_programs: Vec<PathBuf>,
    /// Limits on resources.
    #[serde(default)]
    pub limits: Limits,
    /// Directories that commands find at other paths, in this order. Only bubblewrap can do that.
    #[serde(default)]
    pub mounts: Vec<Mount>,
}

/// A directory that commands find at another path. In a writable root that is the target of a mount,
/// nothing is protected: it is not the directory that the default paths are about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Mount {
    /// The directory.
    pub source: PathBuf,
    /// The path at which commands find it. It exists, if not outside of the sandbox, then in a
    /// directory that was mounted before.
    pub target: PathBuf,
    /// Commands can write it, as far as they can write the target.
    pub writable: bool,
}

impl Mount {
    /// Creates a mount that commands can write.
    pub fn writable(source: impl Into<PathBuf>, target: impl Into<PathBuf>) -> Self {
        Self { source: source.into(), target: target.into(), writable: true }
    }

    /// Creates a mount that commands cannot write.
    pub fn read_only(source: impl Into<PathBuf>, target: impl Into<PathBuf>) -> Self {
        Self { source: source.into(), target: target.into(), writable: false }
    }
}

/// The paths that a command can write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Mode {
    /// No path can be written.
    ReadOnly,
    /// The workspace, extra roots and a private temporary directory can be written.
    WorkspaceWrite {
        /// The directory of the project.
        workspace: PathBuf,
        /// Further directories that can be written.
        extra_roots: Vec<PathBuf>,
        /// A directory for temporary files, created and removed by the caller.
        private_tmp: Option<PathBuf>,
    },
    /// Everything can be written: no confinement.
    Off,
}

/// The hosts that a command can reach. Exhaustive, so that every decision about hosts has to
/// consider a new variant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Network {
    /// No host.
    Off,
    /// Every host, but no raw sockets and no Unix sockets.
    On,
    /// The hosts that a [`Proxy`] of the caller allows. The list is information for the caller:
    /// the proxy decides, and its socket is the only way out.
    Hosts(Vec<String>),
}

/// The mechanisms that enforce a confinement, from the weakest to the strongest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ConfinementLevel {
    /// No limits are enforced.
    None,
    /// Landlock and a filter of system calls.
    Landlock,
    /// The sandbox of macOS.
    Seatbelt,
    /// Landlock, a filter of system calls, and separate views of files, processes and networks.
    Bubblewrap,
}

impl fmt::Display for ConfinementLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "no confinement",
            Self::Landlock => "Landlock and seccomp",
            Self::Seatbelt => "Seatbelt",
            Self::Bubblewrap => "bubblewrap, Landlock and seccomp",
        })
    }
}

impl Confinement {
    /// A confinement with the default protected paths.
    pub fn new(mode: Mode, network: Network) -> Self {
        Self {
            mode,
            network,
            protected: protected::in_project(Protection::ReadOnly).map(PathBuf::from).collect(),
            sealed: Vec::new(),
            links: Vec::new(),
            hidden: Vec::new(),
            home: None,
            secret_variables: Vec::new(),
            kept_variables: Vec::new(),
            proxy: None,
            forbidden_programs: Vec::new(),
            limits: Limits::default(),
            mounts: Vec::new(),
        }
    }

    /// Chooses the highest level that the machine offers. Fails if that is lower than `required` or
    /// if the confinement cannot be enforced. `helper` is a program that calls
    /// [`run_helper_if_requested`]; `/proc/self/exe` is the running one.
    pub fn prepare(
        &self,
        machine: &Machine,
        required: ConfinementLevel,
        helper: impl Into<PathBuf>,
    ) -> Result<Confined, ConfineError> {
        let (offered, missing) = match self.mode {
            Mode::Off => (ConfinementLevel::None, "confinement is switched off".to_owned()),
            _ => (machine.level(), machine.missing()),
        };
        if offered < required {
            return Err(ConfineError::Unavailable { required, offered, missing });
        }
        if offered != ConfinementLevel::Bubblewrap && !self.mounts.is_empty() {
            return Err(ConfineError::MountsUnsupported { offered, missing });
        }
        let mut confinement = self.clone();
        confinement.proxy = None;
        if let Network::Hosts(_) = self.network {
            // Landlock can limit ports but not hosts.
            if offered != ConfinementLevel::Bubblewrap {
                return Err(ConfineError::HostsUnsupported { offered, missing });
            }
            let path = self.proxy.clone().ok_or(ConfineError::NoProxy)?;
            let real = fs::canonicalize(&path)
                .map_err(|source| ConfineError::ProxySocket { path, source })?;
            confinement.proxy = Some(real);
        }
        if let Mode::WorkspaceWrite { workspace, extra_roots, private_tmp } = &mut confinement.mode
        {
            for root in [workspace].into_iter().chain(extra_roots).chain(private_tmp) {
                *root = roots::real(root)?;
            }
        }
        // Nothing in the temporary directory is protected.
        if let Some(tmp) = confinement.private_tmp()
            && confinement.roots().iter().any(|root| root.starts_with(tmp))
        {
            return Err(ConfineError::RootTooBroad(tmp.to_owned()));
        }
        for path in confinement.hidden.iter_mut().chain(&mut confinement.forbidden_programs) {
            *path = fs::canonicalize(&path).unwrap_or_else(|_| roots::resolve_parent(path));
        }
        let protected = confinement.protected.iter_mut().chain(&mut confinement.sealed);
        for path in protected.filter(|path| path.is_absolute()) {
            *path = roots::resolve_parent(path);
        }
        Confined::new(confinement, offered, machine, helper.into())
    }

    /// The writable roots, without the temporary directory.
    pub(crate) fn roots(&self) -> Vec<&Path> {
        match &self.mode {
            Mode::WorkspaceWrite { workspace, extra_roots, .. } => {
                [workspace].into_iter().chain(extra_roots).map(PathBuf::as_path).collect()
            }
            Mode::ReadOnly | Mode::Off => Vec::new(),
        }
    }

    /// All protected paths, sealed or not.
    pub(crate) fn all_protected(&self) -> impl Iterator<Item = &PathBuf> {
        self.protected.iter().chain(&self.sealed)
    }

    /// Returns true if commands find another directory at this path.
    pub(crate) fn is_mounted(&self, path: &Path) -> bool {
        self.mounts.iter().any(|mount| mount.target == path)
    }

    pub(crate) fn private_tmp(&self) -> Option<&Path> {
        match &self.mode {
            Mode::WorkspaceWrite { private_tmp, .. } => private_tmp.as_deref(),
            Mode::ReadOnly | Mode::Off => None,
        }
    }
}

/// Turns this process into the helper if its arguments request it, and does not return then. Call
/// it at the very beginning of `main`, before the process has other threads.
pub fn run_helper_if_requested() {
    #[cfg(target_os = "linux")]
    {
        let mut arguments = std::env::args_os().skip(1);
        if arguments.next().is_some_and(|argument| argument == HELPER_ARGUMENT) {
            launch::run(arguments.collect());
        }
    }
}
