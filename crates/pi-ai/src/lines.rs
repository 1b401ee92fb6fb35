//! Splits a byte stream into lines: LF, CRLF or CR, cut anywhere.

/// The state between two pieces of a stream.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    /// Bytes of a line whose end has not come yet.
    partial: Vec<u8>,
    /// The last byte was CR: an LF that follows belongs to it.
    after_cr: bool,
}

impl Lines {
    /// Reads on and calls `on_line` for every line that became complete, without its ending.
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

    /// The stream ended: calls `on_line` for a last line without an ending.
    pub(crate) fn finish<E>(
        &mut self,
        on_line: impl FnOnce(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let line = std::mem::take(&mut self.partial);
        if line.is_empty() { Ok(()) } else { on_line(&line) }
    }

    /// Bytes held back until their line ends.
    pub(crate) fn pending(&self) -> usize {
        self.partial.len()
    }
}
