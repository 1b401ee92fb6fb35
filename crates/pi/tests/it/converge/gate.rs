//! Points at which a command waits until the test lets it go on.
//!
//! A command of a sandbox cannot write outside of it, but it can read a pipe there. Each arrival has
//! a pipe of its own, so that one command is not taken for two.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// Time after which an arrival that has not come is an error.
const PATIENCE: Duration = Duration::from_secs(60);

/// A point that commands pass one at a time.
pub(super) struct Gate {
    /// Not below the temporary directory, which is private in the sandbox.
    directory: tempfile::TempDir,
    number: u32,
    arrivals: Receiver<File>,
    sender: Sender<File>,
}

impl Gate {
    pub(super) fn new() -> Self {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let (sender, arrivals) = channel();
        let mut gate = Self { directory, number: 0, arrivals, sender };
        gate.prepare();
        gate
    }

    /// Returns the command that waits at the gate.
    pub(super) fn command(&self) -> String {
        let directory = self.directory.path().display();
        format!("read _ < {directory}/gate-$(cat {directory}/number)")
    }

    /// Waits until a command of a process has arrived. Returns `None` if the process has ended.
    #[track_caller]
    pub(super) fn wait(&mut self, process: &mut Child) -> Option<Waiting<'_>> {
        let began = Instant::now();
        loop {
            if let Ok(pipe) = self.arrivals.recv_timeout(Duration::from_millis(20)) {
                return Some(Waiting { gate: self, pipe });
            }
            if process.try_wait().unwrap().is_some() {
                return None;
            }
            assert!(began.elapsed() < PATIENCE, "no command arrives at the gate");
        }
    }

    /// Waits until a command of a process arrives, and lets it go on.
    #[track_caller]
    pub(super) fn let_pass(&mut self, process: &mut Child) {
        if let Some(waiting) = self.wait(process) {
            waiting.pass();
        }
    }

    /// Prepares the next arrival.
    fn prepare(&mut self) {
        self.number += 1;
        let pipe = self.directory.path().join(format!("gate-{}", self.number));
        let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        replace(&self.directory.path().join("number"), &self.number.to_string());
        let sender = self.sender.clone();
        // Opening a pipe blocks until its other end is open.
        std::thread::spawn(move || {
            let opened = OpenOptions::new().write(true).open(pipe);
            opened.ok().map(|pipe| sender.send(pipe))
        });
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        // Ends the waiting thread.
        let pipe = self.directory.path().join(format!("gate-{}", self.number));
        let _ = OpenOptions::new().read(true).write(true).open(pipe);
    }
}

/// A command that waits.
pub(super) struct Waiting<'a> {
    gate: &'a mut Gate,
    pipe: File,
}

impl Waiting<'_> {
    /// Lets the command go on, or forgets it if it was killed.
    pub(super) fn pass(mut self) {
        self.gate.prepare();
        let _ = self.pipe.write_all(b"\n");
    }
}

fn replace(path: &Path, text: &str) {
    let new: PathBuf = path.with_extension("new");
    fs::write(&new, text).unwrap();
    fs::rename(new, path).unwrap();
}
