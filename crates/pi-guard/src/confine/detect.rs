//! Detecting the means of confinement that a machine offers.

use std::path::PathBuf;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::ConfinementLevel;

/// The means of confinement that a machine offers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Machine {
    /// The version of Landlock, up to the highest that is used (6), or 0 without Landlock.
    pub landlock: u8,
    /// True if the settings of the kernel allow unprivileged programs to create user namespaces.
    pub user_namespaces: bool,
    /// The path of a working bubblewrap.
    pub bubblewrap: Option<PathBuf>,
    /// The reason why there is no working bubblewrap.
    pub bubblewrap_problem: Option<String>,
    /// The reason why no one can decide about the programs that a command starts, at the moment
    /// they start.
    #[serde(default)]
    pub exec_watch_problem: Option<String>,
    /// True if Seatbelt of macOS is available.
    pub seatbelt: bool,
}

/// The first version that also controls truncation. Before, a file could be emptied by opening it
/// for reading.
const LEAST_LANDLOCK: u8 = 3;

impl Machine {
    /// Detects the means of this machine. Takes some milliseconds, because it runs bubblewrap.
    #[cfg(target_os = "linux")]
    pub fn detect() -> Self {
        let (bubblewrap, bubblewrap_problem) = match linux::bubblewrap() {
            Ok(path) => (Some(path), None),
            Err(problem) => (None, Some(problem)),
        };
        Self {
            landlock: linux::landlock(),
            user_namespaces: linux::user_namespaces(),
            bubblewrap,
            bubblewrap_problem,
            exec_watch_problem: exec_watch_problem(),
            seatbelt: false,
        }
    }

    /// Detects the means of this machine.
    #[cfg(not(target_os = "linux"))]
    pub fn detect() -> Self {
        let seatbelt =
            cfg!(target_os = "macos") && std::path::Path::new("/usr/bin/sandbox-exec").exists();
        Self { seatbelt, exec_watch_problem: exec_watch_problem(), ..Self::default() }
    }

    /// Returns the means of this machine, for the sandboxes of one process. A bubblewrap that works is
    /// remembered: a run opens several sandboxes, and each test of it starts two programs. One that
    /// does not work is tested again, so that a passing problem does not weaken later sandboxes.
    pub fn of_this_process() -> Self {
        static WORKING: OnceLock<Machine> = OnceLock::new();
        let machine = WORKING.get().cloned().unwrap_or_else(Self::detect);
        if machine.bubblewrap.is_some() {
            WORKING.get_or_init(|| machine.clone());
        }
        machine
    }

    /// The highest level that the machine offers.
    pub fn level(&self) -> ConfinementLevel {
        if self.seatbelt {
            ConfinementLevel::Seatbelt
        } else if self.landlock < LEAST_LANDLOCK {
            ConfinementLevel::None
        } else if self.bubblewrap.is_some() {
            ConfinementLevel::Bubblewrap
        } else {
            ConfinementLevel::Landlock
        }
    }

    /// Returns the same machine without bubblewrap.
    #[must_use]
    pub fn without_bubblewrap(mut self) -> Self {
        self.bubblewrap = None;
        self.bubblewrap_problem = Some("bubblewrap is disabled".to_owned());
        self
    }

    /// Describes what is missing for the highest level.
    pub fn missing(&self) -> String {
        if !cfg!(target_os = "linux") {
            return "confinement is not supported on this operating system".to_owned();
        }
        if self.landlock < LEAST_LANDLOCK {
            return "the kernel does not support Landlock as of Linux 6.2".to_owned();
        }
        self.bubblewrap_problem.clone().unwrap_or_else(|| "nothing is missing".to_owned())
    }
}

/// Returns the reason why no one can decide about the programs that a command starts, at the moment
/// they start.
#[cfg(target_os = "linux")]
pub fn exec_watch_problem() -> Option<String> {
    let error = pi_exec_watch::probe().err()?;
    Some(match error.kind() {
        std::io::ErrorKind::ResourceBusy => {
            "another program listens to the system calls of this one".to_owned()
        }
        _ => format!("the kernel does not support it ({error})"),
    })
}

/// Returns the reason why no one can decide about the programs that a command starts, at the moment
/// they start.
#[cfg(not(target_os = "linux"))]
pub fn exec_watch_problem() -> Option<String> {
    Some("this operating system does not report them".to_owned())
}

#[cfg(target_os = "linux")]
mod linux {
    //! Detection on Linux.

    use std::fs;
    use std::path::{Path, PathBuf};
    use std::process::Stdio;

    use landlock::{
        ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, Scope,
    };
    use pi_base::process::{Rights, Variables, command};

    /// Fixed paths instead of the `PATH`, which a workspace may influence.
    const PLACES: [&str; 4] = [
        "/usr/bin/bwrap",
        "/bin/bwrap",
        "/usr/local/bin/bwrap",
        "/run/current-system/sw/bin/bwrap",
    ];

    /// Detects the version of Landlock by its features, without giving up any privilege.
    pub(super) fn landlock() -> u8 {
        let hard = || Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        let files = |abi| hard().handle_access(AccessFs::from_all(abi));
        let works = |ruleset: Result<Ruleset, landlock::RulesetError>| {
            ruleset.is_ok_and(|ruleset| ruleset.create().is_ok())
        };
        if works(hard().scope(Scope::from_all(ABI::V6))) {
            6
        } else if works(files(ABI::V5)) {
            5
        } else if works(hard().handle_access(AccessNet::from_all(ABI::V4))) {
            4
        } else if works(files(ABI::V3)) {
            3
        } else if works(files(ABI::V2)) {
            2
        } else {
            u8::from(works(files(ABI::V1)))
        }
    }

    pub(super) fn user_namespaces() -> bool {
        let setting = |name: &str| fs::read_to_string(Path::new("/proc/sys").join(name));
        let is = |name: &str, value: &str| setting(name).is_ok_and(|text| text.trim() == value);
        Path::new("/proc/self/ns/user").exists()
            && !is("user/max_user_namespaces", "0")
            && !is("kernel/unprivileged_userns_clone", "0")
            && !is("kernel/apparmor_restrict_unprivileged_userns", "1")
    }

    /// Returns the path of a working bubblewrap, or the reason why there is none. Only a trial
    /// shows that it works: containers, security modules and kernel settings may prevent it.
    pub(super) fn bubblewrap() -> Result<PathBuf, String> {
        let found = PLACES.iter().map(Path::new).find(|path| path.exists());
        let path = found.ok_or("bubblewrap is not installed")?;
        let root = Some(Path::new("/"));
        let tried = command(path, root, Variables::Empty, Rights::Own)
            .args(super::super::bubblewrap::NAMESPACES)
            .args(["--unshare-net", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"])
            .args(["--tmpfs", "/tmp", "--", "/bin/sh", "-c", ":"])
            .stdin(Stdio::null())
            .output();
        match tried {
            Ok(tried) if tried.status.success() => Ok(path.to_owned()),
            Ok(tried) => {
                let output = String::from_utf8_lossy(&tried.stderr).trim().to_owned();
                Err(format!("bubblewrap fails on this machine: {output}"))
            }
            Err(error) => Err(format!("bubblewrap cannot be started: {error}")),
        }
    }
}
