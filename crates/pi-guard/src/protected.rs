//! The list of protected paths: files that other programs run, trust or keep secrets in.
//!
//! The policy, the sandbox and the trust in projects all use this list. Paths are relative to the
//! working directory, absolute, or in the home directory (`~/…`); each covers everything below.

/// The ways in which a path is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Protection {
    /// Writing needs approval, even if a rule allows the command.
    AskBeforeWriting,
    /// Commands in the sandbox cannot write it, even inside a writable directory.
    ReadOnly,
    /// Commands in the sandbox cannot read it.
    Hidden,
    /// A project that contains it is used only if the user trusts the project.
    NeedsTrust,
}

use Protection::{AskBeforeWriting, Hidden, NeedsTrust, ReadOnly};

/// Paths that are protected in the same ways, for the same reason.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ProtectedPaths {
    /// The paths.
    pub paths: &'static [&'static str],
    /// The ways in which they are protected.
    pub protections: &'static [Protection],
    /// The reason.
    pub reason: &'static str,
}

/// All protected paths.
#[rustfmt::skip]
pub const PROTECTED_PATHS: &[ProtectedPaths] = &[
    ProtectedPaths {
        paths: &[".git/hooks", ".git/config"],
        protections: &[AskBeforeWriting, ReadOnly],
        reason: "git runs them, or the programs that they name",
    },
    ProtectedPaths {
        paths: &[".git/info/attributes"],
        protections: &[AskBeforeWriting],
        reason: "git applies the filters that it names",
    },
    ProtectedPaths {
        paths: &[".pi", ".agents"],
        protections: &[AskBeforeWriting, ReadOnly],
        reason: "agents load settings, instructions and extensions from them",
    },
    ProtectedPaths {
        paths: &[
            ".pi/settings.json", ".pi/mcp.json", ".pi/extensions", ".pi/skills", ".pi/prompts",
            ".pi/themes", ".pi/rules", ".pi/SYSTEM.md", ".pi/APPEND_SYSTEM.md",
        ],
        protections: &[NeedsTrust],
        reason: "they change what the agent does in this project",
    },
    ProtectedPaths {
        paths: &[
            "~/.bash_aliases", "~/.bash_completion", "~/.bash_login", "~/.bash_logout",
            "~/.bash_profile", "~/.bashrc", "~/.cargo/bin", "~/.config/autostart",
            "~/.config/environment.d", "~/.config/fish", "~/.config/git", "~/.config/systemd",
            "~/.gitconfig", "~/.inputrc", "~/.kshrc", "~/.local/bin", "~/.login",
            "~/.pam_environment", "~/.profile", "~/.xinitrc", "~/.xprofile", "~/.xsession",
            "~/.xsessionrc", "~/.zlogin", "~/.zlogout", "~/.zprofile", "~/.zshenv", "~/.zshrc",
        ],
        protections: &[AskBeforeWriting, ReadOnly],
        reason: "shells, desktops and git run them, or find programs in them",
    },
    ProtectedPaths {
        paths: &["~/.ssh"],
        protections: &[AskBeforeWriting, ReadOnly, Hidden],
        reason: "ssh runs the commands in its configuration and keeps keys in it",
    },
    ProtectedPaths {
        paths: &["~/.cargo/config.toml", "~/.npmrc", "~/.pi"],
        protections: &[AskBeforeWriting],
        reason: "tools run the programs that they name",
    },
    ProtectedPaths {
        paths: &["~/.aws", "~/.cargo/credentials.toml", "~/.gnupg"],
        protections: &[AskBeforeWriting, Hidden],
        reason: "other programs keep credentials in them",
    },
    ProtectedPaths {
        paths: &[
            "~/.azure", "~/.cargo/credentials", "~/.config/gcloud", "~/.config/gh",
            "~/.docker/config.json", "~/.git-credentials", "~/.kube", "~/.netrc",
            "~/.password-store", "~/.pgpass", "~/.pypirc", "~/.vault-token",
        ],
        protections: &[Hidden],
        reason: "other programs keep credentials in them",
    },
    ProtectedPaths {
        paths: &[
            "/bin", "/boot", "/etc", "/lib", "/lib64", "/sbin", "/usr", "/var/spool/cron",
        ],
        protections: &[AskBeforeWriting],
        reason: "the system runs them",
    },
];

/// Returns the paths that are protected in this way.
pub fn paths(protection: Protection) -> impl Iterator<Item = &'static str> {
    let groups =
        PROTECTED_PATHS.iter().filter(move |group| group.protections.contains(&protection));
    groups.flat_map(|group| group.paths.iter().copied())
}

/// Returns those of [`paths`] that are in the home directory, relative to it and in
/// alphabetical order.
pub fn in_home(protection: Protection) -> Vec<&'static str> {
    let all = paths(protection);
    let mut paths: Vec<&str> = all.filter_map(|path| path.strip_prefix("~/")).collect();
    paths.sort_unstable();
    paths
}

/// Returns those of [`paths`] that are relative to the working directory.
pub fn in_project(protection: Protection) -> impl Iterator<Item = &'static str> {
    paths(protection).filter(|path| !path.starts_with(['~', '/']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_is_listed_once() {
        let mut paths: Vec<&str> =
            PROTECTED_PATHS.iter().flat_map(|group| group.paths).copied().collect();
        let count = paths.len();
        paths.sort_unstable();
        paths.dedup();
        assert_eq!(paths.len(), count);
        assert!(in_project(ReadOnly).eq([".git/hooks", ".git/config", ".pi", ".agents"]));
        assert!(in_home(ReadOnly).contains(&".ssh"));
    }
}
