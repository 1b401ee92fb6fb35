//! A program on a terminal: a process, a pseudo-terminal and an emulator.
//!
//! Waiting is driven by output: a condition is checked after each piece of output, and a deadline
//! ends the wait. No test sleeps.

use std::fs::OpenOptions;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::Errno;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};

use super::emulator::{Emulator, Profile, Row, Size};
use super::keys;

/// Time after which an expected screen counts as missing.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);

/// A running program on a terminal of its own.
pub(crate) struct Screen {
    child: Running,
    /// The end of the terminal that the person has.
    controller: OwnedFd,
    profile: Profile,
    pub(crate) emulator: Emulator,
    /// The state of the terminal driver before the program started.
    pub(crate) before: Termios,
}

/// The reason why no more output comes.
enum Quiet {
    /// The deadline has passed.
    Timeout,
    /// No program has the terminal open.
    Closed,
}

impl Screen {
    /// Starts a program. The terminal is its controlling terminal, so that a resize and a hang-up
    /// send signals, and `/dev/tty` works.
    pub(crate) fn start(command: &Command, size: Size, profile: Profile) -> Self {
        let controller =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&controller).unwrap();
        unlockpt(&controller).unwrap();
        set_size(&controller, size);
        let name = ptsname(&controller, Vec::new()).unwrap().into_string().unwrap();
        let open = || {
            let flags = OFlags::NOCTTY.bits() as i32;
            OpenOptions::new().read(true).write(true).custom_flags(flags).open(&name).unwrap()
        };
        let first = open();
        let before = tcgetattr(&first).unwrap();
        // Becomes the program itself, with the same process id.
        let mut leader = Command::new("setsid");
        leader.arg("--ctty").arg(command.get_program()).args(command.get_args()).env_clear();
        leader.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        if let Some(directory) = command.get_current_dir() {
            leader.current_dir(directory);
        }
        let child = leader.stdin(first).stdout(open()).stderr(open()).spawn().unwrap();
        // The terminal ends when its last user is gone, so this process must not keep it open.
        drop(leader);
        fcntl_setfl(&controller, OFlags::NONBLOCK).unwrap();
        let emulator = Emulator::new(size, profile);
        Self { child: Running(child), controller, profile, emulator, before }
    }

    /// Processes output until a condition holds. The error has the screen as it was.
    pub(crate) fn wait(
        &mut self,
        what: &str,
        timeout: Duration,
        mut condition: impl FnMut(&Emulator) -> bool,
    ) -> Result<(), String> {
        let deadline = Instant::now() + timeout;
        loop {
            if condition(&self.emulator) {
                return Ok(());
            }
            match self.read(deadline) {
                Ok(()) => {}
                Err(Quiet::Timeout) => {
                    return Err(format!("{what}: does not appear\n{}", self.shown()));
                }
                Err(Quiet::Closed) => {
                    return Err(format!("{what}: the program ended\n{}", self.shown()));
                }
            }
        }
    }

    /// Waits for output, takes what is there, and sends the answers of the terminal.
    fn read(&mut self, deadline: Instant) -> Result<(), Quiet> {
        loop {
            let ready = self.ready(PollFlags::IN, deadline)?;
            if ready.contains(PollFlags::IN) {
                break;
            }
            if ready.contains(PollFlags::HUP) {
                return Err(Quiet::Closed);
            }
        }
        self.take()
    }

    /// Takes output that is there.
    fn take(&mut self) -> Result<(), Quiet> {
        let mut bytes = [0; 65536];
        match rustix::io::read(&self.controller, &mut bytes) {
            // The end, as Linux reports it, or as others do.
            Err(Errno::IO) | Ok(0) => Err(Quiet::Closed),
            Err(Errno::AGAIN | Errno::INTR) => Ok(()),
            Err(error) => panic!("{error}"),
            Ok(length) => {
                let answer = self.emulator.feed(&bytes[..length]);
                if !answer.is_empty() {
                    self.write(&answer);
                }
                Ok(())
            }
        }
    }

    fn ready(&self, flags: PollFlags, deadline: Instant) -> Result<PollFlags, Quiet> {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let left = Timespec::try_from(left).unwrap();
            let mut fds = [PollFd::new(&self.controller, flags)];
            match poll(&mut fds, Some(&left)) {
                Ok(0) => return Err(Quiet::Timeout),
                Ok(_) => return Ok(fds[0].revents()),
                Err(Errno::INTR) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Processes output until a condition holds; panics with the screen if it never does.
    #[track_caller]
    pub(crate) fn wait_until(&mut self, what: &str, condition: impl FnMut(&Emulator) -> bool) {
        if let Err(problem) = self.wait(what, TIMEOUT, condition) {
            panic!("{problem}");
        }
    }

    /// Waits until a row of the screen contains a text.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, text: &str) {
        self.wait_until(text, |emulator| contains(&emulator.rows(), text));
    }

    /// Waits until no row of the screen contains a text.
    #[track_caller]
    pub(crate) fn wait_gone(&mut self, text: &str) {
        self.wait_until(&format!("no {text}"), |emulator| !contains(&emulator.rows(), text));
    }

    /// Processes output until none has come for this long, at most for a while. Only for recording
    /// and for tests that something does not happen.
    pub(crate) fn settle(&mut self, quiet: Duration) {
        let end = Instant::now() + 5 * quiet;
        while Instant::now() < end && self.read((Instant::now() + quiet).min(end)).is_ok() {}
    }

    /// Writes bytes, in one call if they fit. Takes output meanwhile: a program that waits until
    /// its output is read may not read its input.
    pub(crate) fn write(&mut self, mut bytes: &[u8]) {
        let deadline = Instant::now() + TIMEOUT;
        while !bytes.is_empty() {
            match rustix::io::write(&self.controller, bytes) {
                Ok(length) => bytes = &bytes[length..],
                Err(Errno::AGAIN | Errno::INTR) => {
                    let Ok(ready) = self.ready(PollFlags::IN | PollFlags::OUT, deadline) else {
                        panic!("the program does not read its input\n{}", self.shown());
                    };
                    if ready.contains(PollFlags::IN) && self.take().is_err() {
                        return;
                    }
                }
                // The program has ended; the next wait reports that.
                Err(_) => return,
            }
        }
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.write(text.as_bytes());
    }

    /// Presses a key, such as `ctrl+o`.
    #[track_caller]
    pub(crate) fn key(&mut self, name: &str) {
        let bytes = keys::bytes(name, self.profile.kitty);
        self.write(&bytes.unwrap_or_else(|| panic!("no such key: {name}")));
    }

    /// Types a text and presses enter.
    pub(crate) fn submit(&mut self, text: &str) {
        self.text(text);
        self.key("enter");
    }

    /// Pastes a text, in brackets if the program asked for them.
    pub(crate) fn paste(&mut self, text: &str) {
        let bracketed = self.emulator.switched(2004) == Some(true);
        let text = text.replace('\n', "\r");
        let text = if bracketed { format!("\x1b[200~{text}\x1b[201~") } else { text };
        self.write(text.as_bytes());
    }

    pub(crate) fn resize(&mut self, size: Size) {
        // First the emulator: what the program writes for the new size must find it there.
        self.emulator.resize(size);
        set_size(&self.controller, size);
    }

    /// Sends a signal to the program, such as `INT`.
    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.0.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
    }

    /// Returns the state of the terminal driver.
    pub(crate) fn driver(&self) -> Termios {
        tcgetattr(&self.controller).unwrap()
    }

    /// Waits for the end of the program and of its output.
    #[track_caller]
    pub(crate) fn finish(&mut self) -> ExitStatus {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            match self.read(deadline) {
                Ok(()) => {}
                Err(Quiet::Closed) => break,
                Err(Quiet::Timeout) => panic!("does not end\n{}", self.shown()),
            }
        }
        self.emulator.end_update();
        self.child.0.wait().unwrap()
    }

    /// Closes the terminal, as a window that is closed, and waits for the end of the program.
    pub(crate) fn hang_up(self) -> ExitStatus {
        let Self { mut child, controller, .. } = self;
        drop(controller);
        child.0.wait().unwrap()
    }

    /// Returns the screen in a frame, for messages.
    pub(crate) fn shown(&self) -> String {
        let rows = self.emulator.rows();
        let (column, row) = self.emulator.cursor();
        let mut text = format!("cursor {column},{row}\n");
        for row in rows {
            text.push_str(&format!("|{}\n", row.text));
        }
        text
    }
}

/// A process that is killed when the test ends before it.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // Fails if the process has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns true if a row contains a text.
pub(crate) fn contains(rows: &[Row], text: &str) -> bool {
    rows.iter().any(|row| row.text.contains(text))
}

fn set_size(controller: &OwnedFd, size: Size) {
    let (ws_row, ws_col) = (size.rows as u16, size.columns as u16);
    let size = Winsize { ws_row, ws_col, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(controller, size).unwrap();
}

#[test]
fn the_helper_runs_a_program_on_a_terminal() {
    let mut command = Command::new("/bin/sh");
    // The size, the controlling terminal, a signal on resize, raw input.
    command.args([
        "-c",
        "trap 'stty size' WINCH; stty size; echo here >/dev/tty; while :; do read line || continue; echo \"got $line\"; \
         [ \"$line\" = end ] && exit 3; done",
    ]);
    command.env("PATH", "/usr/bin:/bin").env("TERM", "xterm-256color");
    let mut screen = Screen::start(&command, Size::new(30, 5), Profile::PLAIN);
    screen.wait_for("5 30");
    screen.wait_for("here");
    screen.submit("one");
    screen.wait_for("got one");
    screen.resize(Size::new(40, 6));
    screen.submit("two");
    screen.wait_for("6 40");
    screen.submit("end");
    assert_eq!(screen.finish().code(), Some(3));
    assert_eq!(format!("{:?}", screen.driver()), format!("{:?}", screen.before));
}
