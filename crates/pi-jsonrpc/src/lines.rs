//! Bytes to lines of bounded length, without I/O.

/// Cuts a stream of bytes into lines. A line that is too long is skipped, not kept.
#[derive(Debug)]
pub struct Lines {
    limit: usize,
    kept: Vec<u8>,
    /// Length of the line so far, if it is over the limit.
    too_long: Option<u64>,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// A line without its end.
    Text(Vec<u8>),
    /// A line over the limit, with its length in bytes.
    TooLong(u64),
}

impl Lines {
    /// Cuts into lines of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { limit, kept: Vec::new(), too_long: None }
    }

    /// Adds bytes and returns the lines that they complete. Empty lines are left out.
    pub fn push(&mut self, mut bytes: &[u8]) -> Vec<Line> {
        let mut lines = Vec::new();
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.keep(&bytes[..end]);
            bytes = &bytes[end + 1..];
            lines.extend(self.finish());
        }
        self.keep(bytes);
        lines
    }

    /// Ends the stream and returns the last line, if it has no end.
    pub fn finish(&mut self) -> Option<Line> {
        let mut line = std::mem::take(&mut self.kept);
        if let Some(length) = self.too_long.take() {
            return Some(Line::TooLong(length));
        }
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        (!line.iter().all(u8::is_ascii_whitespace)).then_some(Line::Text(line))
    }

    fn keep(&mut self, bytes: &[u8]) {
        if let Some(length) = &mut self.too_long {
            *length += bytes.len() as u64;
        } else if self.kept.len() + bytes.len() > self.limit {
            self.too_long = Some((self.kept.len() + bytes.len()) as u64);
            self.kept = Vec::new();
        } else {
            self.kept.extend_from_slice(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Line {
        Line::Text(text.as_bytes().to_vec())
    }

    #[test]
    fn lines_do_not_depend_on_the_cuts() {
        let input = b"one\r\n\n  \ntwo\nmuch too long a line\nlast";
        let expected = [text("one"), text("two"), Line::TooLong(20), text("last")];
        for size in 1..=input.len() {
            let mut lines = Lines::new(8);
            let mut found: Vec<_> =
                input.chunks(size).flat_map(|chunk| lines.push(chunk)).collect();
            found.extend(lines.finish());
            assert_eq!(found, expected, "cut every {size} bytes");
        }
    }
}
