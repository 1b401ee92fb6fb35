//! Another machine or a container: anything where a shell script can be run.
//!
//! There are two transports, [`Ssh`] and [`Container`]. Both only run `sh` with a script, bytes for
//! its input, and bytes back. All operations are such scripts, which need nothing but a POSIX shell
//! and coreutils or busybox. Nothing is installed there and nothing is left behind.

mod container;
mod fetch;
mod marked;
mod piped;
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

use super::host::piped as host_piped;
use super::{
    BaseEnvironment, BoxFuture, Command, DirectoryEntry, Executor, FileKind, Host, PipedProcess,
    Process, Stat, TreeEntry,
};

pub(super) use container::Container;
pub(super) use ssh::Ssh;

/// The longest path that fits into the address of a socket, with the suffix that `ssh` adds.
const LONGEST_SOCKET: usize = 80;
/// More than the length of most paths.
const LONG_PATH: u64 = 512;
/// Reports that it runs, and stays until its input ends.
const STAY: &str = "echo up; cat >/dev/null; :";

/// An executor whose files and processes are reached through a program of this machine.
///
/// No path of it is a path of this machine. If the connection to a process is lost, its exit code
/// is an error. When a command ends, processes are killed that are in its process group or have
/// its environment; others (`env -i setsid …`), and those of other users, are not found.
#[derive(Debug)]
pub(super) struct Remote {
    host: Host,
    transport: Transport,
    _shared: Option<SharedConnection>,
}

#[derive(Debug)]
enum Transport {
    Ssh { ssh: Ssh, socket: Option<PathBuf> },
    Container(Container),
}

/// A connection of `ssh` that all commands of the executor use, and the directory of its socket.
#[derive(Debug)]
struct SharedConnection {
    // Never locked: an executor is shared between threads, and the streams of a process are not.
    _process: Mutex<PipedProcess>,
    _directory: TempDir,
}

/// The directories of a user on the executor.
#[derive(Debug)]
pub(super) struct Login {
    pub(super) home: Option<PathBuf>,
    pub(super) cwd: PathBuf,
}

impl Remote {
    /// Connects to another machine. `ssh` runs on `host`; the error has the message of `ssh`.
    pub(super) async fn ssh(host: Host, ssh: Ssh) -> io::Result<Self> {
        let directory = tempfile::Builder::new().prefix("pi-ssh-").tempdir()?;
        let socket = directory.path().join("s");
        if socket.as_os_str().len() > LONGEST_SOCKET {
            // Each command opens a connection of its own.
            return Ok(Self {
                host,
                transport: Transport::Ssh { ssh, socket: None },
                _shared: None,
            });
        }
        let process = start_staying(&host, &ssh.shared_connection(&socket, STAY)).await?;
        let shared = SharedConnection { _process: Mutex::new(process), _directory: directory };
        let transport = Transport::Ssh { ssh, socket: Some(socket) };
        Ok(Self { host, transport, _shared: Some(shared) })
    }

    /// An executor in a running container. The program of the engine runs on `host`.
    pub(super) fn container(host: Host, container: Container) -> Self {
        Self { host, transport: Transport::Container(container), _shared: None }
    }

    /// Returns the home directory, and the directory that `directory` names there.
    pub(super) async fn login(&self, directory: &str) -> io::Result<Login> {
        let script = include_str!("remote/scripts/login.sh");
        let answer = self.run(script, &[OsStr::new(directory)], b"").await?;
        let mut paths = answer.splitn(2, |byte| *byte == 0);
        let mut path = || PathBuf::from(OsStr::from_bytes(paths.next().unwrap_or_default()));
        let (home, cwd) = (path(), path());
        let home = if home.is_absolute() { Some(home) } else { None };
        Ok(Login { home, cwd })
    }

    fn command(&self, script: &str, arguments: &[OsString]) -> Command {
        match &self.transport {
            Transport::Ssh { ssh, socket } => ssh.command(script, arguments, socket.as_deref()),
            Transport::Container(container) => container.command(script, arguments),
        }
    }

    /// Starts the local program that runs a script there.
    async fn start(&self, script: &str, arguments: &[OsString]) -> io::Result<PipedProcess> {
        host_piped::spawn(&self.host, &self.command(script, arguments)).await
    }

    /// Runs a script with these arguments and this input.
    async fn run(&self, script: &str, arguments: &[&OsStr], input: &[u8]) -> io::Result<Vec<u8>> {
        self.run_within(script, arguments, input, u64::MAX).await
    }

    /// Runs a script. More than `limit` bytes of answer are an error.
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
        let process = self.start(&script, &words).await?;
        let PipedProcess { mut stdin, stdout, mut stderr, tree, .. } = process;
        let (mut answer, mut messages) = (Vec::new(), Vec::new());
        let send = async {
            // A script that needs less input ends early; its answer says what happened.
            let _ = stdin.write_all(input).await;
            drop(stdin);
            Ok(())
        };
        let mut stdout = stdout.take(limit);
        let receive = async {
            stdout.read_to_end(&mut answer).await?;
            if stdout.limit() == 0 {
                // A script whose output is not read does not end, so nothing else is awaited.
                return Err(io::Error::from(io::ErrorKind::FileTooLarge));
            }
            Ok(())
        };
        tokio::try_join!(send, receive, stderr.read_to_end(&mut messages))?;
        tree.kill().await;
        script::answer(answer, &mark).unwrap_or_else(|| Err(lost(&messages)))
    }
}

/// Starts a program that runs [`STAY`], and waits until the other side answers.
async fn start_staying(host: &Host, command: &Command) -> io::Result<PipedProcess> {
    let mut process = host_piped::spawn(host, command).await?;
    // Shells may print greetings first.
    if !has_line(&mut process, "up").await? {
        let mut messages = Vec::new();
        let _ = process.stderr.read_to_end(&mut messages).await;
        return Err(lost(&messages));
    }
    Ok(process)
}

/// Reads lines until one is `expected`; false if the output ends before.
async fn has_line(process: &mut PipedProcess, expected: &str) -> io::Result<bool> {
    // Not `lines`: greetings may not be valid UTF-8.
    let mut lines = BufReader::new(&mut process.stdout).split(b'\n');
    while let Some(line) = lines.next_segment().await? {
        if line == expected.as_bytes() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A connection that failed or was lost, with the message of the local program.
#[derive(Debug, thiserror::Error)]
#[error("the connection was lost{}{message}", if message.is_empty() { "" } else { ": " })]
struct ConnectionLost {
    message: String,
}

fn lost(messages: &[u8]) -> io::Error {
    let message = String::from_utf8_lossy(messages).trim().trim_end_matches('.').to_owned();
    io::Error::new(io::ErrorKind::ConnectionAborted, ConnectionLost { message })
}

/// Returns the message of the local program in the error of a connection.
pub(super) fn connection_message(error: &io::Error) -> Option<&str> {
    let lost: &ConnectionLost = error.get_ref()?.downcast_ref()?;
    if lost.message.is_empty() { None } else { Some(&lost.message) }
}

/// Decodes the letter of a file kind.
fn kind(letter: u8) -> FileKind {
    match letter {
        b'f' => FileKind::File,
        b'd' | b'u' => FileKind::Directory,
        b'l' => FileKind::Link,
        _ => FileKind::Other,
    }
}

/// Splits a list of entries: a letter for the kind, a name, a zero byte.
fn entries(bytes: &[u8]) -> impl Iterator<Item = (u8, &OsStr)> {
    let entries = bytes.split(|byte| *byte == 0).filter_map(|entry| entry.split_first());
    entries.map(|(letter, name)| (*letter, OsStr::from_bytes(name)))
}

/// Returns the arguments of the scripts that start a command.
fn start_arguments(mark: &str, command: &Command) -> io::Result<Vec<OsString>> {
    let program = command.program.as_os_str();
    if program.as_bytes().contains(&b'=') {
        // env(1) would take it for a variable.
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let clean = if command.base_environment == BaseEnvironment::Empty { "-i" } else { "" };
    let mut words = vec![mark.into(), command.cwd.clone().into(), program.into(), clean.into()];
    for (name, value) in &command.environment {
        words.push([name.as_os_str(), "=".as_ref(), value].into_iter().collect());
    }
    words.push(program.to_owned());
    words.extend(command.arguments.iter().cloned());
    Ok(words)
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
            // Only the last line break is not part of the path.
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
        Box::pin(process::spawn(self, command))
    }

    fn spawn_piped<'a>(&'a self, command: &'a Command) -> BoxFuture<'a, io::Result<PipedProcess>> {
        Box::pin(piped::spawn(self, command))
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
            let entry = |(letter, path): (u8, &OsStr)| TreeEntry {
                path: PathBuf::from(path),
                kind: kind(letter),
                readable: letter != b'u',
            };
            Ok(entries(&answer).map(entry).collect())
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
