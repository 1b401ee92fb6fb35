//! The guard on a real pseudo-terminal, whose output an emulator reads.

use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use alacritty_terminal::term::TermMode;
use pi_tui::terminal::{Guard, Mode, Modes, Size, TerminalError};
use proptest::prelude::*;
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::pty::OpenptFlags;
use rustix::termios::{LocalModes, Winsize};

use crate::emulator::Emulator;

const SOON: Duration = Duration::from_secs(5);
const ALL: &[Mode] = &[
    Mode::Title,
    Mode::AlternateScreen,
    Mode::NoAutowrap,
    Mode::Mouse,
    Mode::MouseMotion,
    Mode::Focus,
    Mode::BracketedPaste,
    Mode::KittyKeyboard,
    Mode::ColorScheme,
    Mode::HiddenCursor,
];

/// A pseudo-terminal: the side of the emulator, and the side of the program.
struct Pty {
    emulator: OwnedFd,
    program: OwnedFd,
}

impl Pty {
    fn open() -> Self {
        let emulator = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)
            .expect("a pseudo-terminal");
        rustix::pty::grantpt(&emulator).expect("a pseudo-terminal");
        rustix::pty::unlockpt(&emulator).expect("a pseudo-terminal");
        let name = rustix::pty::ptsname(&emulator, Vec::new()).expect("a pseudo-terminal");
        let flags = OFlags::RDWR | OFlags::NOCTTY;
        let program =
            rustix::fs::open(name, flags, rustix::fs::Mode::empty()).expect("a pseudo-terminal");
        Self { emulator, program }
    }

    fn guard(&self) -> Guard {
        Guard::new(&self.program, &self.program).expect("a pseudo-terminal")
    }

    /// Returns everything that was written so far.
    fn output(&self) -> Vec<u8> {
        const MARK: &[u8] = b"<mark>";
        rustix::io::write(&self.program, MARK).expect("a pseudo-terminal");
        let mut all = Vec::new();
        let mut buffer = [0; 4096];
        while !all.ends_with(MARK) {
            let count = rustix::io::read(&self.emulator, &mut buffer).expect("a pseudo-terminal");
            all.extend_from_slice(&buffer[..count]);
        }
        all.truncate(all.len() - MARK.len());
        all
    }

    fn is_cooked(&self) -> bool {
        let settings = rustix::termios::tcgetattr(&self.program).expect("a pseudo-terminal");
        settings.local_modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
    }
}

#[test]
fn everything_is_taken_back() {
    let pty = Pty::open();
    let mut emulator = Emulator::new(80, 24);
    emulator.feed(b"\x1b]0;shell\x07$ pi\r\n");
    let modes = emulator.mode();
    assert_eq!(emulator.reports().titles, ["shell"]);
    let guard = pty.guard();
    assert!(pty.is_cooked());

    guard.raw().unwrap();
    guard.enable(ALL, b"\x1b]0;pi\x07").unwrap();
    emulator.feed(&pty.output());
    assert!(!pty.is_cooked());
    let on = emulator.mode();
    let expected = TermMode::ALT_SCREEN
        | TermMode::BRACKETED_PASTE
        | TermMode::FOCUS_IN_OUT
        | TermMode::MOUSE_MOTION
        | TermMode::SGR_MOUSE
        | TermMode::DISAMBIGUATE_ESC_CODES
        | TermMode::REPORT_EVENT_TYPES;
    assert!(on.contains(expected), "{on:?}");
    assert!(!on.intersects(TermMode::LINE_WRAP | TermMode::SHOW_CURSOR), "{on:?}");
    assert_eq!(emulator.reports().titles, ["pi"]);

    // The program dies in the middle of a frame, within a string.
    guard.write(b"\x1b[?2026h\x1b[1;31mhello\x1b]8;;http://", SOON).unwrap();
    guard.restore().unwrap();
    emulator.feed(&pty.output());
    assert_eq!(emulator.mode(), modes);
    assert_eq!(emulator.reports().titles, ["shell"]);
    assert!(pty.is_cooked());

    // Again, by any means: nothing is written.
    guard.restore().unwrap();
    guard.stop().unwrap();
    assert!(matches!(guard.enable(ALL, b"x"), Err(TerminalError::Restored)));
    assert!(matches!(guard.write(b"x", SOON), Err(TerminalError::Restored)));
    assert!(matches!(guard.raw(), Err(TerminalError::Restored)));
    drop(guard);
    assert_eq!(pty.output(), b"");
}

#[test]
fn the_last_clone_restores() {
    let pty = Pty::open();
    let guard = pty.guard();
    guard.raw().unwrap();
    guard.enable(&[Mode::HiddenCursor], &[]).unwrap();
    let other = guard.clone();
    drop(guard);
    assert!(!pty.is_cooked());
    drop(other);
    assert!(pty.is_cooked());
    assert!(pty.output().ends_with(b"\x1b[?25h"));
}

#[test]
fn threads_restore_once() {
    let pty = Pty::open();
    let guard = pty.guard();
    guard.raw().unwrap();
    guard.enable(ALL, &[]).unwrap();
    pty.output();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| guard.restore().unwrap());
        }
    });
    let written = String::from_utf8(pty.output()).unwrap();
    assert_eq!(written.matches("\x1b[?1049l").count(), 1);
    assert!(pty.is_cooked());
}

#[test]
fn a_panic_restores() {
    let pty = Pty::open();
    let guard = pty.guard();
    guard.raw().unwrap();
    guard.enable(ALL, &[]).unwrap();
    let thread = std::thread::spawn(move || {
        let _guard = guard;
        panic!("expected by this test");
    });
    thread.join().unwrap_err();
    assert!(pty.is_cooked());
    assert!(pty.output().ends_with(b"\x1b[?25h"));
}

#[test]
fn suspend_and_resume() {
    let pty = Pty::open();
    let mut emulator = Emulator::new(80, 24);
    let before = emulator.mode();
    let guard = pty.guard();
    guard.raw().unwrap();
    guard.enable(ALL, &[]).unwrap();
    emulator.feed(&pty.output());
    let on = emulator.mode();

    let modes = guard.suspend().unwrap();
    emulator.feed(&pty.output());
    assert_eq!(emulator.mode(), before);
    assert!(pty.is_cooked());

    guard.resume(modes).unwrap();
    emulator.feed(&pty.output());
    assert_eq!(emulator.mode(), on);
    assert!(!pty.is_cooked());
    guard.stop().unwrap();
    emulator.feed(&pty.output());
    assert_eq!(emulator.mode(), before);
}

#[test]
fn a_terminal_that_takes_no_output_does_not_hang() {
    let pty = Pty::open();
    let guard = pty.guard();
    guard.raw().unwrap();
    guard.enable(ALL, &[]).unwrap();
    let start = Instant::now();
    let result = guard.write(&vec![b'x'; 4 << 20], Duration::from_millis(20));
    assert!(matches!(result, Err(TerminalError::Blocked)), "{result:?}");
    assert!(!guard.is_writable());
    let result = guard.restore();
    assert!(matches!(result, Err(TerminalError::Blocked)), "{result:?}");
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
    assert!(pty.is_cooked());
}

#[test]
fn a_stuck_writer_does_not_stop_restoring() {
    let pty = Pty::open();
    let guard = pty.guard();
    guard.raw().unwrap();
    let start = Instant::now();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| guard.write(&vec![b'x'; 4 << 20], Duration::from_secs(3600)));
        while guard.is_writable() {
            std::thread::yield_now();
        }
        // The event loop is not held up either.
        let result = guard.enable(&[Mode::Mouse], &[]);
        assert!(matches!(result, Err(TerminalError::Blocked)), "{result:?}");
        guard.restore().unwrap();
        assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
        assert!(pty.is_cooked());
        assert!(matches!(writer.join().unwrap(), Err(TerminalError::Restored)));
    });
}

#[test]
fn a_closed_terminal_is_an_error() {
    let Pty { emulator, program } = Pty::open();
    let guard = Guard::new(&program, &program).unwrap();
    guard.raw().unwrap();
    guard.enable(ALL, &[]).unwrap();
    drop(emulator);
    let result = guard.write(b"x", SOON);
    assert!(matches!(result, Err(TerminalError::Gone(_))), "{result:?}");
    let result = guard.stop();
    assert!(matches!(result, Err(TerminalError::Gone(_))), "{result:?}");
    drop(guard);
}

#[test]
fn input_that_is_still_arriving_does_not_reach_the_shell() {
    let pty = Pty::open();
    let guard = pty.guard();
    guard.raw().unwrap();
    guard.enable(&[Mode::Mouse], &[]).unwrap();
    std::fs::File::from(pty.emulator.try_clone().unwrap())
        .write_all(b"\x1b[<35;1;1M\x1b[<35;2;1M\rexit\r")
        .unwrap();
    guard.stop().unwrap();
    rustix::io::ioctl_fionbio(&pty.program, true).unwrap();
    let read = rustix::io::read(&pty.program, &mut [0; 100]);
    assert_eq!(read, Err(Errno::AGAIN));
}

#[test]
fn size_and_settings() {
    let pty = Pty::open();
    let guard = pty.guard();
    let fallback = Size { columns: 100, rows: 30 };
    assert_eq!(guard.size(fallback), fallback);
    assert_eq!(guard.cell_size(), None);
    let size = Winsize { ws_row: 15, ws_col: 40, ws_xpixel: 400, ws_ypixel: 300 };
    rustix::termios::tcsetwinsize(&pty.emulator, size).unwrap();
    assert_eq!(guard.size(fallback), Size { columns: 40, rows: 15 });
    assert_eq!(guard.cell_size(), Some((10, 20)));
    assert_eq!(guard.erase_byte(), 0x7f);
    let null = std::fs::File::open("/dev/null").unwrap();
    assert!(matches!(Guard::new(&null, &null), Err(TerminalError::NotATerminal)));
}

proptest! {
    /// Any history of modes is taken back: the terminal is as before, and so is its title.
    #[test]
    fn any_history_is_taken_back(steps in prop::collection::vec((0..ALL.len(), any::<bool>()), 0..40)) {
        let mut emulator = Emulator::new(80, 24);
        emulator.feed(b"\x1b]0;shell\x07");
        let before = emulator.mode();
        let mut modes = Modes::default();
        let mut bytes = Vec::new();
        for (index, on) in steps {
            let mode = ALL[index];
            if on {
                modes.enable(mode, &mut bytes);
            } else {
                modes.disable(mode, &mut bytes);
            }
            prop_assert_eq!(modes.contains(mode), on);
        }
        emulator.feed(&bytes);
        let kitty = emulator.mode().contains(TermMode::DISAMBIGUATE_ESC_CODES);
        prop_assert_eq!(kitty, modes.contains(Mode::KittyKeyboard));
        let alternate = emulator.mode().contains(TermMode::ALT_SCREEN);
        prop_assert_eq!(alternate, modes.contains(Mode::AlternateScreen));
        bytes.clear();
        modes.restore(&mut bytes);
        emulator.feed(&bytes);
        prop_assert_eq!(emulator.mode(), before);
        let titles = emulator.reports().titles;
        prop_assert_eq!(titles.last().map(String::as_str), Some("shell"));
    }
}
