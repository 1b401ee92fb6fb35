//! The executors that tests run on: this machine, sandboxed or not, another machine, a container.
//! A test of a promise that all of them make takes a [`TestEnv`].
//!
//! The other machine is this one, through a real `sshd` with its own keys and configuration. The
//! container engine is `programs/engine.sh`, a stand-in for `docker` that makes real namespaces if
//! it is permitted to; the directory has another path in the container then.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use pi_guard::confine::{self, Confinement, ConfinementLevel, Machine, Mode};
use pi_tools::supervisor::Supervisor;
use pi_tools::{
    BashSettings, ConnectError, ConnectOptions, ConnectedExecutor, Executor, ExecutorSpec, Host,
    PipedProcess, Process, Workspace, connect,
};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};

/// A program that can be a supervisor, a sandbox helper and much else.
pub(crate) const TESTBED: &str = env!("CARGO_BIN_EXE_pi-tools-testbed");

const SSHD: &str = "/usr/sbin/sshd";
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// An executor and a directory on it.
pub(crate) struct TestEnv {
    pub(crate) executor: Arc<dyn Executor>,
    /// Path of the directory for this process, and for the executor.
    local: PathBuf,
    remote: PathBuf,
    /// A replaced file has the new content under all its names.
    pub(crate) keeps_names: bool,
    /// Recorded commands that behave differently here.
    pub(crate) except: &'static [&'static str],
    // In the order in which they end.
    _server: Option<Server>,
    _directory: TempDir,
}

impl TestEnv {
    pub(crate) fn host() -> Self {
        let directory = TempDir::new().unwrap();
        let local = directory.path().canonicalize().unwrap();
        Self {
            executor: Arc::new(supervised_host()),
            remote: local.clone(),
            local,
            keeps_names: true,
            except: &[],
            _server: None,
            _directory: directory,
        }
    }

    /// This machine with a sandbox that can write to the directory.
    pub(crate) fn sandboxed(machine: &Machine) -> Self {
        let env = Self::host();
        let executor = Arc::new(sandboxed_host(&env.local, machine, |_| {}));
        // In a process namespace, processes that a command leaves behind end with it, without
        // further output, and the first process leads the only group.
        let except: &[&str] = match machine.level() {
            ConfinementLevel::Bubblewrap => &["background writes soon after", "process group"],
            _ => &[],
        };
        Self { executor, keeps_names: false, except, ..env }
    }

    pub(crate) async fn ssh() -> Self {
        let (env, sshd) = (Self::host(), Sshd::start().await);
        let executor = sshd.remote().connect().await.unwrap().executor;
        Self { executor, _server: Some(Server::Sshd(sshd)), ..env }
    }

    pub(crate) async fn container() -> Self {
        let env = Self::host();
        let container = Container::start(&env.local).await;
        let connected = container.remote().connect().await.unwrap();
        let remote = container.directory.clone();
        let server = Some(Server::Container(container));
        Self { executor: connected.executor, remote, _server: server, ..env }
    }

    /// A workspace in a directory of the executor.
    pub(crate) fn workspace(&self, cwd: &Path, bash: BashSettings) -> Arc<Workspace> {
        let executor = Arc::clone(&self.executor);
        Arc::new(Workspace::new(executor, cwd.to_owned(), None).with_bash(bash))
    }

    /// A new directory, as a path of this process.
    pub(crate) fn directory(&self) -> TempDir {
        TempDir::new_in(&self.local).unwrap()
    }

    /// The path of the executor for a path of this process.
    pub(crate) fn remote_path(&self, local: &Path) -> PathBuf {
        self.remote.join(local.strip_prefix(&self.local).unwrap())
    }
}

#[allow(dead_code)] // Each ends when it is dropped.
enum Server {
    Sshd(Sshd),
    Container(Container),
}

/// A specification, and the environment of the program that connects.
pub(crate) struct RemoteSpec {
    pub(crate) spec: String,
    pub(crate) environment: BTreeMap<OsString, OsString>,
}

impl RemoteSpec {
    pub(crate) async fn connect(&self) -> Result<ConnectedExecutor, ConnectError> {
        let spec: ExecutorSpec = self.spec.parse().unwrap();
        let mut options = ConnectOptions::new(supervised_host(), "/");
        options.environment = self.environment.clone();
        connect(&spec, options).await
    }
}

pub(crate) fn supervised_host() -> Host {
    Host::default().with_supervisor(Supervisor::new(TESTBED))
}

/// A supervised host with a sandbox that can write to a directory.
pub(crate) fn sandboxed_host(
    directory: &Path,
    machine: &Machine,
    change: impl FnOnce(&mut Confinement),
) -> Host {
    let mode = Mode::WorkspaceWrite {
        workspace: directory.to_owned(),
        extra_roots: Vec::new(),
        private_tmp: None,
    };
    let mut confinement = Confinement::new(mode, confine::Network::Off);
    change(&mut confinement);
    let confined = confinement.prepare(machine, ConfinementLevel::Landlock, TESTBED).unwrap();
    supervised_host().with_sandbox(Arc::new(confined))
}

/// Returns this machine with each kind of sandbox that it offers, the strongest first.
pub(crate) fn sandboxes() -> Vec<Machine> {
    let machine = Machine::detect();
    let without = machine.clone().without_bubblewrap();
    let mut machines = vec![machine, without];
    if machines[0].level() != ConfinementLevel::Bubblewrap {
        not_tested(&format!("bubblewrap: {:?}", machines[0].bubblewrap_problem));
    }
    machines.dedup_by_key(|machine| machine.level());
    if machines[0].level() == ConfinementLevel::None {
        not_tested(&format!("sandbox: the kernel has Landlock {}", machines[0].landlock));
        machines.clear();
    }
    machines
}

/// Reports something that this machine cannot test, once, also if the test passes. With
/// `PI_TEST_REQUIRE_SANDBOX` it is a failure.
pub(crate) fn not_tested(message: &str) {
    static REPORTED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    assert!(std::env::var_os("PI_TEST_REQUIRE_SANDBOX").is_none(), "NOT TESTED: {message}");
    if REPORTED.lock().unwrap().insert(message.to_owned()) {
        // Not `eprintln`, whose output the test harness keeps.
        let _ = writeln!(std::io::stderr(), "NOT TESTED: {message}");
    }
}

/// A directory of programs, which comes first in `PATH`.
fn programs() -> (TempDir, BTreeMap<OsString, OsString>) {
    let directory = TempDir::new().unwrap();
    let path = format!("{}:{PATH}", directory.path().display());
    (directory, BTreeMap::from([("PATH".into(), path.into())]))
}

/// A running container of the stand-in engine, with a directory of this machine in it.
pub(crate) struct Container {
    name: String,
    /// Path of the directory in the container.
    pub(crate) directory: PathBuf,
    environment: BTreeMap<OsString, OsString>,
    _process: PipedProcess,
    _programs: TempDir,
}

impl Container {
    pub(crate) async fn start(directory: &Path) -> Self {
        let engine = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/engine.sh");
        let (programs, mut environment) = programs();
        environment.insert("ENGINE_STATE".into(), directory.into());
        for program in ["docker", "podman"] {
            symlink(&engine, programs.path().join(program)).unwrap();
        }
        let inside = match rustix::process::geteuid().is_root() {
            true => PathBuf::from("/mnt/work"),
            // Without the permission to mount anything, the directory keeps its path.
            false => directory.to_owned(),
        };
        let name = "box".to_owned();
        let mount = [directory.as_os_str(), OsStr::new(":"), inside.as_os_str()];
        let mount: OsString = mount.into_iter().collect();
        let command = pi_tools::Command::new(engine, "/")
            .arguments(["run", "-i", "--rm", "--name", &name, "-v"])
            .arguments([mount])
            .arguments(["--entrypoint", "sh", "image", "-c", "echo up; cat >/dev/null"])
            .environment(environment.clone());
        let mut process = supervised_host().spawn_piped(&command).await.unwrap();
        let mut lines = BufReader::new(&mut process.stdout).lines();
        assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("up"));
        Self { name, directory: inside, environment, _process: process, _programs: programs }
    }

    pub(crate) fn remote(&self) -> RemoteSpec {
        let spec = format!("docker:{}:{}", self.name, self.directory.display());
        RemoteSpec { spec, environment: self.environment.clone() }
    }
}

/// An SSH server with its own keys on its own port.
pub(crate) struct Sshd {
    directory: TempDir,
    environment: BTreeMap<OsString, OsString>,
    programs: TempDir,
    _process: Process,
}

impl Sshd {
    pub(crate) async fn start() -> Self {
        assert!(
            Path::new(SSHD).exists(),
            "{SSHD} is missing. Install an SSH server (on Debian: apt-get install openssh-server)."
        );
        let directory = TempDir::new().unwrap();
        let file = |name: &str| directory.path().join(name);
        for key in ["host_key", "user_key"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(file(key))
                .status();
            assert!(made.unwrap().success());
        }
        if rustix::process::geteuid().is_root() {
            // For the separation of privileges; the package creates it when the service starts.
            fs::create_dir_all("/run/sshd").unwrap();
        }
        let process = loop {
            write_configuration(directory.path(), free_port());
            if let Some(process) = listening(&file("sshd_config")).await {
                break process;
            }
        };
        let (programs, environment) = programs();
        let sshd = Self { directory, environment, programs, _process: process };
        sshd.use_options("");
        sshd
    }

    /// Makes `ssh` use the configuration of this server and these options.
    pub(crate) fn use_options(&self, options: &str) {
        let config = self.directory.path().join("ssh_config");
        let script =
            format!("#!/bin/sh\nexec /usr/bin/ssh -F {} {options} \"$@\"\n", config.display());
        let program = self.programs.path().join("ssh");
        fs::write(&program, script).unwrap();
        fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub(crate) fn remote(&self) -> RemoteSpec {
        RemoteSpec { spec: "ssh:box".to_owned(), environment: self.environment.clone() }
    }
}

/// Writes the configurations of server and client.
fn write_configuration(directory: &Path, port: u16) {
    let show = |name: &str| directory.join(name).display().to_string();
    let server = format!(
        "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\n\
         PidFile none\nUsePAM no\nStrictModes no\nPasswordAuthentication no\n\
         PermitRootLogin yes\nMaxSessions 100\nMaxStartups 100\n\
         SetEnv HOME={}\n",
        show("host_key"),
        show("user_key.pub"),
        // The start-up files of the user who runs the tests must not run.
        directory.display(),
    );
    fs::write(directory.join("sshd_config"), server).unwrap();
    let host_key = fs::read_to_string(directory.join("host_key.pub")).unwrap();
    fs::write(directory.join("known_hosts"), format!("[127.0.0.1]:{port} {host_key}")).unwrap();
    let user = Command::new("id").arg("-un").output().unwrap().stdout;
    let client = format!(
        "Host box\nHostName 127.0.0.1\nPort {port}\nUser {}\nIdentityFile {}\n\
         IdentitiesOnly yes\nUserKnownHostsFile {}\nGlobalKnownHostsFile /dev/null\n",
        String::from_utf8(user).unwrap().trim(),
        show("user_key"),
        show("known_hosts"),
    );
    fs::write(directory.join("ssh_config"), client).unwrap();
}

/// Starts the server and waits until it listens; `None` if another process took the port.
async fn listening(config: &Path) -> Option<Process> {
    let arguments: [&OsStr; 4] = ["-D".as_ref(), "-e".as_ref(), "-f".as_ref(), config.as_ref()];
    let command =
        pi_tools::Command::new(SSHD, "/").arguments(arguments).environment([("PATH", PATH)]);
    let mut process = supervised_host().spawn(&command).await.unwrap();
    let mut messages = String::new();
    let mut lines = BufReader::new(&mut process.output).lines();
    while let Some(line) = lines.next_line().await.unwrap() {
        if line.starts_with("Server listening") {
            drop(lines);
            // The server must not block because its messages are not read.
            let mut output = std::mem::replace(&mut process.output, Box::pin(tokio::io::empty()));
            tokio::spawn(async move { tokio::io::copy(&mut output, &mut tokio::io::sink()).await });
            return Some(process);
        }
        messages.push_str(&line);
    }
    assert!(messages.contains("Address already in use"), "sshd does not start: {messages}");
    None
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}
