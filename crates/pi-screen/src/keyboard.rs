//! Input from the terminal, read on a thread of its own.
//!
//! The thread waits for the terminal and for a pipe. A byte in the pipe makes it stop reading, so
//! that no key is taken from a program that uses the terminal meanwhile.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::mpsc as blocking;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read, write};
use tokio::sync::mpsc;

/// Bytes that are read at once at most. A terminal hands out 4 KiB per call.
const CHUNK: usize = 64 * 1024;

/// The most bytes that are read before the event loop gets them.
const BURST: usize = 4 * 1024 * 1024;

/// Pieces that wait for the event loop at most; further input stays in the terminal.
const PIECES: usize = 4;

/// The commands of a [`Switch`], each a byte.
const PAUSE: u8 = b'p';
const CONTINUE: u8 = b'c';

/// Input that was read; an empty piece or an error is the end of the terminal.
pub(super) type Keyboard = mpsc::Receiver<io::Result<Vec<u8>>>;

/// Pauses and continues the reading.
pub(super) struct Switch {
    control: OwnedFd,
    paused: blocking::Receiver<()>,
}

impl Switch {
    /// Stops reading. After this no input is taken from the terminal.
    pub(super) fn pause(&self) {
        // A thread that has ended reads nothing.
        if write(&self.control, &[PAUSE]).is_ok() {
            let _ = self.paused.recv();
        }
    }

    /// Reads again.
    pub(super) fn resume(&self) {
        let _ = write(&self.control, &[CONTINUE]);
    }
}

/// Starts the thread.
pub(super) fn start() -> io::Result<(Keyboard, Switch)> {
    let terminal = rustix::io::fcntl_dupfd_cloexec(io::stdin(), 3)?;
    // Closed on exec on every system; rustix has no such call for macOS.
    let (commands, control) = io::pipe()?;
    let (commands, control): (OwnedFd, OwnedFd) = (commands.into(), control.into());
    let (sender, keyboard) = mpsc::channel(PIECES);
    let (confirm, paused) = blocking::channel();
    let work = move || {
        let end = run(&terminal, &commands, &sender, &confirm);
        // The event loop may be gone already.
        let _ = sender.blocking_send(end.map(|()| Vec::new()));
    };
    std::thread::Builder::new().name("terminal input".to_owned()).spawn(work)?;
    Ok((keyboard, Switch { control, paused }))
}

/// Reads until the terminal or the event loop is gone.
fn run(
    terminal: &OwnedFd,
    commands: &OwnedFd,
    sender: &mpsc::Sender<io::Result<Vec<u8>>>,
    confirm: &blocking::Sender<()>,
) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK];
    loop {
        let mut waiting =
            [PollFd::new(commands, PollFlags::IN), PollFd::new(terminal, PollFlags::IN)];
        match poll(&mut waiting, None) {
            Err(Errno::INTR) => continue,
            other => other?,
        };
        if !waiting[0].revents().is_empty() {
            match command(commands)? {
                Some(PAUSE) => {
                    let _ = confirm.send(());
                    // Blocks until the next command, which continues.
                    if command(commands)?.is_none() {
                        return Ok(());
                    }
                }
                Some(_) => {}
                // The event loop is gone.
                None => return Ok(()),
            }
            continue;
        }
        let mut bytes = Vec::new();
        while bytes.len() < BURST && is_readable(terminal)? {
            match read(terminal, &mut chunk) {
                Ok(0) => return Ok(()),
                Ok(count) => bytes.extend_from_slice(chunk.get(..count).unwrap_or_default()),
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if !bytes.is_empty() && sender.blocking_send(Ok(bytes)).is_err() {
            return Ok(());
        }
    }
}

/// Reads one command; `None` if no more follow.
fn command(commands: &OwnedFd) -> io::Result<Option<u8>> {
    let mut byte = [0];
    loop {
        match read(commands, &mut byte) {
            Ok(0) => return Ok(None),
            Ok(_) => return Ok(Some(byte[0])),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn is_readable(terminal: &OwnedFd) -> io::Result<bool> {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    match poll(&mut [PollFd::new(terminal, PollFlags::IN)], Some(&now)) {
        Err(Errno::INTR) => Ok(true),
        other => Ok(other? > 0),
    }
}
