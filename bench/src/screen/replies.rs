//! The replies of a terminal to a program's queries. Pure: bytes in, bytes out.

/// Finds queries in what a program writes, however it is cut into pieces.
#[derive(Debug, Default)]
pub(super) struct Queries {
    /// The begun escape sequence, empty in plain text.
    begun: Vec<u8>,
}

/// Sequences that are longer carry no query.
const LONGEST: usize = 4096;

impl Queries {
    /// Returns the replies to the queries that end in these bytes.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut replies = Vec::new();
        for byte in bytes {
            if self.begun.is_empty() && *byte != 0x1b {
                continue;
            }
            // An escape begins another sequence, unless it ends a string.
            if *byte == 0x1b && !self.is_string() {
                self.begun.clear();
            }
            self.begun.push(*byte);
            if self.is_complete() {
                if let Some(reply) = reply(&self.begun) {
                    replies.extend_from_slice(reply.as_bytes());
                }
                self.begun.clear();
            } else if self.begun.len() > LONGEST {
                self.begun.clear();
            }
        }
        replies
    }

    fn is_string(&self) -> bool {
        matches!(self.begun.get(1), Some(b']' | b'P' | b'_' | b'^'))
    }

    fn is_complete(&self) -> bool {
        match self.begun.as_slice() {
            [] | [_] | [_, b'['] => false,
            [_, b'[', .., last] => (0x40..=0x7e).contains(last),
            [_, b']' | b'P' | b'_' | b'^', .., 7] => true,
            [_, b']' | b'P' | b'_' | b'^', .., 0x1b, b'\\'] => true,
            [_, b']' | b'P' | b'_' | b'^', ..] => false,
            [_, last] => !(0x20..0x30).contains(last),
            [_, .., _] => true,
        }
    }
}

/// Returns the reply of a modern terminal with a dark background.
fn reply(sequence: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(sequence).ok()?;
    match text {
        "\x1b[c" | "\x1b[0c" => return Some("\x1b[?62;22c".to_owned()),
        "\x1b[?u" => return Some("\x1b[?7u".to_owned()),
        "\x1b[6n" => return Some("\x1b[1;1R".to_owned()),
        "\x1b[14t" => return Some("\x1b[4;720;1080t".to_owned()),
        "\x1b[16t" => return Some("\x1b[6;18;9t".to_owned()),
        "\x1b[?996n" => return Some("\x1b[?997;1n".to_owned()),
        "\x1b[>q" | "\x1b[>0q" => return Some("\x1bP>|bench(1)\x1b\\".to_owned()),
        _ => {}
    }
    if let Some(mode) = text.strip_prefix("\x1b[?").and_then(|rest| rest.strip_suffix("$p")) {
        return Some(format!("\x1b[?{mode};2$y"));
    }
    let body = text.strip_prefix("\x1b]")?;
    let body = body.strip_suffix('\x07').or_else(|| body.strip_suffix("\x1b\\"))?;
    let what = body.strip_suffix(";?")?;
    let color = match what {
        "10" => "d0d0/d0d0/d0d0".to_owned(),
        "11" => "1818/1818/1818".to_owned(),
        _ => {
            let index: u16 = what.strip_prefix("4;")?.parse().ok()?;
            let level = |bit: u16| if index & bit == 0 { "4040" } else { "c0c0" };
            format!("{}/{}/{}", level(1), level(2), level(4))
        }
    };
    Some(format!("\x1b]{what};rgb:{color}\x1b\\"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_answered_however_they_are_cut() {
        let written = b"text\x1b[?2004h\x1b[>7u\x1b[?u\x1b]7501;?\x1b\\\x1b[c\x1b]0;title\x07\x1b]11;?\x07\x1b]4;9;?\x1b\\\x1b[?2026$p\x1b[38;5;1mred\x1b7";
        let expected = "\x1b[?7u\x1b[?62;22c\x1b]11;rgb:1818/1818/1818\x1b\\\x1b]4;9;rgb:c0c0/4040/4040\x1b\\\x1b[?2026;2$y";
        for size in [1, 2, 3, 7, written.len()] {
            let mut queries = Queries::default();
            let replies: Vec<u8> =
                written.chunks(size).flat_map(|piece| queries.read(piece)).collect();
            assert_eq!(String::from_utf8_lossy(&replies), expected, "{size}");
        }
    }
}
