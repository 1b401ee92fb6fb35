//! Bytes to lines of bounded length, without I/O.

/// Cuts a stream of bytes into lines. A line that is too long is skipped, not kept.
#[derive(Debug)]
pub struct Lines {
    limit: usize,
    kept: Vec<u8>,
    /// Facts about the line, if it is over the limit.
    too_long: Option<TooLong>,
}

/// Bytes that are kept of each end of a line over the limit.
const KEPT: usize = 64;

/// A line over the limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TooLong {
    /// Length of the line in bytes.
    pub length: u64,
    /// The first bytes.
    pub head: Vec<u8>,
    /// The last bytes.
    pub tail: Vec<u8>,
}

/// A line of the input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// A line without its end.
    Text(Vec<u8>),
    /// A line over the limit.
    TooLong(TooLong),
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
        if let Some(too_long) = self.too_long.take() {
            return Some(Line::TooLong(too_long));
        }
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        (!line.iter().all(u8::is_ascii_whitespace)).then_some(Line::Text(line))
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.too_long.is_none() && self.kept.len() + bytes.len() <= self.limit {
            self.kept.extend_from_slice(bytes);
            return;
        }
        let kept = &mut self.kept;
        let line = self.too_long.get_or_insert_with(|| TooLong::new(std::mem::take(kept)));
        line.extend(bytes);
    }
}

impl TooLong {
    /// Returns the ends of a whole line.
    pub(crate) fn of(line: &[u8]) -> Self {
        let head = line.get(..KEPT).unwrap_or(line).to_vec();
        Self { length: line.len() as u64, head, tail: last(line).to_vec() }
    }

    fn new(mut kept: Vec<u8>) -> Self {
        let tail = last(&kept).to_vec();
        let length = kept.len() as u64;
        kept.truncate(KEPT);
        kept.shrink_to_fit();
        Self { length, head: kept, tail }
    }

    fn extend(&mut self, bytes: &[u8]) {
        self.length += bytes.len() as u64;
        let missing = KEPT.saturating_sub(self.head.len()).min(bytes.len());
        self.head.extend_from_slice(&bytes[..missing]);
        self.tail.extend_from_slice(last(bytes));
        self.tail = last(&self.tail).to_vec();
    }
}

fn last(bytes: &[u8]) -> &[u8] {
    &bytes[bytes.len().saturating_sub(KEPT)..]
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
        let long = b"much too long a line".to_vec();
        let long = TooLong { length: 20, head: long.clone(), tail: long };
        let expected = [text("one"), text("two"), Line::TooLong(long), text("last")];
        for size in 1..=input.len() {
            let mut lines = Lines::new(8);
            let mut found: Vec<_> =
                input.chunks(size).flat_map(|chunk| lines.push(chunk)).collect();
            found.extend(lines.finish());
            assert_eq!(found, expected, "cut every {size} bytes");
        }
    }
}
