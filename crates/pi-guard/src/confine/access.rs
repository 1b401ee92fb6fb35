//! What tools that touch files themselves, in this process, may do: what a confined command may.
//!
//! Nothing holds this process but its own care, so whoever asks must have the real path and go
//! there without following links.
//!
//! Where commands can do less only because of how they are held, tools can do it: create something
//! beside a protected path. Where commands have a place of their own instead of the machine's
//! (`/tmp`), the machine's cannot be written; it can be read, because nothing there is secret that
//! the system does not keep secret itself.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use super::denial::{self, By};
use super::{Confined, Confinement, ConfinementLevel, Denial, DenialTarget};

/// Devices that anybody may read, and those of them that anybody may write.
const READABLE: [&str; 5] = ["/dev/full", "/dev/null", "/dev/random", "/dev/urandom", "/dev/zero"];
const WRITABLE: [&str; 3] = ["/dev/full", "/dev/null", "/dev/zero"];

impl Confined {
    /// Whether a tool may create, change or remove what is at this real path.
    pub fn may_write(&self, real: &Path) -> Result<(), Denial> {
        if self.level == ConfinementLevel::None
            || WRITABLE.iter().any(|device| real == Path::new(device))
        {
            return Ok(());
        }
        match denial::rule(self, real, By::Tool) {
            Some(rule) => Err(denial(real, rule)),
            None => Ok(()),
        }
    }

    /// Whether a tool may look at what is at this real path.
    pub fn may_read(&self, real: &Path) -> Result<(), Denial> {
        if self.level == ConfinementLevel::None {
            return Ok(());
        }
        let rule = if denial::is_hidden(self, real) {
            "this path is hidden"
        } else if is_of_a_process(real) {
            // Above all of this one, with the secrets in its environment and memory.
            "other processes and the system are out of reach"
        } else if is_below_another(real, "/dev", &READABLE) {
            "devices are out of reach"
        } else if self.level == ConfinementLevel::Bubblewrap && self.is_of_services(real) {
            "services of this machine are out of reach"
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
            && self.confinement.is_private_tmp(&path)
            && !path.starts_with(tmp);
        let inside = match path.strip_prefix("/tmp") {
            Ok(inside) if is_private => tmp.join(inside),
            _ => return path,
        };
        if !inside.exists() && path.exists() { path } else { inside }
    }

    /// `/run` of the machine, where commands have an empty one, unless a root is in there.
    fn is_of_services(&self, real: &Path) -> bool {
        let confinement = &self.confinement;
        let mut given = confinement.roots().into_iter().chain(confinement.private_tmp());
        is_below_another(real, "/run", &NEEDED_IN_RUN) && !given.any(|root| real.starts_with(root))
    }
}

impl Confinement {
    /// Returns true if commands with a private `/tmp` see that one at `path`.
    pub(super) fn is_private_tmp(&self, path: &Path) -> bool {
        let roots = self.roots();
        path.starts_with("/tmp")
            && !roots.iter().any(|root| path.starts_with(root))
            && !shown_in_tmp(roots.into_iter()).iter().any(|shown| path.starts_with(shown))
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

/// Whether a path is inside `above`, and in none of those that are excepted.
fn is_below_another(real: &Path, above: &str, excepted: &[&str]) -> bool {
    let inside = real.starts_with(above) && real != Path::new(above);
    inside && !excepted.iter().any(|excepted| real.starts_with(excepted))
}

/// Whether a path is about one process: `/proc/17/…`, or one of the names of this one.
fn is_of_a_process(real: &Path) -> bool {
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

    const ONLY: &str = "only the workspace and named roots can be written";

    struct World {
        _folder: tempfile::TempDir,
        base: PathBuf,
    }

    impl World {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let base = fs::canonicalize(folder.path()).unwrap();
            for name in ["ws/.git/hooks", "ws/.pi", "ws/src", "ws/secret", "home", "tmp", "extra"] {
                fs::create_dir_all(base.join(name)).unwrap();
            }
            fs::write(base.join("ws/.git/config"), "").unwrap();
            Self { _folder: folder, base }
        }

        fn path(&self, name: &str) -> PathBuf {
            // An absolute name stays one.
            self.base.join(name)
        }

        fn confined(&self, mode: Mode, level: ConfinementLevel) -> Confined {
            let mut confinement = Confinement::new(mode, Network::Off);
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

    fn told(answer: Result<(), Denial>, path: &Path) -> String {
        let Err(denial) = answer else { return String::new() };
        assert_eq!(denial.target, DenialTarget::Path(path.to_owned()));
        assert_eq!(denial.to_string(), format!("{} ({})", denial.rule, path.display()));
        denial.rule
    }

    #[test]
    fn tools_write_what_commands_may() {
        let world = World::new();
        let kept = |name: &str| format!("{} is protected", world.path(name).display());
        let cases = [
            ("ws/new", String::new()),
            ("ws/src/deep/new", String::new()),
            ("ws/.git/index", String::new()),
            ("ws/.github/x", String::new()),
            ("ws/.pixel", String::new()),
            ("ws/.git/config", kept("ws/.git/config")),
            ("ws/.git/hooks", kept("ws/.git/hooks")),
            ("ws/.git/hooks/pre-commit", kept("ws/.git/hooks")),
            ("ws/.pi/settings.json", kept("ws/.pi")),
            ("ws/.agents/skills/x", kept("ws/.agents")),
            ("ws/secret/key", "this path is hidden".to_owned()),
            ("extra/new", String::new()),
            ("extra/.git/config", kept("extra/.git")),
            ("home/notes", String::new()),
            ("home/.bashrc", kept("home/.bashrc")),
            ("home/.ssh/authorized_keys", kept("home/.ssh")),
            ("tmp/new", String::new()),
            ("ws2/new", ONLY.to_owned()),
            ("new", ONLY.to_owned()),
            ("/tmp/pi-nobody-made-this", ONLY.to_owned()),
            ("/etc/passwd", ONLY.to_owned()),
            ("/proc/self/mem", ONLY.to_owned()),
            ("/dev/sda", ONLY.to_owned()),
            ("/dev/null", String::new()),
        ];
        for level in [ConfinementLevel::Landlock, ConfinementLevel::Bubblewrap] {
            let confined = world.confined(world.writing(), level);
            for (name, rule) in &cases {
                let path = world.path(name);
                assert_eq!(told(confined.may_write(&path), &path), *rule, "{level}, {name}");
            }
            let reader = world.confined(Mode::ReadOnly, level);
            let path = world.path("ws/new");
            assert!(told(reader.may_write(&path), &path).contains("read-only"), "{level}");
        }
        for unheld in [
            world.confined(world.writing(), ConfinementLevel::None),
            world.confined(Mode::ReadOnly, ConfinementLevel::None),
            world.confined(Mode::Off, ConfinementLevel::Bubblewrap),
        ] {
            for (name, _) in &cases {
                assert_eq!(unheld.may_write(&world.path(name)), Ok(()), "{name}");
                assert_eq!(unheld.may_read(&world.path(name)), Ok(()), "{name}");
            }
        }
    }

    #[test]
    fn tools_read_what_commands_may() {
        let world = World::new();
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
            ("/tmp/somebody's", None),
            ("/proc", None),
            ("/proc/meminfo", None),
            ("/proc/self/environ", both),
            ("/proc/1/environ", both),
            ("/proc/thread-self/mem", both),
            ("/dev", None),
            ("/dev/null", None),
            ("/dev/urandom", None),
            ("/dev/sda", both),
            ("/dev/shm/somebody's", both),
            ("/run/secrets/key", bubblewrap),
            ("/run/current-system/sw/bin/bash", None),
        ];
        for level in [ConfinementLevel::Landlock, ConfinementLevel::Bubblewrap] {
            for mode in [world.writing(), Mode::ReadOnly] {
                let confined = world.confined(mode, level);
                for (name, denied) in cases {
                    let path = world.path(name);
                    let rule = told(confined.may_read(&path), &path);
                    let expected =
                        denied.is_some_and(|both| both || level == ConfinementLevel::Bubblewrap);
                    assert_eq!(!rule.is_empty(), expected, "{level}, {name}: {rule}");
                }
            }
        }
    }

    #[cfg(unix)]
    #[test]
    fn what_cannot_be_held_any_more_cannot_be_written() {
        let world = World::new();
        let confined = world.confined(world.writing(), ConfinementLevel::Landlock);
        fs::rename(world.path("extra"), world.path("moved")).unwrap();
        std::os::unix::fs::symlink("moved", world.path("extra")).unwrap();
        let path = world.path("ws/new");
        assert!(told(confined.may_write(&path), &path).contains("symbolic link"));
    }
}
