//! Removal of invisible characters from untrusted text that is written to a terminal; dates and
//! sizes as text.

use std::io::{self, Write};

use pi_base::text::Cleaner;

/// Formats a time in the time zone of the user: that of `TZ`, else of the system, else UTC.
pub(crate) fn date(milliseconds: i64) -> String {
    let Ok(time) = jiff::Timestamp::from_millisecond(milliseconds) else {
        return "unknown".to_owned();
    };
    time.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string()
}

/// Formats the time at which a credential expires, in milliseconds since 1970.
pub(crate) fn expiry(milliseconds: f64) -> String {
    // Fractions do not matter, and times out of range are shown as unknown.
    #[allow(clippy::cast_possible_truncation)]
    date(milliseconds as i64)
}

/// Formats a size in bytes, in decimal units.
pub(crate) fn size(bytes: u64) -> String {
    let scaled = |unit: f64| bytes as f64 / unit;
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{:.1} kB", scaled(1e3)),
        1_000_000..1_000_000_000 => format!("{:.1} MB", scaled(1e6)),
        _ => format!("{:.1} GB", scaled(1e9)),
    }
}

/// A writer that removes invisible characters other than tabs and line feeds.
pub(crate) struct PlainWriter<W> {
    inner: W,
    cleaner: Cleaner,
    /// The first bytes of a character.
    pending: Vec<u8>,
}

impl<W: Write> PlainWriter<W> {
    pub(crate) fn new(inner: W) -> Self {
        Self { inner, cleaner: Cleaner::default(), pending: Vec::new() }
    }
}

impl<W: Write> Write for PlainWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.pending.extend_from_slice(bytes);
        let mut text = String::with_capacity(self.pending.len());
        let mut incomplete = Vec::new();
        let mut chunks = self.pending.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            self.cleaner.push(chunk.valid(), &mut text);
            if chunks.peek().is_none() && std::str::from_utf8(chunk.invalid()).is_err_and(is_cut) {
                incomplete = chunk.invalid().to_vec();
            } else if !chunk.invalid().is_empty() {
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
        self.pending = incomplete;
        self.inner.write_all(text.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Returns true if more bytes may complete the character.
fn is_cut(error: std::str::Utf8Error) -> bool {
    error.error_len().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_characters_are_removed() {
        let cases = [
            ("a\u{1b}[31mb\u{7}\tc\nd\r", "a[31mb\tc\nd"),
            ("é\u{9b}31m£ü\u{7f}", "é31m£ü"),
            ("日本 ½", "日本 ½"),
            ("a\u{e0041}b\u{202e}c 👩\u{200d}👧", "abc 👩\u{200d}👧"),
        ];
        for (text, expected) in cases {
            for size in 1..text.len() {
                let mut out = Vec::new();
                let mut plain = PlainWriter::new(&mut out);
                text.as_bytes().chunks(size).for_each(|chunk| plain.write_all(chunk).unwrap());
                assert_eq!(String::from_utf8(out).unwrap(), expected, "in chunks of {size}");
            }
        }
    }
}
