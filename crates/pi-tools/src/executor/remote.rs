//! Another machine or a container: anything where a shell script can be run.
//!
//! There are two ways to get there, [`Ssh`] and [`Container`], and both do no more than run `sh`
//! with a script, bytes for it, and bytes back. All operations are such scripts, which need nothing
//! but a POSIX shell and coreutils or busybox. Nothing is installed there and nothing is left.

mod container;
mod fetch;
mod process;
mod script;
mod ssh;

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::OwnedWriteHalf;

use super::host::{Connection, connect};
use super::{
    BaseEnvironment, BoxFuture, Command, DirectoryEntry, Executor, FileKind, Host, Process,
    ProcessTree, Stat, TreeEntry,
};

pub use container::{Container, Network, Which};
pub use ssh::Ssh;

/// The longest path that fits into the address of a socket, with what `ssh` adds to it.
const LONGEST_SOCKET: usize = 80;
/// More than most paths are long.
const LONG_PATH: u64 = 512;
/// Says that it is there, and stays as long as its input does.
const STAY: &str = "echo up; cat >/dev/null; :";

/// Files and processes that are reached through a program of this machine.
///
/// No path of it is a path of this machine. A process there starts with what the environment is
/// there if its [`Command`] says so. One whose connection is lost has an error for an exit code.
/// What neither is in the process group of its command nor has its environment is not found when
/// the command ends (`env -i setsid …`), nor is anything of another user.
#[derive(Debug)]
pub struct Remote {
    host: Host,
    way: Way,
    /// What ends with the executor: a connection or a container.
    _kept: Option<Kept>,
}

/// How to get there.
#[derive(Debug)]
enum Way {
    Ssh { ssh: Ssh, socket: Option<PathBuf> },
    Container { container: Container, name: String },
}

/// A program that runs as long as the executor is there, and the directory of its socket.
#[derive(Debug)]
struct Kept {
    _input: OwnedWriteHalf,
    /// Never asked for; a tree by itself is for one thread.
    _tree: Mutex<ProcessTree>,
    _directory: Option<TempDir>,
}

impl Remote {
    /// Another machine. The programs that lead there run on `host`.
    ///
    /// An error says why it cannot be reached, in the words of `ssh`.
    pub async fn ssh(host: Host, ssh: Ssh) -> io::Result<Self> {
        let directory = tempfile::Builder::new().prefix("pi-ssh-").tempdir()?;
        let socket = directory.path().join("s");
        if !ssh.shared || socket.as_os_str().len() > LONGEST_SOCKET {
            return Ok(Self { host, way: Way::Ssh { ssh, socket: None }, _kept: None });
        }
        let command = ssh.shared_connection(&socket, STAY);
        let kept = keep(&host, &command, Some(directory)).await?;
        let way = Way::Ssh { ssh, socket: Some(socket) };
        Ok(Self { host, way, _kept: Some(kept) })
    }

    /// A container; a new one is started. The programs that lead there run on `host`.
    pub async fn container(host: Host, container: Container) -> io::Result<Self> {
        if let Which::Running(name) = &container.which {
            let name = name.clone();
            return Ok(Self { host, way: Way::Container { container, name }, _kept: None });
        }
        let name = script::mark();
        let kept = match container.start(&name, STAY) {
            Some(command) => Some(keep(&host, &command, None).await?),
            None => None,
        };
        Ok(Self { host, way: Way::Container { container, name }, _kept: kept })
    }

    /// The home directory of the user there: what `~` stands for in its paths.
    pub async fn home(&self) -> io::Result<PathBuf> {
        let home = self.run("printf %s \"$HOME\"\nanswer ok", &[], b"").await?;
        Ok(PathBuf::from(OsString::from_vec(home)))
    }

    fn command(&self, script: &str, arguments: &[OsString]) -> Command {
        match &self.way {
            Way::Ssh { ssh, socket } => ssh.command(script, arguments, socket.as_deref()),
            Way::Container { container, name } => container.command(name, script, arguments),
        }
    }

    /// Runs a script with these arguments and this input.
    async fn run(&self, script: &str, arguments: &[&OsStr], input: &[u8]) -> io::Result<Vec<u8>> {
        self.run_within(script, arguments, input, u64::MAX).await
    }

    /// The same, with an error if there are more bytes in the answer than `limit`.
    async fn run_within(
        &self,
        script: &str,
        arguments: &[&OsStr],
        input: &[u8],
        limit: u64,
    ) -> io::Result<Vec<u8>> {
        let mark = script::mark();
        let mut words = vec![OsString::from(&mark)];
        words.extend(arguments.iter().map(|word| (*word).to_owned()));
        let script = [include_str!("remote/scripts/prelude.sh"), script].concat();
        let connection = connect(&self.host, &self.command(&script, &words)).await?;
        let Connection { input: mut to, output, mut messages, tree } = connection;
        let (mut answer, mut said) = (Vec::new(), Vec::new());
        let send = async {
            // A script that needs no more of it ends before; its answer says what happened.
            let _ = to.write_all(input).await;
            drop(to);
            Ok(())
        };
        let mut output = output.take(limit);
        let receive = async {
            let read = output.read_to_end(&mut answer).await;
            // So ends a script that did not read all of its input; what it said comes after.
            if read.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::ConnectionReset) {
                output.read_to_end(&mut answer).await?;
            } else {
                read?;
            }
            if output.limit() == 0 {
                // Who is not read any more does not end, so nothing else is waited for.
                return Err(io::Error::from(io::ErrorKind::FileTooLarge));
            }
            Ok(())
        };
        tokio::try_join!(send, receive, messages.read_to_end(&mut said))?;
        tree.kill().await;
        script::answer(answer, &mark).unwrap_or_else(|| Err(lost(&said)))
    }
}

/// Starts a program that stays, and waits until it says that it is up.
async fn keep(host: &Host, command: &Command, directory: Option<TempDir>) -> io::Result<Kept> {
    let Connection { input, output, mut messages, tree } = connect(host, command).await?;
    let mut lines = BufReader::new(output).lines();
    loop {
        match lines.next_line().await? {
            Some(line) if line == "up" => break,
            // Shells greet.
            Some(_) => {}
            None => {
                let mut said = Vec::new();
                let _ = messages.read_to_end(&mut said).await;
                return Err(lost(&said));
            }
        }
    }
    Ok(Kept { _input: input, _tree: Mutex::new(tree), _directory: directory })
}

/// The error for a connection that is not there, or no longer.
fn lost(said: &[u8]) -> io::Error {
    let said = script::shown(said);
    let why = if said.is_empty() { String::new() } else { format!(": {said}") };
    io::Error::new(io::ErrorKind::ConnectionAborted, format!("the connection was lost{why}"))
}

/// A kind by its letter.
fn kind(letter: u8) -> FileKind {
    match letter {
        b'f' => FileKind::File,
        b'd' | b'u' => FileKind::Directory,
        b'l' => FileKind::Link,
        _ => FileKind::Other,
    }
}

/// Kinds and names, each before a zero byte.
fn entries(bytes: &[u8]) -> impl Iterator<Item = (u8, &OsStr)> {
    let entries = bytes.split(|byte| *byte == 0).filter_map(|entry| entry.split_first());
    entries.map(|(letter, name)| (*letter, OsStr::from_bytes(name)))
}

impl Executor for Remote {
    fn stat<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<Stat>> {
        Box::pin(async move {
            let script = include_str!("remote/scripts/stat.sh");
            let answer = self.run(script, &[path.as_os_str()], b"").await?;
            let answer = String::from_utf8_lossy(&answer).into_owned();
            let mut fields = answer.split_ascii_whitespace();
            let letter = fields.next().and_then(|field| field.bytes().next());
            let size = fields.next().and_then(|field| field.parse().ok()).unwrap_or(0);
            let seconds = fields.next().and_then(|field| field.parse().ok());
            let modified = seconds.map(|at| SystemTime::UNIX_EPOCH + Duration::from_secs(at));
            Ok(Stat { kind: kind(letter.unwrap_or_default()), size, modified })
        })
    }

    fn read<'a>(&'a self, path: &'a Path, limit: u64) -> BoxFuture<'a, io::Result<Vec<u8>>> {
        Box::pin(async move {
            // Shells count no further than this.
            let limit = i64::try_from(limit).map_or("all".to_owned(), |limit| limit.to_string());
            let script = include_str!("remote/scripts/read.sh");
            self.run(script, &[path.as_os_str(), limit.as_ref()], b"").await
        })
    }

    fn replace<'a>(&'a self, path: &'a Path, content: &'a [u8]) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(async move {
            let (length, word) = (content.len().to_string(), script::mark());
            let arguments = [path.as_os_str(), length.as_ref(), word.as_ref()];
            let script = include_str!("remote/scripts/replace.sh");
            self.run(script, &arguments, content).await.map(drop)
        })
    }

    fn create_directory<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(async move {
            let script = include_str!("remote/scripts/create_directory.sh");
            self.run(script, &[path.as_os_str()], b"").await.map(drop)
        })
    }

    fn list<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<Vec<DirectoryEntry>>> {
        Box::pin(async move {
            let script = include_str!("remote/scripts/list.sh");
            let answer = self.run(script, &[path.as_os_str()], b"").await?;
            let entry = |(letter, name): (u8, &OsStr)| DirectoryEntry {
                name: name.to_string_lossy().into_owned(),
                kind: kind(letter),
            };
            Ok(entries(&answer).map(entry).collect())
        })
    }

    fn canonical<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<PathBuf>> {
        Box::pin(async move {
            let script = include_str!("remote/scripts/canonical.sh");
            let mut answer = self.run(script, &[path.as_os_str()], b"").await?;
            // The line break after it; there may be others in it.
            answer.pop();
            Ok(PathBuf::from(OsString::from_vec(answer)))
        })
    }

    fn check_writable<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(async move {
            let script = include_str!("remote/scripts/check_writable.sh");
            self.run(script, &[path.as_os_str()], b"").await.map(drop)
        })
    }

    fn spawn<'a>(&'a self, command: &'a Command) -> BoxFuture<'a, io::Result<Process>> {
        Box::pin(async move {
            let program = command.program.as_os_str();
            if program.as_bytes().contains(&b'=') {
                // env(1) would take it for a variable.
                return Err(io::ErrorKind::InvalidInput.into());
            }
            let mark = script::mark();
            let clean = if command.base_environment == BaseEnvironment::Empty { "-i" } else { "" };
            let mut words =
                script::words([mark.as_ref(), command.cwd.as_os_str(), program, clean.as_ref()]);
            for (name, value) in &command.environment {
                words.push([name.as_os_str(), "=".as_ref(), value].into_iter().collect());
            }
            words.push(program.to_owned());
            words.extend(command.arguments.iter().cloned());
            let script = include_str!("remote/scripts/spawn.sh");
            let connection = connect(&self.host, &self.command(script, &words)).await?;
            process::started(connection, &mark).await
        })
    }

    fn host_path(&self, _: &Path) -> Option<PathBuf> {
        // Not even through a mount: a link in it may lead to something else here than there.
        None
    }

    fn tree<'a>(
        &'a self,
        path: &'a Path,
        limit: usize,
    ) -> BoxFuture<'a, io::Result<Vec<TreeEntry>>> {
        Box::pin(async move {
            let script = include_str!("remote/scripts/tree.sh");
            let bytes = (limit as u64).saturating_mul(LONG_PATH);
            let answer = self.run_within(script, &[path.as_os_str()], b"", bytes).await?;
            if entries(&answer).nth(limit).is_some() {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            let found = |(letter, path): (u8, &OsStr)| TreeEntry {
                path: PathBuf::from(path),
                kind: kind(letter),
                readable: letter != b'u',
            };
            Ok(entries(&answer).map(found).collect())
        })
    }

    fn read_many<'a>(
        &'a self,
        paths: &'a [PathBuf],
        limit: u64,
    ) -> BoxFuture<'a, io::Result<Vec<io::Result<Vec<u8>>>>> {
        Box::pin(fetch::read_many(self, paths, limit))
    }
}
