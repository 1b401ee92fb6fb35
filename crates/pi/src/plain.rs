//! Removal of control characters from untrusted text that is written to a terminal.

use std::io::{self, Write};

pub(crate) use pi_host::text::id;
pub(crate) use pi_host::text::line;

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

/// A writer that removes control characters other than tabs and line feeds.
pub(crate) struct PlainWriter<W> {
    inner: W,
    /// The last byte was the first byte of a possible control character.
    pending: bool,
}

/// The first UTF-8 byte of the control characters beyond ASCII.
const LEAD: u8 = 0xC2;

impl<W: Write> PlainWriter<W> {
    pub(crate) fn new(inner: W) -> Self {
        Self { inner, pending: false }
    }
}

impl<W: Write> Write for PlainWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut kept = Vec::with_capacity(bytes.len() + 1);
        for &byte in bytes {
            if std::mem::take(&mut self.pending) {
                if (0x80..0xA0).contains(&byte) {
                    continue;
                }
                kept.push(LEAD);
            }
            match byte {
                LEAD => self.pending = true,
                b'\n' | b'\t' => kept.push(byte),
                0..0x20 | 0x7F => {}
                _ => kept.push(byte),
            }
        }
        self.inner.write_all(&kept)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_removed() {
        let cases = [
            ("a\u{1b}[31mb\u{7}\tc\nd\r", "a[31mb\tc\nd"),
            ("é\u{9b}31m£ü\u{7f}", "é31m£ü"),
            ("日本 ½", "日本 ½"),
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
