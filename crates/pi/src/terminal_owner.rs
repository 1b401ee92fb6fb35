//! The owner of the terminal, for what extensions and their programs write.
//!
//! While a screen is drawn, only sequences that do not disturb it reach the terminal: titles,
//! notifications, the clipboard, the bell. Other output of extensions is dropped then, as it would
//! destroy the screen. Without a screen it goes to standard error; standard output belongs to the
//! protocol of the program.

use std::io::Write as _;
use std::sync::{Mutex, MutexGuard};

use pi_base::lock;
#[cfg(feature = "extensions")]
use pi_extensions::{InheritedStreams, OutputStream};
use pi_screen::DrawnScreen;

enum Owner {
    /// No screen is drawn.
    Program,
    Screen(DrawnScreen),
    /// The screen has lent the terminal to another program.
    Lent(DrawnScreen),
}

static OWNER: Mutex<Owner> = Mutex::new(Owner::Program);

fn owner() -> MutexGuard<'static, Owner> {
    lock(&OWNER)
}

/// Records that a screen is drawn.
pub(crate) fn open_screen(screen: DrawnScreen) {
    *owner() = Owner::Screen(screen);
}

/// Records that the screen lends the terminal, or takes it back.
pub(crate) fn set_lent(is_lent: bool) {
    let mut owner = owner();
    let (Owner::Screen(screen) | Owner::Lent(screen)) = &*owner else { return };
    let screen = screen.clone();
    *owner = if is_lent { Owner::Lent(screen) } else { Owner::Screen(screen) };
}

/// Records that no screen is drawn any more.
pub(crate) fn close_screen() {
    *owner() = Owner::Program;
}

/// Returns columns and rows while there is a screen.
pub(crate) fn size() -> Option<(u16, u16)> {
    match &*owner() {
        Owner::Program => None,
        Owner::Screen(screen) | Owner::Lent(screen) => Some((screen.size)()),
    }
}

/// Returns where the streams of a program lead that inherits those of this one.
#[cfg(feature = "extensions")]
pub(crate) fn inherited() -> InheritedStreams {
    match &*owner() {
        Owner::Program => InheritedStreams::Stderr,
        Owner::Screen(_) => InheritedStreams::Nothing,
        Owner::Lent(_) => InheritedStreams::Terminal,
    }
}

/// Writes what an extension writes.
#[cfg(feature = "extensions")]
pub(crate) fn write(stream: OutputStream, bytes: &[u8]) {
    // An error of these writes has no reader.
    match &*owner() {
        Owner::Program => drop(std::io::stderr().write_all(bytes)),
        Owner::Lent(_) => {
            let mut stdout = std::io::stdout();
            let _ = stdout.write_all(bytes).and_then(|()| stdout.flush());
        }
        Owner::Screen(screen) if stream != OutputStream::Console => {
            let harmless = harmless_sequences(bytes);
            if !harmless.is_empty() {
                (screen.send)(harmless);
            }
        }
        Owner::Screen(_) => {}
    }
}

/// Operating system commands that change nothing on the screen: titles, directory, notifications,
/// clipboard, marks and files of terminals.
const HARMLESS: &[&[u8]] = &[b"0", b"1", b"2", b"7", b"9", b"52", b"99", b"777", b"1337"];

/// Returns the complete sequences of a text that do not disturb a screen.
fn harmless_sequences(bytes: &[u8]) -> Vec<u8> {
    const ESCAPE: u8 = 0x1b;
    const BELL: u8 = 7;
    let mut kept = Vec::new();
    let mut rest = bytes;
    while let Some((&first, after)) = rest.split_first() {
        if first == BELL {
            kept.push(BELL);
        }
        if first != ESCAPE || after.first() != Some(&b']') {
            rest = after;
            continue;
        }
        let end = (2..rest.len()).find_map(|at| match rest.get(at..)? {
            [BELL, ..] => Some(at + 1),
            [ESCAPE, b'\\', ..] => Some(at + 2),
            _ => None,
        });
        // A sequence without an end would swallow what the screen writes next.
        let Some(sequence) = end.and_then(|end| rest.get(..end)) else { break };
        let body = sequence.get(2..).unwrap_or_default();
        let number = body.split(|byte| !byte.is_ascii_digit()).next().unwrap_or_default();
        let is_plain = body.iter().rev().skip(2).all(|byte| *byte >= 0x20);
        if HARMLESS.contains(&number) && is_plain {
            kept.extend_from_slice(sequence);
        }
        rest = rest.get(sequence.len()..).unwrap_or_default();
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sequences_that_change_no_screen_are_kept() {
        let cases: &[(&str, &str)] = &[
            ("plain text\n", ""),
            ("\x07", "\x07"),
            ("\x1b]777;notify;Pi;Ready\x07", "\x1b]777;notify;Pi;Ready\x07"),
            ("a\x1b]99;i=1:d=0;Pi\x1b\\b", "\x1b]99;i=1:d=0;Pi\x1b\\"),
            ("\x1b]0;title\x07\x1b[2J\x1b]2;t\x07", "\x1b]0;title\x07\x1b]2;t\x07"),
            ("\x1b[31mred\x1b[0m", ""),
            ("\x1b]11;?\x07", ""),
            ("\x1b]0;never ends", ""),
            ("\x1b]0;a\x1b[2Jb\x07", ""),
        ];
        for (written, expected) in cases {
            let kept = harmless_sequences(written.as_bytes());
            assert_eq!(String::from_utf8_lossy(&kept), *expected, "{written:?}");
        }
    }
}
