//! The guard of the terminal: owns every mode that was switched on, and takes it back. Clones share
//! the terminal, so that a panic hook, a signal task and the program itself can restore it, in any
//! order and from any thread. No operation waits without limit for a terminal that takes no output.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

use pi_base::unpoisoned;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios,
};

use super::modes::{Mode, Modes};

/// The time that restoring waits for a terminal that takes no output.
const PATIENCE: Duration = Duration::from_millis(500);
/// Input that arrives while the terminal is restored is dropped until it pauses for this long.
const DRAIN_IDLE: Duration = Duration::from_millis(50);
/// The longest time that input is dropped.
const DRAIN_MAX: Duration = Duration::from_secs(1);
/// A thread that waits for the terminal looks this often whether it still should.
const CANCEL: Duration = Duration::from_millis(50);
/// Without a file description of our own, larger writes could block.
const SMALL_WRITE: usize = 256;

/// An operation on the terminal failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TerminalError {
    /// Input is not a terminal.
    #[error("standard input is not a terminal")]
    NotATerminal,
    /// The terminal was closed.
    #[error("the terminal was closed")]
    Gone(#[source] io::Error),
    /// The terminal takes no output.
    #[error("the terminal takes no output")]
    Blocked,
    /// The terminal was restored; no more output is possible.
    #[error("the terminal was restored already")]
    Restored,
    /// Another process group uses the terminal.
    #[error("another process uses the terminal")]
    Background,
    /// Another error of the system.
    #[error("the terminal cannot be used: {0}")]
    Io(#[source] io::Error),
}

impl From<Errno> for TerminalError {
    fn from(error: Errno) -> Self {
        match error {
            Errno::IO | Errno::PIPE | Errno::NOTTY | Errno::NXIO | Errno::BADF => {
                Self::Gone(error.into())
            }
            _ => Self::Io(error.into()),
        }
    }
}

/// The size of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // The names say it.
pub struct Size {
    pub columns: usize,
    pub rows: usize,
}

impl Default for Size {
    fn default() -> Self {
        Self { columns: 80, rows: 24 }
    }
}

/// The guard. The last clone that is dropped restores the terminal.
#[derive(Debug, Clone)]
pub struct Guard {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    input: OwnedFd,
    output: Output,
    /// Settings of the terminal before anything was changed.
    saved: Termios,
    state: Mutex<State>,
    restored: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    modes: Modes,
    raw: bool,
}

impl Guard {
    /// Creates the guard of a terminal, whose settings it remembers. Nothing is changed yet.
    pub fn new(input: impl AsFd, output: impl AsFd) -> Result<Self, TerminalError> {
        let saved = rustix::termios::tcgetattr(&input).map_err(|error| match error {
            Errno::NOTTY => TerminalError::NotATerminal,
            other => other.into(),
        })?;
        let input = input.as_fd().try_clone_to_owned().map_err(TerminalError::Io)?;
        let output = Output::open(output)?;
        let state = Mutex::default();
        let restored = AtomicBool::new(false);
        Ok(Self { shared: Arc::new(Shared { input, output, saved, state, restored }) })
    }

    /// Returns the byte that the Backspace key sends, as the terminal is configured.
    pub fn erase_byte(&self) -> u8 {
        self.shared.saved.special_codes[SpecialCodeIndex::VERASE]
    }

    /// Switches to raw mode: every key arrives at once, and none is a signal. Output is processed
    /// as before, so that messages of other code remain readable.
    pub fn raw(&self) -> Result<(), TerminalError> {
        let mut state = self.shared.lock()?;
        self.shared.make_raw(&mut state)
    }

    /// Switches modes on, in this order, and writes further bytes in the same write.
    pub fn enable(&self, modes: &[Mode], more: &[u8]) -> Result<(), TerminalError> {
        self.change(|state, out| {
            for mode in modes {
                state.enable(*mode, out);
            }
            out.extend_from_slice(more);
        })
    }

    /// Switches modes off, in this order.
    pub fn disable(&self, modes: &[Mode]) -> Result<(), TerminalError> {
        self.change(|state, out| {
            for mode in modes {
                state.disable(*mode, out);
            }
        })
    }

    /// Writes a frame. Waits at most `patience` for a terminal that takes no output; then a part of
    /// the frame may be written, and the next one has to draw everything.
    pub fn write(&self, bytes: &[u8], patience: Duration) -> Result<(), TerminalError> {
        let _state = self.shared.lock()?;
        self.shared.output.write(bytes, patience, Some(&self.shared.restored))
    }

    /// Returns true if the terminal takes output now. Frames are skipped while it does not.
    pub fn is_writable(&self) -> bool {
        self.shared.output.wait(Duration::ZERO).unwrap_or(true)
    }

    /// Returns the size, or `fallback` if the terminal does not know it.
    pub fn size(&self, fallback: Size) -> Size {
        match rustix::termios::tcgetwinsize(&self.shared.output.fd) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => {
                Size { columns: size.ws_col.into(), rows: size.ws_row.into() }
            }
            _ => fallback,
        }
    }

    /// Returns width and height of a cell in pixels, if the terminal reports its size in pixels.
    pub fn cell_size(&self) -> Option<(u16, u16)> {
        let size = rustix::termios::tcgetwinsize(&self.shared.output.fd).ok()?;
        let width = size.ws_xpixel.checked_div(size.ws_col)?;
        let height = size.ws_ypixel.checked_div(size.ws_row)?;
        (width > 0 && height > 0).then_some((width, height))
    }

    /// Gives the terminal to another program: takes everything back and returns the modes that
    /// were on, for [`Guard::resume`].
    pub fn suspend(&self) -> Result<Modes, TerminalError> {
        let mut state = self.shared.lock()?;
        let modes = state.modes;
        self.shared.take_back(&mut state, true)?;
        Ok(modes)
    }

    /// Takes the terminal again after [`Guard::suspend`].
    pub fn resume(&self, modes: Modes) -> Result<(), TerminalError> {
        let mut state = self.shared.lock()?;
        self.shared.make_raw(&mut state)?;
        drop(state);
        let modes: Vec<Mode> = modes.iter().collect();
        self.enable(&modes, &[])
    }

    /// Restores the terminal for good at a regular end: also drops input that is still arriving, so
    /// that it does not reach the shell.
    pub fn stop(&self) -> Result<(), TerminalError> {
        self.shared.restore(true)
    }

    /// Restores the terminal for good, at once. Does nothing if it was restored before.
    pub fn restore(&self) -> Result<(), TerminalError> {
        self.shared.restore(false)
    }

    fn change(&self, change: impl FnOnce(&mut Modes, &mut Vec<u8>)) -> Result<(), TerminalError> {
        let mut state = self.shared.lock()?;
        let mut bytes = Vec::new();
        // A mode counts as on even if writing fails: a part of the bytes may have arrived.
        change(&mut state.modes, &mut bytes);
        self.shared.output.write(&bytes, PATIENCE, None)
    }
}

impl Shared {
    /// Locks the state for a change; fails after the terminal was restored.
    fn lock(&self) -> Result<MutexGuard<'_, State>, TerminalError> {
        let state = self.lock_in_any_case()?;
        if self.restored.load(Ordering::Acquire) { Err(TerminalError::Restored) } else { Ok(state) }
    }

    /// Locks the state. Fails if another thread writes to a terminal that takes no output.
    fn lock_in_any_case(&self) -> Result<MutexGuard<'_, State>, TerminalError> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.state.try_lock() {
                Ok(state) => return Ok(state),
                Err(TryLockError::Poisoned(state)) => return Ok(unpoisoned(Err(state))),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(TryLockError::WouldBlock) => return Err(TerminalError::Blocked),
            }
        }
    }

    fn make_raw(&self, state: &mut State) -> Result<(), TerminalError> {
        let mut raw = self.saved.clone();
        raw.input_modes -= InputModes::BRKINT
            | InputModes::ICRNL
            | InputModes::INLCR
            | InputModes::IGNCR
            | InputModes::INPCK
            | InputModes::ISTRIP
            | InputModes::IXON;
        raw.local_modes -=
            LocalModes::ECHO | LocalModes::ICANON | LocalModes::IEXTEN | LocalModes::ISIG;
        raw.special_codes[SpecialCodeIndex::VMIN] = 1;
        raw.special_codes[SpecialCodeIndex::VTIME] = 0;
        state.raw = true;
        Ok(rustix::termios::tcsetattr(&self.input, OptionalActions::Now, &raw)?)
    }

    fn restore(&self, drain: bool) -> Result<(), TerminalError> {
        self.restored.store(true, Ordering::Release);
        // A thread that waits for the terminal stops now. One that restores it is waited for, and
        // leaves nothing to do.
        match self.lock_in_any_case() {
            Ok(mut state) => self.take_back(&mut state, drain),
            Err(error) => {
                // Keys work in the shell, at least.
                self.set_cooked()?;
                Err(error)
            }
        }
    }

    /// Takes back all modes, then raw mode.
    fn take_back(&self, state: &mut State, drain: bool) -> Result<(), TerminalError> {
        if state.modes.is_empty() && !state.raw {
            return Ok(());
        }
        if self.is_background() {
            // Writing settings would stop this process.
            return Err(TerminalError::Background);
        }
        let mut bytes = Vec::new();
        state.modes.restore(&mut bytes);
        let written = self.output.write(&bytes, PATIENCE, None);
        if state.raw {
            if drain && written.is_ok() {
                self.drain();
            }
            state.raw = false;
            self.set_cooked()?;
        }
        written
    }

    /// Sets the saved settings. Does not wait for output, which may never be taken.
    fn set_cooked(&self) -> Result<(), TerminalError> {
        // Reports of the mouse that were not read must not reach the shell.
        let _ = rustix::termios::tcflush(&self.input, QueueSelector::IFlush);
        Ok(rustix::termios::tcsetattr(&self.input, OptionalActions::Now, &self.saved)?)
    }

    fn is_background(&self) -> bool {
        let foreground = rustix::termios::tcgetpgrp(&self.input);
        foreground.is_ok_and(|group| group != rustix::process::getpgrp())
    }

    /// Drops input until it pauses.
    fn drain(&self) {
        let end = Instant::now() + DRAIN_MAX;
        let mut buffer = [0; 4096];
        while Instant::now() < end {
            match wait(&self.input, PollFlags::IN, DRAIN_IDLE) {
                Ok(true) => match rustix::io::read(&self.input, &mut buffer) {
                    Ok(1..) | Err(Errno::INTR | Errno::AGAIN) => {}
                    _ => return,
                },
                _ => return,
            }
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let _ = self.restore(false);
    }
}

/// The terminal as a place to write to.
#[derive(Debug)]
struct Output {
    fd: OwnedFd,
    /// True if writes return at once. Only a file description of our own can be set up like this:
    /// others are shared with the shell.
    is_nonblocking: bool,
}

impl Output {
    fn open(output: impl AsFd) -> Result<Self, TerminalError> {
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened = rustix::termios::ttyname(&output, Vec::new())
            .and_then(|name| rustix::fs::open(name, flags, rustix::fs::Mode::empty()));
        match opened {
            Ok(fd) => Ok(Self { fd, is_nonblocking: true }),
            Err(_) => {
                let fd = output.as_fd().try_clone_to_owned().map_err(TerminalError::Io)?;
                Ok(Self { fd, is_nonblocking: false })
            }
        }
    }

    /// Writes everything, or fails after `patience`, or soon after `cancelled` becomes true.
    fn write(
        &self,
        bytes: &[u8],
        patience: Duration,
        cancelled: Option<&AtomicBool>,
    ) -> Result<(), TerminalError> {
        let start = Instant::now();
        let mut rest = bytes;
        while !rest.is_empty() {
            let left = patience.saturating_sub(start.elapsed());
            if !self.wait(left.min(CANCEL))? {
                if cancelled.is_some_and(|it| it.load(Ordering::Acquire)) {
                    return Err(TerminalError::Restored);
                }
                if left.is_zero() {
                    return Err(TerminalError::Blocked);
                }
                continue;
            }
            let length = if self.is_nonblocking { rest.len() } else { SMALL_WRITE.min(rest.len()) };
            let (now, _) = rest.split_at(length);
            match rustix::io::write(&self.fd, now) {
                Ok(written) => rest = rest.get(written..).unwrap_or_default(),
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Waits until the terminal takes output; returns false if it does not.
    fn wait(&self, patience: Duration) -> Result<bool, TerminalError> {
        wait(&self.fd, PollFlags::OUT, patience)
    }
}

fn wait(fd: &OwnedFd, events: PollFlags, patience: Duration) -> Result<bool, TerminalError> {
    let deadline = Instant::now() + patience;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = Timespec {
            tv_sec: left.as_secs().try_into().unwrap_or(1),
            tv_nsec: left.subsec_nanos().into(),
        };
        match poll(&mut [PollFd::new(fd, events)], Some(&left)) {
            Ok(count) => return Ok(count > 0),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
