//! A workspace with files, services and a process around it, and sandboxed commands that run in it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, OnceLock};

use pi_guard::confine::{Confined, Confinement, ConfinementLevel, Machine, Mode, Network};
use tempfile::TempDir;

pub(crate) const TESTBED: &str = env!("CARGO_BIN_EXE_pi-guard-testbed");

/// The least level that must be tested on this machine: `landlock` or `bubblewrap`. A level that
/// is missing is otherwise reported and not tested.
const REQUIRED: &str = "PI_TEST_REQUIRE_SANDBOX";

/// Directories and a process that a sandboxed command must not change.
pub(crate) struct TestEnv {
    _directory: TempDir,
    pub(crate) base: PathBuf,
    /// A process outside of the sandbox, with its working directory and standard output outside.
    decoy: Child,
}

impl Drop for TestEnv {
    fn drop(&mut self) {
        let _ = self.decoy.kill();
        let _ = self.decoy.wait();
        let _ = fs::remove_file(self.shared_memory());
        // Commands take rights away, without which the directory cannot be removed.
        let _ = Command::new("chmod").args(["-R", "u+rwX"]).arg(&self.base).output();
    }
}

/// The compiled `attempt.c`.
fn attempt() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/attempt.c");
        let program = build_directory().join(own_name("attempt"));
        let built = Command::new("cc").args(["-O1", "-w", "-o"]).arg(&program).arg(source).status();
        assert!(built.expect("a C compiler, which Rust needs anyway").success());
        program
    })
}

/// The directory for files of the tests. A run as another user has its own.
pub(crate) fn build_directory() -> &'static Path {
    static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();
    DIRECTORY.get_or_init(|| {
        let other = std::env::var_os("PI_TEST_DIRECTORY");
        other.map_or_else(|| env!("CARGO_TARGET_TMPDIR").into(), PathBuf::from)
    })
}

/// Runs a test again as an ordinary user, if this one is root.
pub(crate) fn again_as_user(test: &str) {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let directory = tempfile::Builder::new().prefix("pi-test").tempdir_in("/var/tmp").unwrap();
    let user = rustix::process::Uid::from_raw(65534);
    rustix::fs::chown(directory.path(), Some(user), None).unwrap();
    let mut as_user = Command::new("setpriv");
    as_user.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", "--"]);
    as_user.arg(std::env::current_exe().unwrap()).args(["--exact", test, "--nocapture"]);
    as_user.env("PI_TEST_DIRECTORY", directory.path()).env("HOME", directory.path());
    match as_user.output() {
        Ok(output) if output.status.success() && text(&output).contains("1 passed") => {
            let reports = text(&output);
            for line in reports.lines().filter(|line| line.contains("NOT TESTED")) {
                not_tested(&format!("as an ordinary user: {line}"));
            }
        }
        // The files of the build may be those of root only.
        Ok(output) if matches!(output.status.code(), Some(126 | 127)) => {
            not_tested(&format!("{test} as an ordinary user: {}", text(&output)));
        }
        Ok(output) => panic!("as an ordinary user: {}", text(&output)),
        Err(error) => not_tested(&format!("{test} as an ordinary user: {error}")),
    }
}

/// Returns a file name that tests of another user do not use.
pub(crate) fn own_name(name: &str) -> String {
    format!("{name}-{}", fs::metadata("/proc/self").unwrap().uid())
}

/// The directory for test environments: that of the build, unless its name needs quotes in a
/// script, or it lies in a directory that sandboxed commands do not see.
fn directory() -> &'static Path {
    let directory = build_directory();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    let visible = !["/dev", "/run"].iter().any(|private| directory.starts_with(private));
    if visible && directory.to_string_lossy().chars().all(plain) {
        directory
    } else {
        Path::new("/var/tmp")
    }
}

impl TestEnv {
    pub(crate) fn new() -> Self {
        Self::new_in(directory())
    }

    /// An environment that does not lie below `/tmp`, for behavior that differs there.
    pub(crate) fn outside_tmp() -> Self {
        let directory = directory();
        Self::new_in(if directory.starts_with("/tmp") { Path::new("/var/tmp") } else { directory })
    }

    pub(crate) fn new_in(directory: &Path) -> Self {
        let directory = TempDir::new_in(directory).unwrap();
        let base = fs::canonicalize(directory.path()).unwrap();
        copy_program(attempt(), &base.join("attempt"));
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
        Self { _directory: directory, base, decoy }
    }

    /// The path of a file in the shared memory of the machine.
    pub(crate) fn shared_memory(&self) -> PathBuf {
        Path::new("/dev/shm").join(self.base.file_name().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.base.join(name)
    }

    /// The usual confinement: the workspace and a home are writable, the network is off.
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

    /// The environment of scripts: the paths of things, and secrets that must not arrive.
    pub(crate) fn environment(&self, more: &[(&str, String)]) -> Vec<(OsString, OsString)> {
        let mut all: Vec<(OsString, OsString)> = ["PATH", "HOME", "CARGO_HOME", "RUSTUP_HOME"]
            .iter()
            .filter_map(|name| Some(((*name).into(), std::env::var_os(name)?)))
            .collect();
        let places = [("WS", "ws"), ("OUT", "outside"), ("HOMEDIR", "home"), ("HIDDEN", "hidden")];
        all.extend(places.map(|(name, place)| (name.into(), self.path(place).into())));
        all.push(("A".into(), self.path("attempt").into()));
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

    /// Runs a script in the directory `cwd`; without `confined`, it runs without a sandbox.
    pub(crate) fn run(&self, confined: Option<&Confined>, cwd: &str, script: &str) -> Output {
        self.run_with(confined, cwd, script, &[])
    }

    /// Runs a script with more environment variables.
    pub(crate) fn run_with(
        &self,
        confined: Option<&Confined>,
        cwd: &str,
        script: &str,
        more: &[(&str, String)],
    ) -> Output {
        self.start(confined, cwd, script, more, Command::new).output().unwrap()
    }

    /// Runs a script from a shell script that ends in `exec "$@"`: a parent that leaves files open.
    pub(crate) fn run_from(
        &self,
        parent: &str,
        confined: Option<&Confined>,
        cwd: &str,
        script: &str,
    ) -> Output {
        let through_parent = |program: OsString| {
            let mut command = Command::new("bash");
            command.args(["-c", parent, "parent"]).arg(program);
            command
        };
        self.start(confined, cwd, script, &[], through_parent).output().unwrap()
    }

    /// Starts a sandboxed script with pipes for its standard streams.
    pub(crate) fn spawn(
        &self,
        confined: &Confined,
        script: &str,
        more: &[(&str, String)],
    ) -> Child {
        let mut command = self.start(Some(confined), "ws", script, more, Command::new);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    /// The command that runs a script, as `first` begins it.
    pub(crate) fn start(
        &self,
        confined: Option<&Confined>,
        cwd: &str,
        script: &str,
        more: &[(&str, String)],
        first: impl FnOnce(OsString) -> Command,
    ) -> Command {
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
        let mut command = first(program);
        command.args(arguments).env_clear().envs(environment).current_dir(cwd);
        command.stdin(Stdio::null());
        command
    }

    /// The state of everything that a command must not change: mode, links, time and content.
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
            record(&self.path(name), &mut seen);
        }
        for name in [".bashrc", ".zshenv", ".profile"] {
            record(&self.path("home").join(name), &mut seen);
        }
        // A cover leaves an empty directory.
        seen.retain(|path, text| !(path.ends_with("ws/.agents") && text.ends_with("directory")));
        seen
    }

    /// Returns true if the process outside still runs.
    pub(crate) fn decoy_lives(&mut self) -> bool {
        self.decoy.try_wait().unwrap().is_none()
    }
}

fn record(path: &Path, seen: &mut BTreeMap<PathBuf, String>) {
    let Ok(found) = fs::symlink_metadata(path) else { return };
    let mode = found.permissions().mode();
    if found.is_dir() {
        seen.insert(path.to_owned(), format!("{mode:o} directory"));
        for entry in fs::read_dir(path).into_iter().flatten() {
            record(&entry.unwrap().path(), seen);
        }
        return;
    }
    // A command may have taken the right to read away, which the mode shows.
    let content = if found.is_file() { fs::read(path).unwrap_or_default() } else { Vec::new() };
    let content = String::from_utf8_lossy(&content).into_owned();
    seen.insert(path.to_owned(), format!("{mode:o} {} {} {content}", found.nlink(), found.mtime()));
}

/// Copies a program with another process: a descriptor that this one has open for writing could be
/// inherited by a command of another test, and the program could not be started then.
fn copy_program(from: &Path, to: &Path) {
    if fs::hard_link(from, to).is_err() {
        assert!(Command::new("cp").arg(from).arg(to).status().unwrap().success());
    }
}

/// Reports a measurement, also if the test passes.
pub(crate) fn measured(message: &str) {
    let _ = writeln!(std::io::stderr(), "MEASURED: {message}");
}

/// Reports something that this machine cannot show, once, also if the test passes.
pub(crate) fn not_tested(message: &str) {
    static REPORTED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    if REPORTED.lock().unwrap().insert(message.to_owned()) {
        // Not `eprintln`, whose output the test harness keeps.
        let _ = writeln!(std::io::stderr(), "NOT TESTED: {message}");
    }
}

/// This machine with each level of confinement that it offers.
pub(crate) fn levels() -> Vec<(ConfinementLevel, Machine)> {
    static MACHINE: OnceLock<Machine> = OnceLock::new();
    let machine = MACHINE.get_or_init(Machine::detect).clone();
    let mut levels = Vec::new();
    if machine.level() == ConfinementLevel::Bubblewrap {
        levels.push((ConfinementLevel::Bubblewrap, machine.clone()));
    } else {
        missing("bubblewrap", &machine.missing());
    }
    let without = machine.without_bubblewrap();
    if without.level() == ConfinementLevel::Landlock {
        levels.push((ConfinementLevel::Landlock, without));
    } else {
        missing("landlock", &without.missing());
    }
    levels
}

/// This machine if it offers bubblewrap.
pub(crate) fn with_bubblewrap() -> Option<Machine> {
    let (level, machine) = levels().into_iter().next()?;
    (level == ConfinementLevel::Bubblewrap).then_some(machine)
}

fn missing(level: &str, reason: &str) {
    let required = std::env::var_os(REQUIRED).unwrap_or_default();
    let required = required.to_string_lossy();
    // Bubblewrap needs Landlock.
    let fails = required == level || (required == "bubblewrap" && level == "landlock");
    assert!(!fails, "{REQUIRED}={required}, but {level} cannot be tested: {reason}");
    not_tested(&format!("everything with {level}: {reason}"));
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
