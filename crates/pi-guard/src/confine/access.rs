//! The limits of a confinement for tools that access files in this process.
//!
//! The operating system does not enforce these, so the caller must pass the real path and open it
//! without following links.
//!
//! Tools may do what only the mechanism denies to commands: create files beside a protected path.
//! If commands have a private `/tmp`, tools cannot write that of the machine; they can read it,
//! because the modes of its files protect secrets there.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use super::denial::{self, Origin};
use super::{Confined, ConfinementLevel, Denial, DenialTarget};

/// The devices that tools may read, and those that they may write.
const READABLE: [&str; 5] = ["/dev/full", "/dev/null", "/dev/random", "/dev/urandom", "/dev/zero"];
const WRITABLE: [&str; 3] = ["/dev/full", "/dev/null", "/dev/zero"];

impl Confined {
    /// Checks whether a tool may create, change or remove the file at this real path.
    pub fn may_write(&self, real: &Path) -> Result<(), Denial> {
        if self.level == ConfinementLevel::None
            || WRITABLE.iter().any(|device| real == Path::new(device))
        {
            return Ok(());
        }
        match denial::rule(self, real, Origin::Tool) {
            Some(rule) => Err(denial(real, rule)),
            None => Ok(()),
        }
    }

    /// Checks whether a tool may read the file or list the directory at this real path.
    pub fn may_read(&self, real: &Path) -> Result<(), Denial> {
        if self.level == ConfinementLevel::None {
            return Ok(());
        }
        let rule = if denial::is_hidden(self, real) {
            "this path is hidden"
        } else if is_process_path(real) {
            // In particular this process, with the secrets in its environment and memory.
            "other processes and the system are not accessible"
        } else if self.is_in_root(real) {
            return Ok(());
        } else if is_below(real, "/dev", &READABLE) {
            "devices are not accessible"
        } else if self.level == ConfinementLevel::Bubblewrap
            && is_below(real, "/run", &NEEDED_IN_RUN)
        {
            // Commands have an empty `/run`.
            "services of this machine are not accessible"
        } else {
            return Ok(());
        };
        Err(denial(real, rule.to_owned()))
    }

    /// Returns the path on this machine of what commands see at `path`: they may have a private
    /// `/tmp`. A file that exists only in the machine's `/tmp` keeps its path.
    pub fn host_path(&self, path: PathBuf) -> PathBuf {
        let Some(tmp) = self.confinement.private_tmp() else { return path };
        let is_private = self.level == ConfinementLevel::Bubblewrap
            && self.is_private_tmp(&path)
            && !path.starts_with(tmp);
        let inside = match path.strip_prefix("/tmp") {
            Ok(inside) if is_private => tmp.join(inside),
            _ => return path,
        };
        if !inside.exists() && path.exists() { path } else { inside }
    }

    fn is_in_root(&self, real: &Path) -> bool {
        let confinement = &self.confinement;
        let mut roots = confinement.roots().into_iter().chain(confinement.private_tmp());
        roots.any(|root| real.starts_with(root))
    }
}

impl Confined {
    /// Returns true if commands with a private `/tmp` see that one at `path`.
    pub(super) fn is_private_tmp(&self, path: &Path) -> bool {
        let roots = self.confinement.roots();
        if !path.starts_with("/tmp") || roots.iter().any(|root| path.starts_with(root)) {
            return false;
        }
        // The helper starts inside, so its surroundings are shown, too.
        let helper = self.helper.canonicalize().unwrap_or_else(|_| self.helper.clone());
        let shown = shown_in_tmp(roots.into_iter().chain([helper.as_path()]));
        !shown.iter().any(|shown| path.starts_with(shown))
    }
}

/// Returns the files and directories directly in `/tmp` that contain one of `paths`. They stay
/// visible, read-only, beside a private `/tmp`, so that a workspace there has its surroundings as
/// it has elsewhere. As mount points they cannot be renamed, so a command cannot redirect what the
/// next one gets.
pub(super) fn shown_in_tmp<'a>(paths: impl Iterator<Item = &'a Path>) -> BTreeSet<PathBuf> {
    let first = |path: &'a Path| {
        let name = path.strip_prefix("/tmp").ok()?.components().next()?;
        Some(Path::new("/tmp").join(name))
    };
    paths.filter_map(first).collect()
}

/// Directories in `/run` that programs need and in which no service listens.
pub(super) const NEEDED_IN_RUN: [&str; 2] = ["/run/current-system", "/run/opengl-driver"];

fn denial(real: &Path, rule: String) -> Denial {
    Denial { target: DenialTarget::Path(real.to_owned()), rule }
}

/// Returns true if a path is inside `directory` and in none of the exceptions.
fn is_below(real: &Path, directory: &str, exceptions: &[&str]) -> bool {
    let inside = real.starts_with(directory) && real != Path::new(directory);
    inside && !exceptions.iter().any(|exception| real.starts_with(exception))
}

/// Returns true for a path about a process: `/proc/17/…`, or a name of this process.
fn is_process_path(real: &Path) -> bool {
    let Ok(rest) = real.strip_prefix("/proc") else { return false };
    let Some(Component::Normal(first)) = rest.components().next() else { return false };
    let first = first.to_string_lossy();
    ["self", "thread-self"].contains(&&*first) || first.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::{Machine, Mode, Network};
    use super::*;

    const GIT: &str = "git runs programs because of this file";
    const ONLY: &str = "only the workspace and the writable roots can be written";

    struct TestEnv {
        _directory: tempfile::TempDir,
        base: PathBuf,
    }

    impl TestEnv {
        fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            let base = fs::canonicalize(directory.path()).unwrap();
            for name in ["ws/.git/hooks", "ws/.pi", "ws/src", "ws/secret", "home", "tmp", "extra"] {
                fs::create_dir_all(base.join(name)).unwrap();
            }
            fs::write(base.join("ws/.git/config"), "").unwrap();
            Self { _directory: directory, base }
        }

        fn path(&self, name: &str) -> PathBuf {
            // An absolute name stays absolute.
            self.base.join(name)
        }

        fn confined(&self, mode: Mode, level: ConfinementLevel) -> Confined {
            let mut confinement = crate::confine::Confinement::new(mode, Network::Off);
            confinement.home = Some(self.path("home"));
            confinement.hidden.push(self.path("ws/secret"));
            let machine = Machine {
                landlock: if level == ConfinementLevel::None { 0 } else { 6 },
                bubblewrap: (level == ConfinementLevel::Bubblewrap)
                    .then(|| "/usr/bin/bwrap".into()),
                ..Machine::default()
            };
            let confined =
                confinement.prepare(&machine, ConfinementLevel::None, "/proc/self/exe").unwrap();
            assert_eq!(
                confined.level(),
                if confinement.mode == Mode::Off { ConfinementLevel::None } else { level }
            );
            confined
        }

        fn writing(&self) -> Mode {
            Mode::WorkspaceWrite {
                workspace: self.path("ws"),
                extra_roots: vec![self.path("extra"), self.path("home")],
                private_tmp: Some(self.path("tmp")),
            }
        }
    }

    /// Returns the rule of a denial, or an empty string.
    fn rule_of(result: Result<(), Denial>, path: &Path) -> String {
        let Err(denial) = result else { return String::new() };
        assert_eq!(denial.target, DenialTarget::Path(path.to_owned()));
        assert_eq!(denial.to_string(), format!("{} ({})", denial.rule, path.display()));
        denial.rule
    }

    #[test]
    fn tools_write_only_what_commands_may() {
        let env = TestEnv::new();
        let protected = |name: &str| format!("{} is protected", env.path(name).display());
        let cases = [
            ("ws/new", String::new()),
            ("ws/src/deep/new", String::new()),
            ("ws/.git/index", String::new()),
            ("ws/.git/commondir", GIT.to_owned()),
            ("ws/.git/worktrees/w/commondir", GIT.to_owned()),
            ("ws/.git/modules/m/config", GIT.to_owned()),
            ("ws/sub/.git", GIT.to_owned()),
            ("ws/sub/.git/config", GIT.to_owned()),
            ("ws/sub/.git/hooks/pre-commit", GIT.to_owned()),
            ("ws/sub/.git/refs/heads/x", String::new()),
            ("ws/sub/config", String::new()),
            ("ws/.github/x", String::new()),
            ("ws/.pixel", String::new()),
            ("ws/.git/config", protected("ws/.git/config")),
            ("ws/.git/hooks", protected("ws/.git/hooks")),
            ("ws/.git/hooks/pre-commit", protected("ws/.git/hooks")),
            ("ws/.pi/settings.json", protected("ws/.pi")),
            ("ws/.agents/skills/x", protected("ws/.agents")),
            ("ws/secret/key", "this path is hidden".to_owned()),
            ("extra/new", String::new()),
            ("extra/.git/config", protected("extra/.git")),
            ("home/notes", String::new()),
            ("home/.bashrc", protected("home/.bashrc")),
            ("home/.ssh/authorized_keys", protected("home/.ssh")),
            ("tmp/new", String::new()),
            ("ws2/new", ONLY.to_owned()),
            ("new", ONLY.to_owned()),
            ("/tmp/pi-does-not-exist", ONLY.to_owned()),
            ("/etc/passwd", ONLY.to_owned()),
            ("/proc/self/mem", ONLY.to_owned()),
            ("/dev/sda", ONLY.to_owned()),
            ("/dev/null", String::new()),
        ];
        for level in [ConfinementLevel::Landlock, ConfinementLevel::Bubblewrap] {
            let confined = env.confined(env.writing(), level);
            for (name, rule) in &cases {
                let path = env.path(name);
                assert_eq!(rule_of(confined.may_write(&path), &path), *rule, "{level}, {name}");
            }
            let reader = env.confined(Mode::ReadOnly, level);
            let path = env.path("ws/new");
            assert!(rule_of(reader.may_write(&path), &path).contains("read-only"), "{level}");
        }
        for unconfined in [
            env.confined(env.writing(), ConfinementLevel::None),
            env.confined(Mode::ReadOnly, ConfinementLevel::None),
            env.confined(Mode::Off, ConfinementLevel::Bubblewrap),
        ] {
            for (name, _) in &cases {
                assert_eq!(unconfined.may_write(&env.path(name)), Ok(()), "{name}");
                assert_eq!(unconfined.may_read(&env.path(name)), Ok(()), "{name}");
            }
        }
    }

    #[test]
    fn tools_read_only_what_commands_may() {
        let env = TestEnv::new();
        let (both, bubblewrap) = (Some(true), Some(false));
        let cases = [
            ("ws/src/x", None),
            ("ws/.git/config", None),
            ("ws/.pi/settings.json", None),
            ("ws/secrets", None),
            ("ws", None),
            ("ws/secret", both),
            ("ws/secret/deep/key", both),
            ("/etc/passwd", None),
            ("/tmp/other", None),
            ("/proc", None),
            ("/proc/meminfo", None),
            ("/proc/self/environ", both),
            ("/proc/1/environ", both),
            ("/proc/thread-self/mem", both),
            ("/dev", None),
            ("/dev/null", None),
            ("/dev/urandom", None),
            ("/dev/sda", both),
            ("/dev/shm/other", both),
            ("/run/secrets/key", bubblewrap),
            ("/run/current-system/sw/bin/bash", None),
        ];
        for level in [ConfinementLevel::Landlock, ConfinementLevel::Bubblewrap] {
            for mode in [env.writing(), Mode::ReadOnly] {
                let confined = env.confined(mode, level);
                for (name, denied) in cases {
                    let path = env.path(name);
                    let rule = rule_of(confined.may_read(&path), &path);
                    let expected =
                        denied.is_some_and(|both| both || level == ConfinementLevel::Bubblewrap);
                    assert_eq!(!rule.is_empty(), expected, "{level}, {name}: {rule}");
                }
            }
        }
    }

    #[cfg(unix)]
    #[test]
    fn nothing_can_be_written_if_a_root_has_become_a_link() {
        let env = TestEnv::new();
        let confined = env.confined(env.writing(), ConfinementLevel::Landlock);
        fs::rename(env.path("extra"), env.path("moved")).unwrap();
        std::os::unix::fs::symlink("moved", env.path("extra")).unwrap();
        let path = env.path("ws/new");
        assert!(rule_of(confined.may_write(&path), &path).contains("symbolic link"));
    }
}
