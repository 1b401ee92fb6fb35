//! Broken files, missing directories, closed streams, full disks, and servers and clients that send
//! garbage. Each must end in a clear message and a documented exit code, and no data of the user may
//! be lost.

mod directories;
mod files;
mod rpc;
mod servers;
mod sessions;
mod streams;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::json;

use crate::scenarios::format::Reply;
use crate::scenarios::server::Server;
use crate::test_env::TestEnv;

/// Time after which a program counts as hanging.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A test environment with a scripted model server.
pub(crate) struct ServerEnv {
    pub(crate) env: TestEnv,
    pub(crate) server: Server,
}

/// The result of a program.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl ServerEnv {
    /// Creates an environment whose model gives these replies, in order.
    pub(crate) fn new(replies: Vec<Reply>) -> Self {
        let env = Self { env: TestEnv::new(), server: Server::start(replies).unwrap() };
        let settings =
            json!({"defaultProvider": "mock", "defaultModel": "m1", "retry": {"baseDelayMs": 1}});
        env.write("settings.json", settings.to_string());
        let model = json!({"id": "m1", "contextWindow": 100_000, "maxTokens": 1000});
        let provider = json!({
            "baseUrl": format!("{}/v1", env.server.url()), "apiKey": "key",
            "api": "openai-completions", "models": [model],
        });
        env.write("models.json", json!({"providers": {"mock": provider}}).to_string());
        env
    }

    /// Creates an environment whose model gives one answer.
    pub(crate) fn with_answer() -> Self {
        Self::new(vec![Reply::Text("An answer.".to_owned())])
    }

    /// Returns the path of a file in the agent directory.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.agent().join(name)
    }

    /// Writes a file in the agent directory.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.file(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Finished {
        finish(self.command(arguments), &[])
    }

    /// Returns all session files.
    pub(crate) fn sessions(&self) -> Vec<PathBuf> {
        let directories = fs::read_dir(self.file("sessions")).into_iter().flatten();
        let files =
            directories.flat_map(|directory| fs::read_dir(directory.unwrap().path()).unwrap());
        files.map(|file| file.unwrap().path()).collect()
    }
}

impl std::ops::Deref for ServerEnv {
    type Target = TestEnv;

    fn deref(&self) -> &TestEnv {
        &self.env
    }
}

/// Runs a command with this input to its end. Kills it and panics if it hangs.
pub(crate) fn finish(mut command: Command, input: &[u8]) -> Finished {
    if !input.is_empty() {
        command.stdin(Stdio::piped());
    }
    let shown = format!("{command:?}");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = child.id().to_string();
    let stdin = child.stdin.take();
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(move || sender.send(child.wait_with_output()));
        scope.spawn(move || {
            // Some programs end without reading all of it.
            let _ = stdin.map(|mut stdin| stdin.write_all(input));
        });
        let Ok(output) = receiver.recv_timeout(TIMEOUT) else {
            let _ = Command::new("kill").args(["-9", &pid]).status();
            panic!("{shown} does not end");
        };
        let output = output.unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Finished {
            code: output.status.code(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    })
}

impl Finished {
    /// Asserts that it printed the answer, and these words on stderr; if there are none, nothing.
    #[track_caller]
    pub(crate) fn assert_answered(&self, words: &[&str]) {
        assert_eq!((self.code, self.stdout.as_str()), (Some(0), "An answer.\n"), "{self:?}");
        self.assert_stderr(words);
    }

    /// Asserts that it failed with this code, and these words on stderr.
    #[track_caller]
    pub(crate) fn assert_failed(&self, code: i32, words: &[&str]) {
        assert_eq!((self.code, self.stdout.as_str()), (Some(code), ""), "{self:?}");
        assert!(!words.is_empty());
        self.assert_stderr(words);
    }

    /// Asserts that stderr contains these words; if there are none, that it is empty.
    #[track_caller]
    pub(crate) fn assert_stderr(&self, words: &[&str]) {
        for word in words {
            assert!(self.stderr.contains(word), "{word:?} is missing: {self:?}");
        }
        assert_eq!(self.stderr.is_empty(), words.is_empty(), "{self:?}");
        assert!(!self.stderr.contains("panicked"), "{self:?}");
    }
}

/// Returns the command without the privileges of root, so that permissions are enforced. Returns
/// `None`, and prints a notice, if the machine does not support that.
fn unprivileged(command: &Command, about: &str) -> Option<Command> {
    let probe = tempfile::NamedTempFile::new().unwrap();
    let closed = std::os::unix::fs::PermissionsExt::from_mode(0o000);
    fs::set_permissions(probe.path(), closed).unwrap();
    if fs::read(probe.path()).is_err() {
        return Some(rebased(command, Command::new(command.get_program())));
    }
    let mut unshare = Command::new("unshare");
    unshare.args(["--user", "--map-user=4242", "--map-group=4242"]);
    in_namespace(command, unshare, about)
}

/// Returns the command with `directory` as a separate file system, mounted with these options.
fn on_disk(command: &Command, directory: &Path, options: &str, about: &str) -> Option<Command> {
    let script = "mount -t tmpfs -o \"$1\" tmpfs \"$0\" && shift && exec \"$@\"";
    let mut unshare = Command::new("unshare");
    unshare.args(["--user", "--map-root-user", "--mount", "sh", "-c", script]);
    unshare.arg(directory).arg(options);
    in_namespace(command, unshare, about)
}

fn in_namespace(command: &Command, mut unshare: Command, about: &str) -> Option<Command> {
    let allowed = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "true"])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !allowed {
        // Written directly, since the test harness hides the output of macros in passing tests.
        let mut stderr = std::io::stderr();
        let _ = writeln!(stderr, "NOT TESTED: {about}: user namespaces are not allowed here");
        return None;
    }
    unshare.arg(command.get_program());
    Some(rebased(command, unshare))
}

/// Copies the arguments, the environment and the directory of a command to another program.
fn rebased(command: &Command, mut other: Command) -> Command {
    other.args(command.get_args()).env_clear().stdin(Stdio::null());
    other.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    other.current_dir(command.get_current_dir().unwrap());
    other
}
