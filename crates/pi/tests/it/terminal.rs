//! A program on a terminal of its own.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// Time after which an expected text counts as missing.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A running program whose standard streams are a terminal.
pub(crate) struct Terminal {
    child: Child,
    input: File,
    output: Receiver<Vec<u8>>,
    seen: String,
}

impl Terminal {
    pub(crate) fn start(mut command: Command) -> Self {
        let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&controller).unwrap();
        unlockpt(&controller).unwrap();
        let name = ptsname(&controller, Vec::new()).unwrap().into_string().unwrap();
        let open = || OpenOptions::new().read(true).write(true).open(&name).unwrap();
        command.env("TERM", "xterm").stdin(open()).stdout(open()).stderr(open());
        let child = command.spawn().unwrap();
        // The terminal ends when its last user is gone, so this process must not keep it open.
        drop(command);
        let input = File::from(controller.try_clone().unwrap());
        let (sender, output) = mpsc::channel();
        std::thread::spawn(move || {
            let mut file = File::from(controller);
            let mut bytes = [0; 4096];
            // An error is the end of the terminal.
            while let Ok(read @ 1..) = file.read(&mut bytes) {
                if sender.send(bytes[..read].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { child, input, output, seen: String::new() }
    }

    /// Waits until the terminal shows a text.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, text: &str) {
        let deadline = Instant::now() + TIMEOUT;
        while !self.seen.contains(text) {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(left) {
                Ok(bytes) => self.seen.push_str(&String::from_utf8_lossy(&bytes)),
                Err(_) => {
                    let _ = self.child.kill();
                    panic!("{text:?} does not appear: {:?}", self.seen);
                }
            }
        }
    }

    /// Types a text.
    pub(crate) fn type_text(&mut self, text: &str) {
        self.input.write_all(text.as_bytes()).unwrap();
    }

    /// Sends a signal to the program, such as `INT`.
    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
    }

    /// Waits for the end of the program, and returns everything that was shown.
    pub(crate) fn finish(mut self) -> (ExitStatus, String) {
        while let Ok(bytes) = self.output.recv_timeout(TIMEOUT) {
            self.seen.push_str(&String::from_utf8_lossy(&bytes));
        }
        (self.child.wait().unwrap(), self.seen)
    }
}
