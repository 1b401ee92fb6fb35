//! Where tools work: on this machine, on another one, in a container. Tests that say the same of
//! all of them take a place.
//!
//! The other machine is this one, through a real `sshd` with keys and configuration of its own. The
//! container is a stand-in for an engine (`programs/engine.sh`), which makes real namespaces if it
//! may and has the directory somewhere else then.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use pi_guard::confine::{self, Confinement, ConfinementLevel, Machine, Mode};
use pi_tools::supervisor::Supervisor;
use pi_tools::{
    BashSettings, Container, Executor, Host, Network, Process, Remote, Ssh, Which, Workspace,
};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};

const SSHD: &str = "/usr/sbin/sshd";

/// An executor and a directory of it.
pub(crate) struct Place {
    pub(crate) executor: Arc<dyn Executor>,
    /// The directory as this process names it, and as the executor does.
    here: PathBuf,
    there: PathBuf,
    /// Whether a file that is replaced is so under all its names.
    pub(crate) keeps_names: bool,
    /// Recorded commands that do something else there.
    pub(crate) except: &'static [&'static str],
    // In the order in which they end.
    _sshd: Option<Sshd>,
    _directory: TempDir,
}

impl Place {
    pub(crate) fn host() -> Self {
        let directory = TempDir::new().unwrap();
        let here = directory.path().canonicalize().unwrap();
        let there = here.clone();
        let executor = Arc::new(supervised());
        Self {
            executor,
            here,
            there,
            keeps_names: true,
            except: &[],
            _sshd: None,
            _directory: directory,
        }
    }

    /// This machine, where a machine like this one confines to the directory.
    pub(crate) fn confined(machine: &Machine) -> Self {
        let place = Self::host();
        let executor = Arc::new(confined(&place.here, machine, |_| {}));
        // With processes of its own, whatever a command leaves running ends with it, without a last
        // word; and the first of them leads them all.
        let except: &[&str] = match machine.level() {
            ConfinementLevel::Bubblewrap => &["background writes soon after", "process group"],
            _ => &[],
        };
        Self { executor, keeps_names: false, except, ..place }
    }

    pub(crate) async fn ssh() -> Self {
        let sshd = Sshd::start().await;
        let executor = Arc::new(Remote::ssh(supervised(), sshd.client()).await.unwrap());
        Self { executor, _sshd: Some(sshd), ..Self::host() }
    }

    pub(crate) async fn container() -> Self {
        let place = Self::host();
        let container = container(&place.here);
        let there = container.path_of(&place.here).unwrap();
        let executor = Arc::new(Remote::container(supervised(), container).await.unwrap());
        Self { executor, there, ..place }
    }

    /// A workspace in a directory of the executor.
    pub(crate) fn workspace(&self, cwd: &Path, bash: BashSettings) -> Arc<Workspace> {
        let executor = Arc::clone(&self.executor);
        Arc::new(Workspace::new(executor, cwd.to_owned(), None).with_bash(bash))
    }

    /// A new directory.
    pub(crate) fn directory(&self) -> TempDir {
        TempDir::new_in(&self.here).unwrap()
    }

    /// How the executor names a path of this process.
    pub(crate) fn there(&self, here: &Path) -> PathBuf {
        self.there.join(here.strip_prefix(&self.here).unwrap())
    }
}

pub(crate) fn supervised() -> Host {
    Host::default().with_supervisor(Supervisor::new(TESTBED))
}

/// The program that can be supervisor, helper and much else.
pub(crate) const TESTBED: &str = env!("CARGO_BIN_EXE_pi-tools-testbed");

/// A supervised host that is confined to a directory.
pub(crate) fn confined(
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
    supervised().with_sandbox(Arc::new(confined))
}

/// This machine with each rung it offers, the highest first; says what it does not.
pub(crate) fn rungs() -> Vec<Machine> {
    let machine = Machine::detect();
    let without = machine.clone().without_bubblewrap();
    let mut rungs = vec![machine, without];
    if rungs[0].level() != ConfinementLevel::Bubblewrap {
        eprintln!("NOT TESTED with bubblewrap: {:?}", rungs[0].bubblewrap_problem);
    }
    rungs.dedup_by_key(|machine| machine.level());
    if rungs[0].level() == ConfinementLevel::None {
        eprintln!("NOT TESTED confined: the kernel offers version {}", rungs[0].landlock);
        rungs.clear();
    }
    rungs
}

fn environment() -> BTreeMap<OsString, OsString> {
    let path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    BTreeMap::from([("PATH".into(), path.into())])
}

/// A new container with a directory of this machine in it.
pub(crate) fn container(directory: &Path) -> Container {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/engine.sh");
    let there = match rustix::process::geteuid().is_root() {
        true => PathBuf::from("/mnt/work"),
        // Without the right to mount anything, it is where it was.
        false => directory.to_owned(),
    };
    let mut environment = environment();
    environment.insert("ENGINE_STATE".into(), directory.into());
    Container {
        program,
        environment,
        which: Which::New {
            image: "image".to_owned(),
            network: Network::None,
            options: Vec::new(),
        },
        mounts: vec![(directory.to_owned(), there)],
        user: None,
    }
}

/// A server of its own, with its own keys, on a port of its own. It ends with this.
pub(crate) struct Sshd {
    directory: TempDir,
    _process: Process,
}

impl Sshd {
    pub(crate) async fn start() -> Self {
        assert!(
            Path::new(SSHD).exists(),
            "no {SSHD}: these tests need it (on Debian: apt-get install openssh-server)"
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
            // Where it puts away its privileges; the package makes it when the service starts.
            fs::create_dir_all("/run/sshd").unwrap();
        }
        loop {
            let port = free_port();
            let show = |name: &str| file(name).display().to_string();
            let config = format!(
                "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\n\
                 PidFile none\nUsePAM no\nStrictModes no\nPasswordAuthentication no\n\
                 PermitRootLogin yes\nMaxSessions 100\nMaxStartups 100\n\
                 SetEnv HOME={}\n",
                show("host_key"),
                show("user_key.pub"),
                // What is in the start-up files of whoever runs the tests is not to be run.
                directory.path().display(),
            );
            fs::write(file("sshd_config"), config).unwrap();
            let host_key = fs::read_to_string(file("host_key.pub")).unwrap();
            fs::write(file("known_hosts"), format!("[127.0.0.1]:{port} {host_key}")).unwrap();
            let user = Command::new("id").arg("-un").output().unwrap().stdout;
            let config = format!(
                "Host box\nHostName 127.0.0.1\nPort {port}\nUser {}\nIdentityFile {}\n\
                 IdentitiesOnly yes\nUserKnownHostsFile {}\nGlobalKnownHostsFile /dev/null\n",
                String::from_utf8(user).unwrap().trim(),
                show("user_key"),
                show("known_hosts"),
            );
            fs::write(file("ssh_config"), config).unwrap();
            if let Some(process) = listening(&file("sshd_config")).await {
                return Self { directory, _process: process };
            }
        }
    }

    /// What `ssh` needs to get there.
    pub(crate) fn client(&self) -> Ssh {
        let config = self.config().into();
        Ssh { options: vec!["-F".into(), config], environment: environment(), ..Ssh::new("box") }
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.directory.path().join("ssh_config")
    }
}

/// Starts the server and waits until it listens; nothing if somebody else was faster.
async fn listening(config: &Path) -> Option<Process> {
    let arguments: [&OsStr; 4] = ["-D".as_ref(), "-e".as_ref(), "-f".as_ref(), config.as_ref()];
    let command = pi_tools::Command::new(SSHD, "/").arguments(arguments).environment(environment());
    let mut process = supervised().spawn(&command).await.unwrap();
    let mut said = String::new();
    let mut lines = BufReader::new(&mut process.output).lines();
    while let Some(line) = lines.next_line().await.unwrap() {
        if line.starts_with("Server listening") {
            drop(lines);
            // It must never wait for somebody to read what it says.
            let mut output = std::mem::replace(&mut process.output, Box::pin(tokio::io::empty()));
            tokio::spawn(async move { tokio::io::copy(&mut output, &mut tokio::io::sink()).await });
            return Some(process);
        }
        said.push_str(&line);
    }
    assert!(said.contains("Address already in use"), "sshd does not start: {said}");
    None
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}
