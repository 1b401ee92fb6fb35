//! Connecting to the executor that a specification names.
//!
//! A remote executor is checked before it is returned: one command finds out the home directory
//! and the working directory there. So a wrong host, a stopped container or a missing directory is
//! an error at the start of a session, not of the first tool call.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::spec::RemoteTarget;
use super::{BaseEnvironment, Executor, ExecutorSpec, Host};

/// Parameters of [`connect`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ConnectOptions {
    /// The executor of [`ExecutorSpec::Local`]. Its supervisor also owns the processes of `ssh`,
    /// `docker` and `podman`, which run outside of its sandbox.
    pub host: Host,
    /// Working directory for [`ExecutorSpec::Local`].
    pub cwd: PathBuf,
    /// Home directory for [`ExecutorSpec::Local`].
    pub home: Option<PathBuf>,
    /// Environment of `ssh`, `docker` and `podman` on this machine, usually that of the user. Needs
    /// `PATH`, in which they are searched, and `HOME`.
    pub environment: BTreeMap<OsString, OsString>,
}

impl ConnectOptions {
    /// Options with an empty environment and without a home directory.
    pub fn new(host: Host, cwd: impl Into<PathBuf>) -> Self {
        Self { host, cwd: cwd.into(), home: None, environment: BTreeMap::new() }
    }
}

/// An executor that answered.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ConnectedExecutor {
    /// The executor. Dropping the last reference closes the connection.
    pub executor: Arc<dyn Executor>,
    /// Working directory, as a path of the executor.
    pub cwd: PathBuf,
    /// Home directory, as a path of the executor.
    pub home: Option<PathBuf>,
    /// Environment that commands should start from; see
    /// [`BashSettings::base_environment`](crate::BashSettings::base_environment).
    pub base_environment: BaseEnvironment,
}

/// Reasons why an executor cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The program that connects is not installed.
    #[error(
        "cannot connect to {spec}: {program} was not found. Install {program}, or add its directory to PATH."
    )]
    ProgramNotFound {
        /// The executor.
        spec: ExecutorSpec,
        /// Name of the program.
        program: &'static str,
    },
    /// The machine or container does not answer.
    #[error("cannot connect to {spec}: {}. {}", reason(source), check(spec))]
    Unreachable {
        /// The executor.
        spec: ExecutorSpec,
        /// Error of the connection.
        source: io::Error,
    },
    /// The directory does not exist there or cannot be entered.
    #[error("cannot use the directory of {spec}: {source}. Create it there, or name another one.")]
    Directory {
        /// The executor.
        spec: ExecutorSpec,
        /// Error of the directory.
        source: io::Error,
    },
}

/// Describes the error of a connection: the message of the program that connects, if it has one.
fn reason(source: &io::Error) -> String {
    #[cfg(unix)]
    if let Some(message) = super::remote::connection_message(source) {
        return message.to_owned();
    }
    source.to_string()
}

/// Names the command with which a user finds out why an executor does not answer.
fn check(spec: &ExecutorSpec) -> String {
    let Some(RemoteTarget { program, name, .. }) = spec.remote() else { return String::new() };
    let options = if program == "ssh" { "-o BatchMode=yes" } else { "exec" };
    format!("Check that `{program} {options} {name} true` succeeds.")
}

/// Connects to an executor and finds its working directory and home directory.
pub async fn connect(
    spec: &ExecutorSpec,
    options: ConnectOptions,
) -> Result<ConnectedExecutor, ConnectError> {
    let ConnectOptions { host, cwd, home, environment } = options;
    let Some(target) = spec.remote() else {
        let base_environment = BaseEnvironment::Empty;
        return Ok(ConnectedExecutor { executor: Arc::new(host), cwd, home, base_environment });
    };
    connect_remote(spec, target, host, environment).await
}

#[cfg(not(unix))]
async fn connect_remote(
    spec: &ExecutorSpec,
    _: RemoteTarget<'_>,
    _: Host,
    _: BTreeMap<OsString, OsString>,
) -> Result<ConnectedExecutor, ConnectError> {
    Err(ConnectError::Unreachable { spec: spec.clone(), source: io::ErrorKind::Unsupported.into() })
}

#[cfg(unix)]
async fn connect_remote(
    spec: &ExecutorSpec,
    target: RemoteTarget<'_>,
    host: Host,
    environment: BTreeMap<OsString, OsString>,
) -> Result<ConnectedExecutor, ConnectError> {
    use super::remote::{Container, Remote, Ssh};

    /// The longest wait for an answer.
    const PATIENCE: std::time::Duration = std::time::Duration::from_secs(30);

    let RemoteTarget { program, name, directory } = target;
    let search = environment.get(OsStr::new("PATH")).map(OsString::as_os_str);
    let Some(path) = pi_fs::find_program(program, None, search) else {
        return Err(ConnectError::ProgramNotFound { spec: spec.clone(), program });
    };
    let connected = async {
        let name = name.to_owned();
        let remote = if program == "ssh" {
            Remote::ssh(host, Ssh { program: path, destination: name, environment }).await?
        } else {
            Remote::container(host, Container { program: path, name, environment })
        };
        let login = remote.login(directory.unwrap_or_default()).await?;
        Ok((remote, login))
    };
    let no_answer = |_| {
        let text = format!("no answer within {} seconds", PATIENCE.as_secs());
        Err(io::Error::new(io::ErrorKind::TimedOut, text))
    };
    let connected = tokio::time::timeout(PATIENCE, connected).await.unwrap_or_else(no_answer);
    let (remote, login) = connected.map_err(|source| {
        let spec = spec.clone();
        match source.kind() {
            io::ErrorKind::ConnectionAborted | io::ErrorKind::TimedOut => {
                ConnectError::Unreachable { spec, source }
            }
            _ if directory.is_some() => ConnectError::Directory { spec, source },
            _ => ConnectError::Unreachable { spec, source },
        }
    })?;
    Ok(ConnectedExecutor {
        executor: Arc::new(remote),
        cwd: login.cwd,
        home: login.home,
        base_environment: BaseEnvironment::Executor,
    })
}
