//! The client of a row: starts the program, takes the steps, and collects what the program writes.
//!
//! No step waits for time: each waits for a text or a request.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use serde_json::Value;

use crate::bad_input::ServerEnv;

/// The time after which an expected text counts as missing.
const TIMEOUT: Duration = Duration::from_secs(120);

/// An action of the client, in order. Afterwards, standard input is closed.
#[derive(Clone)]
pub(super) enum Step {
    /// Writes a line. `$PROJECT` is replaced by the working directory, and `$SESSION` by the first
    /// session id that the program has written.
    Send(String),
    /// Waits for a text on standard output, behind the texts that earlier steps have found.
    Seen(&'static str),
    /// Waits for the response to a JSON-RPC request, anywhere on standard output.
    Response(u64),
    /// Waits until the model has received this many requests.
    Requests(usize),
    /// Sends a signal to the program.
    Signal(Signal),
    /// Waits until the program ends by itself, with its input still open.
    Ended,
}

/// The standard streams of the program.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Streams {
    Pipes,
    /// Standard input and output are a terminal without echo and without line editing.
    Terminal,
}

/// What the program has read and written.
pub(super) struct Observed {
    pub(super) stdin: Vec<String>,
    pub(super) stdout: String,
    pub(super) stderr: String,
    pub(super) exit: Option<i32>,
    /// The end of the last text on standard output that a step has found.
    pub(super) found: usize,
}

/// Runs the program to its end.
pub(super) fn run(
    env: &ServerEnv,
    arguments: &[&str],
    steps: &[Step],
    streams: Streams,
) -> Observed {
    // An empty input would be waited for by modes that read it to its end.
    let has_input = steps.iter().any(|step| matches!(step, Step::Send(_)));
    let mut running = Running::start(env.command(arguments), streams, has_input);
    let mut stdin = Vec::new();
    for step in steps {
        match step {
            Step::Send(line) => {
                let line = line.replace("$PROJECT", &env.project().to_string_lossy());
                stdin.push(running.send(line));
            }
            Step::Seen(text) => running.stdout.wait_for(text),
            Step::Response(id) => running.stdout.wait_for_response(*id),
            Step::Requests(count) => {
                assert!(env.server.wait_for_requests(*count, TIMEOUT), "{count} requests");
            }
            Step::Signal(signal) => {
                let id = i32::try_from(running.child.id()).ok().and_then(Pid::from_raw);
                kill_process(id.unwrap(), *signal).unwrap();
            }
            Step::Ended => running.stdout.wait_for_end(),
        }
    }
    running.finish(stdin)
}

/// A running program; killed on drop.
struct Running {
    child: Child,
    stdin: Option<Box<dyn Write>>,
    stdout: Arc<Output>,
    stderr: Arc<Output>,
    readers: Vec<JoinHandle<()>>,
}

impl Running {
    fn start(mut command: Command, streams: Streams, has_input: bool) -> Self {
        command.stderr(Stdio::piped());
        let (mut child, stdin, from): (Child, Option<Box<dyn Write>>, Box<dyn Read + Send>);
        if streams == Streams::Terminal {
            let (controller, name) = terminal();
            let open = || OpenOptions::new().read(true).write(true).open(&name).unwrap();
            child = command.env("TERM", "dumb").stdin(open()).stdout(open()).spawn().unwrap();
            stdin = Some(Box::new(controller.try_clone().unwrap()));
            from = Box::new(controller);
        } else {
            command.stdin(if has_input { Stdio::piped() } else { Stdio::null() });
            child = command.stdout(Stdio::piped()).spawn().unwrap();
            stdin = child.stdin.take().map(|stdin| Box::new(stdin) as Box<_>);
            from = Box::new(child.stdout.take().unwrap());
        }
        // The command keeps the terminal open.
        drop(command);
        let (stdout, stderr) = (Arc::new(Output::default()), Arc::new(Output::default()));
        let readers = vec![
            Output::read(&stdout, from),
            Output::read(&stderr, Box::new(child.stderr.take().unwrap())),
        ];
        Self { child, stdin, stdout, stderr, readers }
    }

    /// Writes a line and returns it.
    fn send(&mut self, mut line: String) -> String {
        if line.contains("$SESSION") {
            let written = self.stdout.text();
            let (_, rest) = written.split_once("\"sessionId\":\"").expect("a session id");
            line = line.replace("$SESSION", rest.split('"').next().unwrap_or_default());
        }
        let stdin = self.stdin.as_mut().expect("an open input");
        stdin.write_all(format!("{line}\n").as_bytes()).unwrap();
        stdin.flush().unwrap();
        line
    }

    fn finish(mut self, stdin: Vec<String>) -> Observed {
        self.stdin = None;
        self.stdout.wait_for_end();
        let exit = self.child.wait().unwrap().code();
        for reader in self.readers.drain(..) {
            reader.join().unwrap();
        }
        let (stdout, stderr) = (self.stdout.text(), self.stderr.text());
        let found = self.stdout.state.lock().unwrap().found;
        Observed { stdin, stdout, stderr, exit, found }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Usually, the program has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the controlling side of a new terminal, and the name of the other side.
fn terminal() -> (File, String) {
    let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&controller).unwrap();
    unlockpt(&controller).unwrap();
    let name = ptsname(&controller, Vec::new()).unwrap().into_string().unwrap();
    let mut modes = tcgetattr(&controller).unwrap();
    modes.make_raw();
    tcsetattr(&controller, OptionalActions::Now, &modes).unwrap();
    (File::from(controller), name)
}

/// What a program has written to a stream so far.
#[derive(Default)]
struct Output {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    bytes: Vec<u8>,
    /// The end of the last text that a step has found.
    found: usize,
    has_ended: bool,
}

impl Output {
    fn read(self: &Arc<Self>, mut from: Box<dyn Read + Send>) -> JoinHandle<()> {
        let this = Arc::clone(self);
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // An error is the end of a terminal.
            while let Ok(read @ 1..) = from.read(&mut bytes) {
                this.state.lock().unwrap().bytes.extend_from_slice(&bytes[..read]);
                this.changed.notify_all();
            }
            this.state.lock().unwrap().has_ended = true;
            this.changed.notify_all();
        })
    }

    fn wait_for(&self, text: &str) {
        self.wait(text, |state| {
            let rest = &state.bytes[state.found..];
            let mut windows = rest.windows(text.len());
            let Some(at) = windows.position(|window| window == text.as_bytes()) else {
                return false;
            };
            state.found += at + text.len();
            true
        });
    }

    fn wait_for_response(&self, id: u64) {
        let is_response = |line: &[u8]| {
            let message: Value = serde_json::from_slice(line).unwrap_or_default();
            message["id"] == id && message.get("method").is_none()
        };
        self.wait(&format!("the response {id}"), |state| {
            // The last part is empty, or a line that is not complete.
            let lines: Vec<&[u8]> = state.bytes.split(|byte| *byte == b'\n').collect();
            lines[..lines.len() - 1].iter().any(|line| is_response(line))
        });
    }

    fn wait_for_end(&self) {
        self.wait("the end", |state| state.has_ended);
    }

    fn wait(&self, expected: &str, mut is_there: impl FnMut(&mut State) -> bool) {
        let deadline = Instant::now() + TIMEOUT;
        let mut state = self.state.lock().unwrap();
        while !is_there(&mut state) {
            let left = deadline.saturating_duration_since(Instant::now());
            if state.has_ended || left.is_zero() {
                let seen = String::from_utf8_lossy(&state.bytes).into_owned();
                drop(state);
                panic!("{expected:?} does not appear: {seen}");
            }
            state = self.changed.wait_timeout(state, left).unwrap().0;
        }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.state.lock().unwrap().bytes).into_owned()
    }
}
