//! Converting JSON with comments and trailing commas to JSON.
//!
//! Everything that is not JSON becomes blanks of the same length, so that the line and column of a
//! later error are those of the file.

use pi_base::text::without_mark;

/// Removes `//` and `/* */` comments, trailing commas and the byte order mark.
pub(crate) fn plain(text: &str) -> String {
    let mut bytes = without_mark(text).as_bytes().to_vec();
    let mut at = 0;
    // Position of the last comma, as long as only blanks and comments follow it.
    let mut comma = None;
    while at < bytes.len() {
        let end = match (bytes[at], bytes.get(at + 1)) {
            (b'"', _) => string_end(&bytes, at),
            (b'/', Some(b'/')) => blank(&mut bytes, at, |rest| rest.starts_with(b"\n"), 0),
            (b'/', Some(b'*')) => blank(&mut bytes, at, |rest| rest.starts_with(b"*/"), 2),
            _ => at + 1,
        };
        match bytes[at] {
            b',' => comma = Some(at),
            b']' | b'}' => {
                if let Some(comma) = comma.take() {
                    bytes[comma] = b' ';
                }
            }
            b' ' | b'\t' | b'\r' | b'\n' => {}
            _ => comma = None,
        }
        at = end;
    }
    // Only whole comments and single commas were replaced, so this is still UTF-8.
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the position after the string that begins at `start`.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Replaces the bytes from `start` to the first match of `ends` and `length` more by blanks, except
/// for line breaks. Returns the position after them.
fn blank(bytes: &mut [u8], start: usize, ends: impl Fn(&[u8]) -> bool, length: usize) -> usize {
    // The opening mark is not an end: `/*/` is still open.
    let from = start + 2;
    let end = (from..bytes.len()).find(|at| ends(&bytes[*at..]));
    let end = end.map_or(bytes.len(), |end| end + length);
    for byte in &mut bytes[start..end] {
        if *byte != b'\n' {
            *byte = b' ';
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_trailing_commas_become_blanks() {
        for (text, expected) in [
            ("{}", "{}"),
            ("\u{feff}{}", "{}"),
            ("{// x\n}", "{    \n}"),
            ("{/* x */}", "{       }"),
            ("{/* x\ny */}", "{    \n    }"),
            ("{/*/}*/}", "{      }"),
            ("[1, 2, ]", "[1, 2  ]"),
            ("[1, // last\n]", "[1         \n]"),
            ("[1, /* a */ /* b */]", "[1                 ]"),
            (r#"["// no", "/* no */", ",]"]"#, r#"["// no", "/* no */", ",]"]"#),
            (r#"["a\"//b"]"#, r#"["a\"//b"]"#),
            ("[\"ä\", // ö\n]", "[\"ä\"       \n]"),
            ("[1,,]", "[1, ]"),
            // Broken text stays broken; the parser reports it.
            ("\"open", "\"open"),
            ("\"open\\", "\"open\\"),
            ("/", "/"),
            ("/* open", "       "),
        ] {
            assert_eq!(plain(text), expected, "{text:?}");
        }
    }
}
