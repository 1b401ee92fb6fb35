//! Incremental decoding of UTF-8 from chunks that may split characters.
//!
//! Invalid bytes become replacement characters, as in `String::from_utf8_lossy` of the whole. Valid
//! text, which is nearly all text, is passed on without a copy.

/// A decoder with the bytes of an incomplete character.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    pending: Vec<u8>,
}

impl Decoder {
    /// Passes the text of a chunk to `take`, in one or more parts.
    pub(crate) fn push(&mut self, mut bytes: &[u8], mut take: impl FnMut(&str)) {
        while let (false, Some((next, rest))) = (self.pending.is_empty(), bytes.split_first()) {
            self.pending.push(*next);
            match std::str::from_utf8(&self.pending) {
                Err(error) if error.error_len().is_none() => {
                    bytes = rest;
                    continue;
                }
                Ok(character) => {
                    take(character);
                    bytes = rest;
                }
                // The pending bytes are invalid; the next byte may start another character.
                Err(_) => take("\u{fffd}"),
            }
            self.pending.clear();
        }
        let (whole, cut) = bytes.split_at(bytes.len() - incomplete_end(bytes));
        self.pending.extend_from_slice(cut);
        match simdutf8::basic::from_utf8(whole) {
            Ok("") => {}
            Ok(text) => take(text),
            Err(_) => take(&String::from_utf8_lossy(whole)),
        }
    }

    /// Ends the text: an incomplete character is invalid.
    pub(crate) fn finish(&mut self) -> &'static str {
        let is_cut = !std::mem::take(&mut self.pending).is_empty();
        if is_cut { "\u{fffd}" } else { "" }
    }
}

/// Returns the number of bytes at the end that may be an incomplete character.
fn incomplete_end(bytes: &[u8]) -> usize {
    let end = &bytes[bytes.len().saturating_sub(3)..];
    let begins = |length: &usize| {
        let candidate = &end[end.len() - length..];
        let is_cut =
            |error: std::str::Utf8Error| error.valid_up_to() == 0 && error.error_len().is_none();
        std::str::from_utf8(candidate).is_err_and(is_cut)
    };
    (1..=end.len()).find(begins).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> String {
        let (mut decoder, mut text) = (Decoder::default(), String::new());
        for piece in pieces {
            decoder.push(piece, |part| text.push_str(part));
        }
        text + decoder.finish()
    }

    #[test]
    fn chunk_boundaries_do_not_matter() {
        let inputs: [&[u8]; 8] = [
            b"",
            "a\u{e4}\u{20ac}\u{1f600}\n".as_bytes(),
            b"\xf0\x9fX\xc3\xc3Y\n\xff",
            b"\xf0\x9f\x98",
            b"\xf0\x9f\x98\xf0\x9f\x98\x80\xe2\x82\xe2\x82\xac",
            b"\xed\xa0\x80 \xc0\x80 \xf4\x90\x80\x80 \xe0\x80\x80",
            b"\x80\x80\x80\xe2\x82",
            b"\xef\xbb\xbfabc\n\xef\xbb\xbfdef",
        ];
        for input in inputs {
            let expected = String::from_utf8_lossy(input);
            for size in 1..=input.len() + 1 {
                assert_eq!(decoded(input.chunks(size)), expected, "{input:?} by {size}");
            }
        }
    }
}
