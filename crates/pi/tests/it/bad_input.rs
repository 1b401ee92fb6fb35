//! What goes wrong in practice: broken files, missing places, closed streams, full disks, and other
//! sides that speak nonsense. Each has to end in a clear message and an honest code, and nothing of
//! the user's may be lost.

mod files;
mod places;
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
use crate::world::World;

/// After this long a program will not end.
const PATIENCE: Duration = Duration::from_secs(120);

/// A machine with a model that is asked at a server of ours.
struct Place {
    world: World,
    server: Server,
}

/// How a program ended.
#[derive(Debug)]
struct Ended {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Place {
    /// The model answers with these, one after the other.
    fn new(replies: Vec<Reply>) -> Self {
        let place = Self { world: World::new(), server: Server::start(replies).unwrap() };
        let settings =
            json!({"defaultProvider": "mock", "defaultModel": "m1", "retry": {"baseDelayMs": 1}});
        place.write("settings.json", settings.to_string());
        let model = json!({"id": "m1", "contextWindow": 100_000, "maxTokens": 1000});
        let provider = json!({
            "baseUrl": format!("{}/v1", place.server.url()), "apiKey": "key",
            "api": "openai-completions", "models": [model],
        });
        place.write("models.json", json!({"providers": {"mock": provider}}).to_string());
        place
    }

    /// The model says one thing.
    fn with_answer() -> Self {
        Self::new(vec![Reply::Text("An answer.".to_owned())])
    }

    /// A file of the user.
    fn file(&self, name: &str) -> PathBuf {
        self.world.agent().join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.file(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    fn run(&self, arguments: &[&str]) -> Ended {
        finish(self.world.command(arguments), &[])
    }

    /// Every session file there is.
    fn sessions(&self) -> Vec<PathBuf> {
        let folders = fs::read_dir(self.file("sessions")).into_iter().flatten();
        let files = folders.flat_map(|folder| fs::read_dir(folder.unwrap().path()).unwrap());
        files.map(|file| file.unwrap().path()).collect()
    }
}

/// Runs a command with this input until it ends. One that does not is ended.
fn finish(mut command: Command, input: &[u8]) -> Ended {
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
            // Programs that do not want all of it are part of this.
            let _ = stdin.map(|mut stdin| stdin.write_all(input));
        });
        let Ok(output) = receiver.recv_timeout(PATIENCE) else {
            let _ = Command::new("kill").args(["-9", &pid]).status();
            panic!("{shown} does not end");
        };
        let output = output.unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ended {
            code: output.status.code(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    })
}

impl Ended {
    /// It did its work: the answer, and these words beside it; nothing if there are none.
    #[track_caller]
    fn answered(&self, words: &[&str]) {
        assert_eq!((self.code, self.stdout.as_str()), (Some(0), "An answer.\n"), "{self:?}");
        self.said(words);
    }

    /// It did not, and said why.
    #[track_caller]
    fn failed(&self, code: i32, words: &[&str]) {
        assert_eq!((self.code, self.stdout.as_str()), (Some(code), ""), "{self:?}");
        assert!(!words.is_empty());
        self.said(words);
    }

    #[track_caller]
    fn said(&self, words: &[&str]) {
        for word in words {
            assert!(self.stderr.contains(word), "{word:?} is missing: {self:?}");
        }
        assert_eq!(self.stderr.is_empty(), words.is_empty(), "{self:?}");
        assert!(!self.stderr.contains("panicked"), "{self:?}");
    }
}

/// A program with fewer rights than root has, so that permissions count. `None`, and said, where
/// that cannot be had.
fn as_nobody(command: &Command, about: &str) -> Option<Command> {
    let probe = tempfile::NamedTempFile::new().unwrap();
    let closed = std::os::unix::fs::PermissionsExt::from_mode(0o000);
    fs::set_permissions(probe.path(), closed).unwrap();
    if fs::read(probe.path()).is_err() {
        return Some(again(command, Command::new(command.get_program())));
    }
    let mut unshare = Command::new("unshare");
    unshare.args(["--user", "--map-user=4242", "--map-group=4242"]);
    in_namespace(command, unshare, about)
}

/// A program that sees `directory` as a disk of its own, mounted with these options.
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
        // Not by way of a macro, whose output a test that passes keeps to itself.
        let mut stderr = std::io::stderr();
        let _ = writeln!(stderr, "NOT TESTED: {about}: user namespaces are not allowed here");
        return None;
    }
    unshare.arg(command.get_program());
    Some(again(command, unshare))
}

/// The arguments and the place of a command, for another program.
fn again(command: &Command, mut other: Command) -> Command {
    other.args(command.get_args()).env_clear().stdin(Stdio::null());
    other.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    other.current_dir(command.get_current_dir().unwrap());
    other
}
