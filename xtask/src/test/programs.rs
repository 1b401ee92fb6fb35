//! The programs that the tests need, as a table, and the decision on how to get missing ones.
//!
//! Everything here is pure: the caller looks for programs and runs the package manager.

/// A program that tests start, beyond the Rust toolchain and the C compiler that linking needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Program {
    /// A name to search in `PATH`, or an absolute path.
    pub(super) name: &'static str,
    /// The Debian package that contains the program.
    pub(super) package: &'static str,
    /// The tests that need the program.
    pub(super) needed_by: &'static str,
    pub(super) if_missing: IfMissing,
}

/// The result of tests whose program is missing. No test passes silently without its program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IfMissing {
    /// The tests fail.
    Fail,
    /// The tests pass for the rest and print `NOT TESTED` with the part that did not run.
    Report,
}

use IfMissing::{Fail, Report};

pub(super) const PROGRAMS: &[Program] = &[
    program("chromium", "chromium", "pages (pi-session: page, pi-serve: page)", Fail),
    program("chromedriver", "chromium-driver", "pages (pi-session: page, pi-serve: page)", Fail),
    program("/usr/sbin/sshd", "openssh-server", "tools over SSH (pi-tools: connect, remote)", Fail),
    program("/usr/bin/ssh", "openssh-client", "tools over SSH (pi-tools: connect, remote)", Fail),
    program("ssh-keygen", "openssh-client", "tools over SSH (pi-tools: connect, remote)", Fail),
    program("/bin/bash", "bash", "shell analysis, the bash tool, completions (most crates)", Fail),
    program(
        "git",
        "git",
        "protected paths of repositories (pi-guard: places), pull requests (pi: converge)",
        Fail,
    ),
    program("python3", "python3", "programs that start programs (pi: guard)", Fail),
    program("setsid", "util-linux", "processes (pi-tools), terminals (pi: screen)", Fail),
    program("script", "bsdutils", "output on a terminal (pi: bad_input)", Fail),
    program("/usr/bin/timeout", "coreutils", "shell analysis beside bash (pi-guard)", Fail),
    program("bwrap", "bubblewrap", "the sandbox with bubblewrap (pi-guard, pi-tools, pi)", Report),
    program(
        "curl",
        "curl",
        "named hosts (pi-guard: hosts), the install script (pi: self_update)",
        Report,
    ),
    program(
        "unshare",
        "util-linux",
        "full disks, missing homes (pi, pi-tools), Landlock alone",
        Report,
    ),
    program("setpriv", "util-linux", "the sandbox of an ordinary user (pi-guard, pi)", Report),
    program(
        "/usr/sbin/useradd",
        "passwd",
        "the sandbox of an ordinary user (pi-guard, pi)",
        Report,
    ),
    program("fish", "fish", "completions (pi: completions)", Report),
    program("zsh", "zsh", "completions (pi: completions)", Report),
    program("ipcmk", "util-linux", "System V shared memory (pi-guard: escapes)", Report),
];

const fn program(
    name: &'static str,
    package: &'static str,
    needed_by: &'static str,
    if_missing: IfMissing,
) -> Program {
    Program { name, package, needed_by, if_missing }
}

/// The programs of the table that `exists` does not find.
pub(super) fn missing(exists: impl Fn(&str) -> bool) -> Vec<Program> {
    PROGRAMS.iter().filter(|program| !exists(program.name)).copied().collect()
}

/// The means of installing packages on a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Installer {
    /// `apt-get` as root.
    Apt,
    /// `apt-get` through a `sudo` that asks for no password.
    SudoApt,
    /// `apt-get`, but no permission to use it without a password.
    NoPermission,
    /// A machine without `apt-get`.
    NoApt,
}

impl Installer {
    /// Chooses the installer from three facts about the machine.
    pub(super) fn choose(has_apt: bool, is_root: bool, has_sudo: bool) -> Self {
        match (has_apt, is_root, has_sudo) {
            (false, _, _) => Self::NoApt,
            (true, true, _) => Self::Apt,
            (true, false, true) => Self::SudoApt,
            (true, false, false) => Self::NoPermission,
        }
    }

    /// The words before the arguments of `apt-get`. `None` if packages cannot be installed.
    pub(super) fn command(self) -> Option<&'static [&'static str]> {
        match self {
            // `RUNLEVEL=1`: the tests start a server of their own, so the packaged service of
            // openssh-server stays off.
            Self::Apt => Some(&["env", "DEBIAN_FRONTEND=noninteractive", "RUNLEVEL=1", "apt-get"]),
            Self::SudoApt => Some(&[
                "sudo",
                "-n",
                "env",
                "DEBIAN_FRONTEND=noninteractive",
                "RUNLEVEL=1",
                "apt-get",
            ]),
            Self::NoPermission | Self::NoApt => None,
        }
    }
}

/// The packages of these programs, each once, in the order of the table.
pub(super) fn packages(programs: &[Program]) -> Vec<&'static str> {
    let mut packages = Vec::new();
    for program in programs {
        if !packages.contains(&program.package) {
            packages.push(program.package);
        }
    }
    packages
}

/// Describes the programs that are still missing and how to install them.
pub(super) fn report(missing: &[Program], installer: Installer) -> String {
    let mut text = String::from("These programs are missing:\n");
    for program in missing {
        let result = match program.if_missing {
            Fail => "fail",
            Report => "print NOT TESTED",
        };
        let Program { name, package, needed_by, .. } = program;
        text.push_str(&format!(
            "  {name} (Debian package {package}): these tests {result}: {needed_by}\n"
        ));
    }
    let list = packages(missing).join(" ");
    let hint = match installer {
        Installer::Apt | Installer::SudoApt => {
            format!("apt-get could not install them; see above. Packages: {list}")
        }
        Installer::NoPermission => format!("To install them: sudo apt-get install {list}"),
        Installer::NoApt => {
            format!(
                "Install them with the package manager of this system. Debian calls them: {list}"
            )
        }
    };
    text.push_str(&hint);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_is_listed_once_and_completely() {
        for (at, program) in PROGRAMS.iter().enumerate() {
            let Program { name, package, needed_by, .. } = program;
            assert!(!name.is_empty() && !package.is_empty() && !needed_by.is_empty(), "{name}");
            assert!(!PROGRAMS[..at].iter().any(|other| other.name == *name), "{name} twice");
        }
    }

    #[test]
    fn missing_programs_lead_to_their_packages() {
        assert_eq!(missing(|_| true), []);
        let without_ssh = missing(|name| !name.contains("ssh"));
        let names: Vec<&str> = without_ssh.iter().map(|program| program.name).collect();
        assert_eq!(names, ["/usr/sbin/sshd", "/usr/bin/ssh", "ssh-keygen"]);
        assert_eq!(packages(&without_ssh), ["openssh-server", "openssh-client"]);
        assert_eq!(packages(&[]), [] as [&str; 0]);
    }

    #[test]
    fn packages_are_installed_only_with_permission() {
        let cases = [
            ((false, true, true), Installer::NoApt),
            ((true, true, false), Installer::Apt),
            ((true, true, true), Installer::Apt),
            ((true, false, true), Installer::SudoApt),
            ((true, false, false), Installer::NoPermission),
        ];
        for ((has_apt, is_root, has_sudo), expected) in cases {
            let chosen = Installer::choose(has_apt, is_root, has_sudo);
            assert_eq!(chosen, expected, "{has_apt} {is_root} {has_sudo}");
            let first = chosen.command().and_then(<[_]>::first).copied();
            match expected {
                Installer::Apt => assert_eq!(first, Some("env")),
                Installer::SudoApt => assert_eq!(first, Some("sudo")),
                Installer::NoPermission | Installer::NoApt => assert_eq!(first, None),
            }
        }
    }

    #[test]
    fn reports_name_program_package_and_tests() {
        let missing = missing(|name| name != "bwrap" && name != "git");
        let text = report(&missing, Installer::NoPermission);
        for part in [
            "git (Debian package git): these tests fail: protected paths",
            "bwrap (Debian package bubblewrap): these tests print NOT TESTED: the sandbox",
            "sudo apt-get install git bubblewrap",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(report(&missing, Installer::NoApt).contains("Debian calls them: git bubblewrap"));
        assert!(report(&missing, Installer::Apt).contains("could not install them"));
    }
}
