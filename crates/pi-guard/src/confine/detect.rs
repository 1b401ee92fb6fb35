//! What kernel and machine offer.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::ConfinementLevel;

/// What this machine offers for confinement.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Machine {
    /// The version of Landlock's interface as far as we use it (up to 6), 0 without.
    pub landlock: u8,
    /// Whether programs without rights may make user namespaces, as far as the kernel's settings
    /// tell.
    pub user_namespaces: bool,
    /// A bubblewrap that was seen to work.
    pub bubblewrap: Option<PathBuf>,
    /// Why there is none.
    pub bubblewrap_problem: Option<String>,
    /// Seatbelt of macOS.
    pub seatbelt: bool,
}

/// Before this version a file can be emptied by opening it for reading, so nothing is held.
const LEAST_LANDLOCK: u8 = 3;

impl Machine {
    /// Looks at this machine; that takes some milliseconds, because bubblewrap is tried.
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
            seatbelt: false,
        }
    }

    /// Looks at this machine.
    #[cfg(not(target_os = "linux"))]
    pub fn detect() -> Self {
        let seatbelt =
            cfg!(target_os = "macos") && std::path::Path::new("/usr/bin/sandbox-exec").exists();
        Self { seatbelt, ..Self::default() }
    }

    /// The highest level there is.
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

    /// The same machine without bubblewrap.
    #[must_use]
    pub fn without_bubblewrap(mut self) -> Self {
        self.bubblewrap = None;
        self.bubblewrap_problem = Some("bubblewrap is not to be used".to_owned());
        self
    }

    /// What keeps it from the highest level.
    pub fn missing(&self) -> String {
        if !cfg!(target_os = "linux") {
            return "this system has no confinement that pi knows".to_owned();
        }
        if self.landlock < LEAST_LANDLOCK {
            return "the kernel has no Landlock, or one before Linux 6.2".to_owned();
        }
        self.bubblewrap_problem.clone().unwrap_or_else(|| "nothing is missing".to_owned())
    }
}

#[cfg(target_os = "linux")]
mod linux {
    //! The looking.

    use std::fs;
    use std::path::{Path, PathBuf};
    use std::process::{Command, Stdio};

    use landlock::{
        ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, Scope,
    };

    /// Not from the `PATH`, in which a workspace may have a say.
    const PLACES: [&str; 4] = [
        "/usr/bin/bwrap",
        "/bin/bwrap",
        "/usr/local/bin/bwrap",
        "/run/current-system/sw/bin/bwrap",
    ];

    /// The version by what it can do, without giving up anything.
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

    /// Whether it works can only be found out by trying: containers, security modules and kernel
    /// settings all have their say.
    pub(super) fn bubblewrap() -> Result<PathBuf, String> {
        let found = PLACES.iter().map(Path::new).find(|path| path.exists());
        let path = found.ok_or("bubblewrap is not installed")?;
        let tried = Command::new(path)
            .args(super::super::bubblewrap::NAMESPACES)
            .args(["--unshare-net", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"])
            .args(["--tmpfs", "/tmp", "--", "/bin/sh", "-c", ":"])
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::null())
            .output();
        match tried {
            Ok(tried) if tried.status.success() => Ok(path.to_owned()),
            Ok(tried) => {
                let said = String::from_utf8_lossy(&tried.stderr).trim().to_owned();
                Err(format!("bubblewrap does not work here: {said}"))
            }
            Err(error) => Err(format!("bubblewrap does not start: {error}")),
        }
    }
}
