//! Reading a key from the terminal without showing it.

use std::io::{self, BufRead, Write as _};

/// Shows a question and reads one line that the terminal does not show. `None` if the user
/// interrupts or ends the input.
#[cfg(unix)]
pub(crate) fn read_line(question: &str) -> io::Result<Option<String>> {
    use rustix::termios::LocalModes;

    // Without signals, an interrupt is a character, so the terminal is always restored.
    let _restore = unix::without(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG)?;
    let mut stderr = io::stderr();
    write!(stderr, "{question}")?;
    stderr.flush()?;
    let line = edit(io::stdin().lock());
    writeln!(stderr)?;
    line
}

/// Stops the terminal from showing input until the result is dropped.
#[cfg(unix)]
pub(crate) fn without_echo() -> Option<impl Drop> {
    unix::without(rustix::termios::LocalModes::ECHO).ok()
}

#[cfg(unix)]
mod unix {
    use std::io;

    use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

    /// Restores the terminal when dropped.
    pub(super) struct Restore(Termios);

    impl Drop for Restore {
        fn drop(&mut self) {
            // A terminal that is gone needs no restoring.
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
        }
    }

    /// Turns modes of the terminal off.
    pub(super) fn without(modes: LocalModes) -> io::Result<Restore> {
        let before = tcgetattr(io::stdin())?;
        let mut changed = before.clone();
        changed.local_modes &= !modes;
        let restore = Restore(before);
        tcsetattr(io::stdin(), OptionalActions::Flush, &changed)?;
        Ok(restore)
    }
}

/// Terminals of other systems cannot be changed here.
#[cfg(not(unix))]
pub(crate) fn without_echo() {}

/// Terminals of other systems cannot be changed here.
#[cfg(not(unix))]
pub(crate) fn read_line(_question: &str) -> io::Result<Option<String>> {
    Err(io::Error::other("the input cannot be hidden; pipe the key in"))
}

/// Reads characters up to the end of a line; backspace and Ctrl-U remove some.
fn edit(input: impl BufRead) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    for byte in input.bytes() {
        match byte? {
            b'\r' | b'\n' => break,
            // Ctrl-C and, on an empty line, Ctrl-D.
            0x03 => return Ok(None),
            0x04 if line.is_empty() => return Ok(None),
            0x08 | 0x7f => drop(line.pop()),
            0x15 => line.clear(),
            byte => line.push(byte),
        }
    }
    String::from_utf8(line).map(Some).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_can_be_corrected_and_given_up() {
        let read = |text: &str| edit(text.as_bytes()).unwrap();
        assert_eq!(read("sk-1\rrest").as_deref(), Some("sk-1"));
        assert_eq!(read("x\x15sk-2\x7f3\n").as_deref(), Some("sk-3"));
        assert_eq!(read("sk\x03"), None);
        assert_eq!(read("\x04"), None);
    }
}
