//! A program in a pseudo-terminal that answers its queries and counts what it writes.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use pi_base::lock;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::replies::Queries;
use crate::process::Usage;

/// The end of a synchronized update, which ends a frame.
const FRAME_END: &[u8] = b"\x1b[?2026l";
/// A piece of the editor's border: with it the screen is complete enough to work with.
const BORDER: &[u8] = "───".as_bytes();

/// Markers are not longer than this.
const LONGEST_MARKER: usize = 32;

/// What a program has written so far.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Output {
    pub(super) bytes: u64,
    pub(super) frames: u64,
    has_border: bool,
    has_last_word: bool,
    /// CPU time of the program when its first frame with editor and session was complete.
    pub(super) first_paint: Option<Duration>,
}

/// A program that runs in a terminal. Dropping it ends the program.
#[derive(Debug)]
pub(super) struct Terminal {
    child: Child,
    master: File,
    output: Arc<Mutex<Output>>,
    pub(super) usage: Usage,
}

impl Terminal {
    /// Starts a program in a terminal of this size. `setsid` makes the terminal the controlling
    /// one, so that the program is told about changes of the size.
    ///
    /// The first paint is complete when `last_word` was written, too.
    pub(super) fn start(
        program: &[String],
        size: (u16, u16),
        command: Command,
        last_word: &'static str,
    ) -> io::Result<Self> {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
        grantpt(&master)?;
        unlockpt(&master)?;
        let name = ptsname(&master, Vec::new())?.to_string_lossy().into_owned();
        let master = File::from(master);
        resize(&master, size)?;
        let child = {
            let mut command = command;
            let slave = OpenOptions::new().read(true).write(true).open(&name)?;
            command.arg("--ctty").args(program);
            command.stdin(slave.try_clone()?).stdout(slave.try_clone()?).stderr(slave);
            command.spawn()?
        };
        let output = Arc::new(Mutex::new(Output::default()));
        let (reader, shared, process) = (master.try_clone()?, Arc::clone(&output), child.id());
        thread::spawn(move || read(reader, &shared, process, last_word));
        let usage = Usage::of(child.id());
        Ok(Self { child, master, output, usage })
    }

    pub(super) fn output(&self) -> Output {
        *lock(&self.output)
    }

    pub(super) fn resize(&self, size: (u16, u16)) -> io::Result<()> {
        resize(&self.master, size)
    }

    pub(super) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.master.write_all(bytes)
    }

    /// Waits until the first frame is complete.
    pub(super) fn wait_for_paint(&mut self, limit: Duration) -> io::Result<Duration> {
        let start = Instant::now();
        loop {
            if let Some(cpu) = self.output().first_paint {
                return Ok(cpu);
            }
            if let Some(status) = self.child.try_wait()? {
                return Err(io::Error::other(format!("the program ended: {status}")));
            }
            if start.elapsed() > limit {
                return Err(io::Error::other("the program has not drawn its screen"));
            }
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits until the program has neither written nor worked for this long.
    pub(super) fn settle(&mut self, quiet: Duration, limit: Duration) -> io::Result<()> {
        let start = Instant::now();
        let mut last = (0, Duration::ZERO);
        let mut since = Instant::now();
        loop {
            let now = (self.output().bytes, self.usage.cpu());
            if now != last || self.usage.is_busy() {
                (last, since) = (now, Instant::now());
            } else if since.elapsed() >= quiet {
                return Ok(());
            }
            if start.elapsed() > limit {
                return Err(io::Error::other("the program does not come to rest"));
            }
            thread::sleep(Duration::from_millis(4));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // The program may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn resize(master: &File, (columns, rows): (u16, u16)) -> io::Result<()> {
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    Ok(tcsetwinsize(master, size)?)
}

/// Reads what the program writes until it ends.
fn read(mut master: File, output: &Mutex<Output>, process: u32, last_word: &str) {
    let mut usage = Usage::of(process);
    let mut queries = Queries::default();
    let mut buffer = vec![0; 65_536];
    // The end of what was read before, in case a marker is cut.
    let mut window: Vec<u8> = Vec::new();
    while let Ok(count @ 1..) = master.read(&mut buffer) {
        let Some(bytes) = buffer.get(..count) else { return };
        let replies = queries.read(bytes);
        if master.write_all(&replies).is_err() {
            return;
        }
        let seen = window.len();
        window.extend_from_slice(bytes);
        let frames = count_new(&window, seen, FRAME_END);
        let mut output = lock(output);
        output.bytes += count as u64;
        output.frames += frames;
        output.has_border |= count_new(&window, seen, BORDER) > 0;
        output.has_last_word |= count_new(&window, seen, last_word.as_bytes()) > 0;
        if output.has_border && output.has_last_word && frames > 0 && output.first_paint.is_none() {
            output.first_paint = Some(usage.cpu());
        }
        drop(output);
        window.drain(..window.len().saturating_sub(LONGEST_MARKER));
    }
}

/// Counts the occurrences that end behind the first `seen` bytes.
fn count_new(window: &[u8], seen: usize, marker: &[u8]) -> u64 {
    let start = (seen + 1).saturating_sub(marker.len());
    let new = window.get(start..).unwrap_or_default();
    new.windows(marker.len()).filter(|bytes| *bytes == marker).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_counted_once_however_they_are_cut() {
        let written = b"a\x1b[?2026lbc\x1b[?2026l\x1b[?2026lx";
        for size in 1..written.len() {
            let (mut window, mut count) = (Vec::new(), 0);
            for piece in written.chunks(size) {
                let seen = window.len();
                window.extend_from_slice(piece);
                count += count_new(&window, seen, FRAME_END);
                window.drain(..window.len().saturating_sub(16));
            }
            assert_eq!(count, 3, "{size}");
        }
    }

    #[test]
    fn a_program_draws_asks_and_rests() {
        let script = "stty -echo raw; printf '\\033[c'; head -c 9 >/dev/null; printf '───\\033[?2026l'; read -r line";
        let program = ["sh", "-c", script].map(str::to_owned);
        let mut terminal =
            Terminal::start(&program, (80, 24), Command::new("setsid"), "─").unwrap();
        terminal.wait_for_paint(Duration::from_secs(20)).unwrap();
        terminal.settle(Duration::from_millis(20), Duration::from_secs(20)).unwrap();
        assert_eq!(terminal.output().frames, 1);
    }
}
