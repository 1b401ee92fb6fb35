//! What a command can do, held by the operating system whatever the policy thought of it.
//!
//! A [`Confinement`] says what is wanted. [`Confinement::prepare`] looks at what the [`Machine`] offers
//! and chooses the highest [`ConfinementLevel`] of a ladder, or refuses; the [`Confined`] it gives rewrites
//! commands so that they start confined. Nothing is started here: whoever starts processes starts
//! the rewritten command, which is this program once more, as the helper ([`run_helper_if_requested`]) that
//! gives up its rights and then becomes the command.
//!
//! # What holds, and where it does not
//!
//! Everything is readable except what is `hidden`; only the writable roots can be written to, and
//! in them not the protected paths. Sockets of the host are unreachable because no Unix socket can
//! be opened at all (pairs of streams can). Capabilities are dropped, also for root, so a root
//! that is confined cannot read or write files of other users any more.
//!
//! * With bubblewrap, a protected path that does not exist is covered by an empty directory, for
//!   which an empty directory must be left behind; [`Confined::covered_paths`] names those, and
//!   [`Confined::remove_covers`] removes them. A process may
//!   open sockets of the network also where it is off, but there is nobody else in it.
//! * A network limited to named hosts is a network of one's own in which only a bridge listens,
//!   and behind that bridge a [`Proxy`], which is what holds. Programs that ignore the usual
//!   proxy variables reach nobody. In a tunnel (HTTPS) nobody looks at the bytes: a host that
//!   answers for others, or passes on what it gets, is one that should not be named.
//! * With Landlock alone nothing can be taken away below what was given. So nothing can be
//!   created, renamed or removed *directly in* a directory that has a protected path below it
//!   (the root itself and `.git`, as a rule); everything below its other children can. Whoever
//!   would rather have a `git commit` than protected hooks says so with fewer `protected` paths.
//!   Modes, owners and times of one's own files are not guarded there while anything is writable,
//!   the directories on the way to something hidden cannot be listed, `/tmp` and `/dev/shm` cannot
//!   be written, and there is no loopback network. Other processes of the same user can be slowed
//!   down (priority, processors), as they can by being busy.
//! * Something hidden that appears while a command runs cannot be read by it, but its name can be
//!   seen; the price is that other files that appear beside it, or beside a directory on the way
//!   to it, cannot be read by that command either. Inside a writable root it is the command's own
//!   for as long as that command runs.
//! * With Landlock alone and `programs`, files that appear beside such a program cannot be read or
//!   run by a command that has started already.
//! * Of a repository, hooks and configuration are protected, with what the configuration
//!   includes, where it says the hooks are, and the same of its submodules and work trees, as far
//!   as those are there when a command starts. Not its whole meaning: a command that may write to
//!   `.git` can lead a later `git` astray with a `commondir` file, or a new submodule. Nothing can
//!   stand in the place of a missing `commondir` without breaking `git`, and where it cannot be
//!   made, no lock file can be either. Protect `.git` where commits are not wanted.
//! * What a command leaves in its roots, others may run: build files, scripts, editors' swap
//!   files. That is what it was allowed to write.

mod access;
#[cfg(target_os = "linux")]
mod bridge;
#[cfg(target_os = "linux")]
mod bubblewrap;
mod covers;
mod denial;
#[cfg(target_os = "linux")]
mod descriptors;
mod detect;
#[cfg(target_os = "linux")]
mod direct;
mod environment;
mod git;
#[cfg(target_os = "linux")]
mod kernel;
#[cfg(target_os = "linux")]
mod launch;
#[cfg(unix)]
mod proxy;

mod roots;
mod seatbelt;
#[cfg(target_os = "linux")]
mod syscalls;

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use denial::{Denial, DenialTarget, explain_denial};
pub use detect::Machine;
pub use environment::without_secrets;
#[cfg(unix)]
pub use proxy::{HostFilter, Proxy, RefusedHost, host_matches};
pub use seatbelt::seatbelt_profile;

/// The first argument that makes a program the helper.
pub const HELPER_ARGUMENT: &str = "--pi-confine";

/// What stays read-only inside writable roots unless the caller says otherwise.
pub const DEFAULT_PROTECTED: &[&str] = &[".git/hooks", ".git/config", ".pi", ".agents"];

/// What is wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// What can be written.
    pub mode: Mode,
    /// Who can be reached.
    pub network: Network,
    /// What stays as it is although a writable root contains it. A relative path means that path
    /// in every root.
    pub protected: Vec<PathBuf>,
    /// What cannot even be read.
    pub hidden: Vec<PathBuf>,
    /// The user's home: where it is writable, its shell start-up files are protected too.
    pub home: Option<PathBuf>,
    /// Names of environment variables with secrets, besides those that look like it.
    pub secret_variables: Vec<String>,
    /// The socket of the [`Proxy`] through which named hosts are reached; needed for
    /// [`Network::Hosts`], and for nothing else.
    #[serde(default)]
    pub proxy: Option<PathBuf>,
    /// Programs that cannot be run, whatever a command calls them: neither as they are, nor by a
    /// loader or an interpreter's line, nor as a copy that a command makes, since they cannot be
    /// read either. Of a copy or a hard link that was there before nothing is known. A program
    /// that is many (of `busybox`, say) is forbidden under all its names, so whoever names one
    /// here decides that.
    #[serde(default)]
    pub forbidden_programs: Vec<PathBuf>,
}

/// What can be written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Nothing.
    ReadOnly,
    /// The workspace, what is named, and a temporary directory of one's own.
    WorkspaceWrite {
        /// Where the work is.
        workspace: PathBuf,
        /// What else can be written.
        extra_roots: Vec<PathBuf>,
        /// A directory for temporary files, made by the caller, who also removes it.
        private_tmp: Option<PathBuf>,
    },
    /// Everything: no confinement.
    Off,
}

/// Who can be reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Network {
    /// Nobody.
    Off,
    /// Everybody, but no raw sockets and no sockets of this machine's services.
    On,
    /// Only these hosts, through a [`Proxy`] that the caller runs and that decides: what is
    /// listed here is for the caller, and nothing but the proxy's socket leads out.
    Hosts(Vec<String>),
}

/// How much the machine can hold, the highest last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConfinementLevel {
    /// Nothing holds.
    None,
    /// The kernel refuses: Landlock and a filter of system calls.
    Landlock,
    /// The system's own sandbox of macOS.
    Seatbelt,
    /// Besides, the command sees files, processes and networks of its own.
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

/// Why a confinement cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum ConfineError {
    /// The machine does not offer enough.
    #[error(
        "{required} is required but this machine offers {offered} ({why}); \
         install what is missing or choose a profile that requires less"
    )]
    Unavailable {
        /// What is required.
        required: ConfinementLevel,
        /// What there is.
        offered: ConfinementLevel,
        /// What is missing.
        why: String,
    },
    /// A list of hosts was asked for where they cannot be told apart.
    #[error(
        "a network limited to named hosts needs bubblewrap, but this machine offers {offered} \
         ({why}); install what is missing, or choose `off` or `on`"
    )]
    HostsUnsupported {
        /// What there is.
        offered: ConfinementLevel,
        /// What is missing.
        why: String,
    },
    /// The network is limited to named hosts, and no proxy is configured.
    #[error("a network limited to named hosts needs a proxy")]
    NoProxy,
    /// The socket of the proxy does not exist.
    #[error("the socket of the proxy, {path}, cannot be used: {source}")]
    ProxySocket {
        /// Path of the socket.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A root is not there, or not a directory.
    #[error("{path} cannot be a writable root: {source}")]
    InvalidRoot {
        /// The root.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The whole machine as a root, or a temporary directory around one.
    #[error(
        "{0} cannot be writable as a whole because the system or the workspace is in it; \
             name what is needed"
    )]
    RootTooBroad(PathBuf),
    /// A protected path that could be led elsewhere.
    #[error("{0} is protected and is a symbolic link, which cannot be held; make it a directory")]
    ProtectedSymlink(PathBuf),
}

impl Confinement {
    /// A confinement with the usual protected paths.
    pub fn new(mode: Mode, network: Network) -> Self {
        Self {
            mode,
            network,
            protected: DEFAULT_PROTECTED.iter().map(PathBuf::from).collect(),
            hidden: Vec::new(),
            home: None,
            secret_variables: Vec::new(),
            proxy: None,
            forbidden_programs: Vec::new(),
        }
    }

    /// Chooses the highest level the machine offers, and refuses if that is lower than `required`
    /// or if the confinement cannot be held at all. `helper` is a program that calls
    /// [`run_helper_if_requested`]; `/proc/self/exe` is this one.
    pub fn prepare(
        &self,
        machine: &Machine,
        required: ConfinementLevel,
        helper: impl Into<PathBuf>,
    ) -> Result<Confined, ConfineError> {
        let offered = if self.mode == Mode::Off { ConfinementLevel::None } else { machine.level() };
        let why = || match self.mode {
            Mode::Off => "confinement is switched off".to_owned(),
            _ => machine.missing(),
        };
        if offered < required {
            return Err(ConfineError::Unavailable { required, offered, why: why() });
        }
        let mut confinement = self.clone();
        if matches!(self.network, Network::Hosts(_)) {
            // Landlock knows ports but no hosts.
            if offered != ConfinementLevel::Bubblewrap {
                return Err(ConfineError::HostsUnsupported { offered, why: why() });
            }
            let path = self.proxy.clone().ok_or(ConfineError::NoProxy)?;
            let real = std::fs::canonicalize(&path)
                .map_err(|source| ConfineError::ProxySocket { path, source })?;
            confinement.proxy = Some(real);
        } else {
            confinement.proxy = None;
        }
        if let Mode::WorkspaceWrite { workspace, extra_roots, private_tmp } = &mut confinement.mode
        {
            let named = [workspace].into_iter().chain(extra_roots).chain(private_tmp);
            for root in named {
                *root = roots::real(root)?;
            }
        }
        // What is temporary has nothing protected in it.
        if let Some(tmp) = confinement.private_tmp()
            && confinement.roots().iter().any(|root| root.starts_with(tmp))
        {
            return Err(ConfineError::RootTooBroad(tmp.to_owned()));
        }
        for path in confinement.hidden.iter_mut().chain(&mut confinement.forbidden_programs) {
            *path = std::fs::canonicalize(&path).unwrap_or_else(|_| roots::leading(path));
        }
        for path in confinement.protected.iter_mut().filter(|path| path.is_absolute()) {
            *path = roots::leading(path);
        }
        let mut confined = Confined {
            confinement,
            level: offered,
            abi: machine.landlock,
            bubblewrap: machine.bubblewrap.clone(),
            helper: helper.into(),
            covers: Vec::new(),
        };
        roots::plan(&confined.confinement)?;
        confined.covers = confined.covered_paths()?;
        Ok(confined)
    }

    /// The roots that can be written, without the temporary directory.
    pub(crate) fn roots(&self) -> Vec<&Path> {
        match &self.mode {
            Mode::WorkspaceWrite { workspace, extra_roots, .. } => {
                [workspace].into_iter().chain(extra_roots).map(PathBuf::as_path).collect()
            }
            Mode::ReadOnly | Mode::Off => Vec::new(),
        }
    }

    pub(crate) fn private_tmp(&self) -> Option<&Path> {
        match &self.mode {
            Mode::WorkspaceWrite { private_tmp, .. } => private_tmp.as_deref(),
            Mode::ReadOnly | Mode::Off => None,
        }
    }
}

/// A confinement that this machine can hold, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confined {
    confinement: Confinement,
    level: ConfinementLevel,
    /// The version of Landlock, 0 without.
    abi: u8,
    bubblewrap: Option<PathBuf>,
    helper: PathBuf,
    /// What was not there when this was made, and for which a cover may leave a directory.
    #[serde(skip)]
    covers: Vec<PathBuf>,
}

/// Removes what covers left of a confinement whose program was killed before it could do so: of
/// its [`Confined::covered_paths`] the usual ones, if they are empty directories that nobody uses.
pub fn remove_stale_covers(masks: &[PathBuf]) -> Vec<PathBuf> {
    let first = |path: &str| Path::new(path).iter().next().map(PathBuf::from);
    let usual: Vec<PathBuf> = DEFAULT_PROTECTED.iter().filter_map(|path| first(path)).collect();
    let is_usual = |mask: &&PathBuf| usual.iter().any(|name| mask.ends_with(name));
    covers::remove(&masks.iter().filter(is_usual).cloned().collect::<Vec<_>>())
}

/// A command as it is to be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The program.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Its whole environment.
    pub environment: Vec<(OsString, OsString)>,
}

impl Confined {
    /// What holds: to be announced and recorded.
    pub fn level(&self) -> ConfinementLevel {
        self.level
    }

    /// What this level does not hold, in sentences for people.
    pub fn limits(&self) -> Vec<&'static str> {
        let mut limits = Vec::new();
        if self.level == ConfinementLevel::None {
            limits.push("Commands can do whatever you can.");
        }
        if self.level == ConfinementLevel::Landlock {
            if self.abi < 6 {
                limits.push("Commands can send signals to your other processes.");
            }
            if self.confinement.mode != Mode::ReadOnly {
                limits.push("Commands can change modes and times of your files anywhere.");
                limits.push(
                    "Commands cannot create, rename or remove files directly in a directory \
                     that contains something protected.",
                );
            }
        }
        limits
    }

    /// The protected paths that do not exist and are covered while commands run; where one is an
    /// empty directory after the last command, that is what is left of the cover, and
    /// [`Self::remove_covers`] removes it.
    pub fn covered_paths(&self) -> Result<Vec<PathBuf>, ConfineError> {
        if self.level != ConfinementLevel::Bubblewrap {
            return Ok(Vec::new());
        }
        let plan = roots::plan(&self.confinement)?;
        Ok(plan.iter().flat_map(roots::Root::covered).collect())
    }

    /// Removes the empty directories that covers left, after the last command: those that were
    /// not there when this confinement was made, that are still empty, and that no command of
    /// anybody's is covering. Gives back what it removed.
    pub fn remove_covers(&self) -> Vec<PathBuf> {
        covers::remove(&self.covers)
    }

    /// The command that runs this command confined. It must be started in `cwd` as well.
    pub fn command(
        &self,
        program: &OsString,
        arguments: &[OsString],
        cwd: &Path,
        environment: &[(OsString, OsString)],
    ) -> Command {
        let confinement = &self.confinement;
        if self.level == ConfinementLevel::None {
            return Command {
                program: program.clone(),
                arguments: arguments.to_vec(),
                environment: environment.to_vec(),
            };
        }
        let mut environment = without_secrets(environment, &confinement.secret_variables);
        let tmp = match (self.level, confinement.private_tmp()) {
            (ConfinementLevel::Bubblewrap, _) => Some(Path::new("/tmp")),
            (_, tmp) => tmp,
        };
        if let Some(tmp) = tmp {
            const NAMES: [&str; 3] = ["TMPDIR", "TMP", "TEMP"];
            environment.retain(|(name, _)| !NAMES.iter().any(|tmp| name == tmp));
            environment.push(("TMPDIR".into(), tmp.into()));
        }
        #[cfg(target_os = "linux")]
        if let Network::Hosts(_) = confinement.network {
            bridge::lead_to_it(&mut environment);
        }
        let mut before: Vec<OsString> = Vec::new();
        let outer = if self.level == ConfinementLevel::Seatbelt {
            before.extend(["-p".into(), seatbelt_profile(confinement).into(), "--".into()]);
            "/usr/bin/sandbox-exec".into()
        } else {
            // Fails for a path that is not text; the helper then refuses to run anything.
            let specification = serde_json::to_string(self).unwrap_or_default();
            before.extend([HELPER_ARGUMENT.into(), specification.into(), cwd.into()]);
            self.helper.clone().into_os_string()
        };
        before.push(program.clone());
        before.extend_from_slice(arguments);
        Command { program: outer, arguments: before, environment }
    }
}

/// Makes this process the helper if its arguments say so, and does not return then. To be called
/// at the very beginning of `main`, before there are other threads.
pub fn run_helper_if_requested() {
    #[cfg(target_os = "linux")]
    {
        let mut arguments = std::env::args_os().skip(1);
        if arguments.next().is_some_and(|argument| argument == HELPER_ARGUMENT) {
            launch::run(arguments.collect());
        }
    }
}
