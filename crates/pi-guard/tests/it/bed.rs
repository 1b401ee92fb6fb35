//! A workspace with a world around it, and commands that run confined in it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;

use pi_guard::confine::{Confined, Confinement, ConfinementLevel, Machine, Mode, Network};
use tempfile::TempDir;

pub(crate) const TESTBED: &str = env!("CARGO_BIN_EXE_pi-guard-testbed");

/// What a command finds and must not change.
pub(crate) struct Bed {
    _folder: TempDir,
    pub(crate) base: PathBuf,
    /// A process outside, whose working directory and standard output are outside too.
    decoy: Child,
}

impl Drop for Bed {
    fn drop(&mut self) {
        let _ = self.decoy.kill();
        let _ = self.decoy.wait();
        let _ = fs::remove_file(self.shared_memory());
    }
}

/// The attempts in C, compiled once.
fn attempt() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/attempt.c");
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("attempt");
        let built = Command::new("cc").args(["-O1", "-w", "-o"]).arg(&program).arg(source).status();
        assert!(built.expect("a C compiler, which Rust needs anyway").success());
        program
    })
}

impl Bed {
    pub(crate) fn new() -> Self {
        // Not the system's temporary directory, which a confined command does not see.
        let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let base = fs::canonicalize(folder.path()).unwrap();
        for directory in [
            "ws/.git/hooks",
            "ws/.git/objects/info",
            "ws/.git/refs/heads",
            "ws/.git/modules/sub/hooks",
            "ws/.git/worktrees/tree",
            "ws/lead/hooks",
            "ws/.pi",
            "ws/src",
            "ws/project",
            "outside/empty",
            "home/project",
            "hidden",
            "tmp",
        ] {
            fs::create_dir_all(base.join(directory)).unwrap();
        }
        let files = [
            ("ws/.git/HEAD", "ref: refs/heads/main\n"),
            (
                "ws/.git/config",
                "[core]\n\trepositoryformatversion = 0\n[include]\n\tpath = ../lead/included\n",
            ),
            ("ws/.git/modules/sub/HEAD", "ref: refs/heads/main\n"),
            ("ws/.git/modules/sub/config", "[core]\n"),
            ("ws/.git/worktrees/tree/commondir", "../..\n"),
            ("ws/lead/included", "[core]\n\thooksPath = lead/hooks\n"),
            ("ws/lead/hooks/pre-push", "#!/bin/sh\n"),
            ("ws/.git/hooks/old", "#!/bin/sh\n"),
            ("ws/.pi/settings.json", "{}\n"),
            ("ws/src/mine", "mine\n"),
            ("outside/file", "untouched\n"),
            ("home/.bashrc", "# mine\n"),
            ("hidden/key", "planted\n"),
        ];
        for (name, text) in files {
            fs::write(base.join(name), text).unwrap();
        }
        let log = fs::File::create(base.join("outside/log")).unwrap();
        let decoy = Command::new("sleep")
            .arg("600")
            .current_dir(base.join("outside"))
            .env("DECOY_SECRET", "planted")
            .stdin(Stdio::null())
            .stdout(log)
            .spawn()
            .unwrap();
        Self { _folder: folder, base, decoy }
    }

    /// A place in the shared memory of the machine.
    pub(crate) fn shared_memory(&self) -> PathBuf {
        Path::new("/dev/shm").join(self.base.file_name().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.base.join(name)
    }

    /// The usual: the workspace and a home are writable, the network is off.
    pub(crate) fn confinement(&self) -> Confinement {
        let mode = Mode::WorkspaceWrite {
            workspace: self.path("ws"),
            extra_roots: vec![self.path("home")],
            private_tmp: Some(self.path("tmp")),
        };
        let mut confinement = Confinement::new(mode, Network::Off);
        confinement.home = Some(self.path("home"));
        confinement.hidden.push(self.path("hidden"));
        confinement.secret_variables.push("OURS".to_owned());
        confinement
    }

    /// The environment of scripts: where things are, and secrets that must not arrive.
    pub(crate) fn environment(&self, more: &[(&str, String)]) -> Vec<(OsString, OsString)> {
        let mut all: Vec<(OsString, OsString)> = ["PATH", "HOME", "CARGO_HOME", "RUSTUP_HOME"]
            .iter()
            .filter_map(|name| Some(((*name).into(), std::env::var_os(name)?)))
            .collect();
        let places = [("WS", "ws"), ("OUT", "outside"), ("HOMEDIR", "home"), ("HIDDEN", "hidden")];
        all.extend(places.map(|(name, place)| (name.into(), self.path(place).into())));
        all.push(("A".into(), attempt().into()));
        all.push(("DECOY".into(), self.decoy.id().to_string().into()));
        let secrets = [
            ("OURS", "planted"),
            ("SOME_API_KEY", "planted"),
            ("SSH_AUTH_SOCK", "/tmp/agent"),
            ("DOCKER_HOST", "unix:///var/run/docker.sock"),
        ];
        all.extend(secrets.map(|(name, value)| (name.into(), value.into())));
        all.extend(more.iter().map(|(name, value)| ((*name).into(), value.into())));
        all
    }

    /// Runs a script in `cwd` of the bed; `None` runs it without confinement. `before` is a shell
    /// script that ends in `exec "$@"` and stands for whoever starts us carelessly.
    pub(crate) fn run(
        &self,
        confined: Option<&Confined>,
        cwd: &str,
        script: &str,
        before: Option<&str>,
        more: &[(&str, String)],
    ) -> Output {
        let cwd = self.path(cwd);
        let shell = OsString::from("bash");
        let arguments = ["-c".into(), script.into()];
        let environment = self.environment(more);
        let (program, arguments, environment) = match confined {
            Some(confined) => {
                let command = confined.command(&shell, &arguments, &cwd, &environment);
                (command.program, command.arguments, command.environment)
            }
            None => (shell, arguments.to_vec(), environment),
        };
        let mut command = match before {
            Some(before) => {
                let mut command = Command::new("bash");
                command.args(["-c", before, "before"]).arg(program);
                command.env("OUT", self.path("outside"));
                command
            }
            None => Command::new(program),
        };
        command.args(arguments).env_clear().envs(environment).current_dir(cwd);
        command.env_remove("BASH_ENV").stdin(Stdio::null()).output().unwrap()
    }

    /// Everything a command must leave alone: mode, length and content of every file.
    pub(crate) fn evidence(&self) -> BTreeMap<PathBuf, String> {
        let mut seen = BTreeMap::new();
        let kept = [
            "outside",
            "hidden",
            "ws/.git/hooks",
            "ws/.git/config",
            "ws/.git/modules",
            "ws/.git/worktrees/tree/commondir",
            "ws/.pi",
            "ws/.agents",
            "ws/lead/included",
            "ws/lead/hooks",
        ];
        for name in kept {
            look(&self.path(name), &mut seen);
        }
        for name in [".bashrc", ".zshenv", ".profile"] {
            look(&self.path("home").join(name), &mut seen);
        }
        // What is left of a cover: an empty directory.
        seen.retain(|path, text| !(path.ends_with("ws/.agents") && text.ends_with("directory")));
        seen
    }

    /// Whether the process outside still runs, untouched.
    pub(crate) fn decoy_lives(&mut self) -> bool {
        self.decoy.try_wait().unwrap().is_none()
    }
}

fn look(path: &Path, seen: &mut BTreeMap<PathBuf, String>) {
    let Ok(found) = fs::symlink_metadata(path) else { return };
    let mode = found.permissions().mode();
    if found.is_dir() {
        seen.insert(path.to_owned(), format!("{mode:o} directory"));
        for entry in fs::read_dir(path).unwrap() {
            look(&entry.unwrap().path(), seen);
        }
        return;
    }
    let content = if found.is_file() { fs::read(path).unwrap() } else { Vec::new() };
    let content = String::from_utf8_lossy(&content).into_owned();
    seen.insert(path.to_owned(), format!("{mode:o} {} {} {content}", found.nlink(), found.mtime()));
}

/// This machine with each level it offers; says what it does not.
pub(crate) fn levels() -> Vec<(ConfinementLevel, Machine)> {
    let machine = Machine::detect();
    let mut levels = Vec::new();
    if machine.level() == ConfinementLevel::Bubblewrap {
        levels.push((ConfinementLevel::Bubblewrap, machine.clone()));
    } else {
        eprintln!("NOT TESTED with bubblewrap: {:?}", machine.bubblewrap_problem);
    }
    let without = machine.without_bubblewrap();
    if without.level() == ConfinementLevel::Landlock {
        levels.push((ConfinementLevel::Landlock, without));
    } else {
        eprintln!("NOT TESTED with Landlock: the kernel offers version {}", without.landlock);
    }
    levels
}

pub(crate) fn confined(confinement: &Confinement, machine: &Machine) -> Confined {
    confinement.prepare(machine, machine.level(), TESTBED).unwrap()
}

pub(crate) fn text(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}
