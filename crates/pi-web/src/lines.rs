//! Splits a byte stream into lines that end in LF, CRLF or CR.

/// The state between two chunks of a stream.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    /// Bytes of a line without its end.
    partial: Vec<u8>,
    /// True if the last byte was CR, so that a following LF belongs to it.
    after_cr: bool,
}

impl Lines {
    /// Reads the next bytes and calls `on_line` for every complete line, without its ending.
    pub(crate) fn push<E>(
        &mut self,
        bytes: &[u8],
        mut on_line: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut rest = bytes;
        if self.after_cr && !rest.is_empty() {
            self.after_cr = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(end) = memchr::memchr2(b'\n', b'\r', rest) {
            let (head, tail) = rest.split_at(end);
            rest = match tail {
                [b'\r', b'\n', after @ ..] => after,
                [b'\r'] => {
                    self.after_cr = true;
                    &[]
                }
                [_, after @ ..] => after,
                [] => &[],
            };
            if self.partial.is_empty() {
                on_line(head)?;
            } else {
                self.partial.extend_from_slice(head);
                let result = on_line(&self.partial);
                self.partial.clear();
                result?;
            }
        }
        self.partial.extend_from_slice(rest);
        Ok(())
    }

    /// Ends the stream: calls `on_line` for a last line without an ending.
    pub(crate) fn finish<E>(
        &mut self,
        on_line: impl FnOnce(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let line = std::mem::take(&mut self.partial);
        if line.is_empty() { Ok(()) } else { on_line(&line) }
    }

    /// Returns the number of bytes of the incomplete line.
    pub(crate) fn pending(&self) -> usize {
        self.partial.len()
    }
}
