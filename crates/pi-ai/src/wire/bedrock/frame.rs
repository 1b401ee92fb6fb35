//! Frames of Amazon's event stream (`application/vnd.amazon.eventstream`).
//!
//! A frame is: total length, length of the headers, CRC of both; headers; payload; CRC of all before.
//! Numbers are big-endian. Nothing is allocated by a length before that many bytes have arrived, and
//! lengths are limited.

use std::borrow::Cow;

/// The largest frame. The format allows payloads of 16 MiB and headers of 128 KiB; services use less.
const MAX_FRAME: usize = 24 << 20;

/// Lengths and their CRC.
const PRELUDE: usize = 12;

/// The prelude and the CRC of the frame.
const OVERHEAD: usize = PRELUDE + 4;

/// A complete frame whose checksums are right.
#[derive(Debug)]
pub(super) struct Frame<'a> {
    headers: &'a [u8],
    /// The payload, which is JSON.
    pub(super) payload: &'a [u8],
}

/// A damaged stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum FrameError {
    #[error("Bedrock sent an event of {0} bytes, which is not possible")]
    Length(usize),
    #[error("Bedrock sent an event whose checksum is wrong: the answer is damaged")]
    Checksum,
    #[error("Bedrock sent an event whose headers are damaged")]
    Headers,
}

/// Collects bytes until a frame is complete.
#[derive(Debug, Default)]
pub(super) struct Frames {
    buffer: Vec<u8>,
}

impl Frames {
    /// Adds bytes and calls `on_frame` for each frame that they complete.
    pub(super) fn push<E: From<FrameError>>(
        &mut self,
        bytes: &[u8],
        mut on_frame: impl FnMut(&Frame<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.buffer.extend_from_slice(bytes);
        let mut start = 0;
        while let Some((frame, length)) = next(self.buffer.get(start..).unwrap_or_default())? {
            start += length;
            on_frame(&frame)?;
        }
        self.buffer.drain(..start);
        Ok(())
    }

    /// Returns true if a frame has begun and is not complete.
    pub(super) fn is_inside_frame(&self) -> bool {
        !self.buffer.is_empty()
    }
}

/// Reads the frame at the beginning of `bytes` and its length; `None` if it is not complete.
fn next(bytes: &[u8]) -> Result<Option<(Frame<'_>, usize)>, FrameError> {
    let (Some(total), Some(header_length), Some(crc)) =
        (number(bytes, 0), number(bytes, 4), number(bytes, 8))
    else {
        return Ok(None);
    };
    let (length, header_length) = (total as usize, header_length as usize);
    // A wrong length would be waited for until the connection ends, so it is checked first.
    if crc32(bytes.get(..8).unwrap_or_default()) != crc {
        return Err(FrameError::Checksum);
    }
    if !(OVERHEAD..=MAX_FRAME).contains(&length) || header_length > length - OVERHEAD {
        return Err(FrameError::Length(length));
    }
    let Some(frame) = bytes.get(..length) else { return Ok(None) };
    let (content, crc) = frame.split_at(length - 4);
    if number(crc, 0) != Some(crc32(content)) {
        return Err(FrameError::Checksum);
    }
    let (headers, payload) = content.get(PRELUDE..).unwrap_or_default().split_at(header_length);
    Ok(Some((Frame { headers, payload }, length)))
}

impl Frame<'_> {
    /// Returns a header that is a string.
    pub(super) fn header(&self, name: &str) -> Result<Option<Cow<'_, str>>, FrameError> {
        let mut rest = self.headers;
        while !rest.is_empty() {
            let key_length = usize::from(*rest.first().ok_or(FrameError::Headers)?);
            let key = rest.get(1..=key_length).ok_or(FrameError::Headers)?;
            rest = rest.get(1 + key_length..).ok_or(FrameError::Headers)?;
            let (kind, tail) = rest.split_first().ok_or(FrameError::Headers)?;
            let prefix = if matches!(*kind, BYTES | STRING) { 2 } else { 0 };
            let size = match *kind {
                TRUE | FALSE => 0,
                BYTE => 1,
                SHORT => 2,
                INTEGER => 4,
                LONG | TIMESTAMP => 8,
                UUID => 16,
                BYTES | STRING => match tail {
                    [high, low, ..] => usize::from(u16::from_be_bytes([*high, *low])),
                    _ => return Err(FrameError::Headers),
                },
                _ => return Err(FrameError::Headers),
            };
            let value = tail.get(prefix..prefix + size).ok_or(FrameError::Headers)?;
            if *kind == STRING && key == name.as_bytes() {
                return Ok(Some(String::from_utf8_lossy(value)));
            }
            rest = tail.get(prefix + size..).unwrap_or_default();
        }
        Ok(None)
    }
}

// The types of header values.
const TRUE: u8 = 0;
const FALSE: u8 = 1;
const BYTE: u8 = 2;
const SHORT: u8 = 3;
const INTEGER: u8 = 4;
const LONG: u8 = 5;
const BYTES: u8 = 6;
const STRING: u8 = 7;
const TIMESTAMP: u8 = 8;
const UUID: u8 = 9;

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 4)?;
    Some(u32::from_be_bytes(bytes.try_into().ok()?))
}

/// The remainders of all bytes for the reflected polynomial of CRC-32.
const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| TABLE[((crc ^ u32::from(*byte)) & 0xff) as usize] ^ (crc >> 8);
    !bytes.iter().fold(!0, step)
}

/// Encodes a frame, for tests.
#[cfg(test)]
pub(super) fn encoded(headers: &[(&str, &str)], payload: &[u8]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in headers {
        block.push(name.len() as u8);
        block.extend_from_slice(name.as_bytes());
        block.push(STRING);
        block.extend_from_slice(&(value.len() as u16).to_be_bytes());
        block.extend_from_slice(value.as_bytes());
    }
    sealed(&block, payload)
}

#[cfg(test)]
fn sealed(headers: &[u8], payload: &[u8]) -> Vec<u8> {
    let total = (OVERHEAD + headers.len() + payload.len()) as u32;
    let mut frame = total.to_be_bytes().to_vec();
    frame.extend_from_slice(&(headers.len() as u32).to_be_bytes());
    frame.extend_from_slice(&crc32(&frame).to_be_bytes());
    frame.extend_from_slice(headers);
    frame.extend_from_slice(payload);
    frame.extend_from_slice(&crc32(&frame).to_be_bytes());
    frame
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns `:event-type` and payload of each frame.
    fn read(pieces: &[&[u8]]) -> Result<Vec<(String, Vec<u8>)>, FrameError> {
        let mut frames = Frames::default();
        let mut seen = Vec::new();
        for piece in pieces {
            frames.push(piece, |frame| {
                let name = frame.header(":event-type")?.unwrap_or_default().into_owned();
                seen.push((name, frame.payload.to_vec()));
                Ok::<_, FrameError>(())
            })?;
        }
        Ok(seen)
    }

    /// The published check value of the polynomial.
    #[test]
    fn checksums_are_crc32() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b""), 0);
    }

    #[test]
    fn headers_of_all_types_are_skipped() {
        let mut headers = Vec::new();
        let values: [(u8, &[u8]); 10] = [
            (TRUE, b""),
            (FALSE, b""),
            (BYTE, b"1"),
            (SHORT, b"12"),
            (INTEGER, b"1234"),
            (LONG, b"12345678"),
            (BYTES, b"\0\x03abc"),
            (STRING, b"\0\0"),
            (TIMESTAMP, b"12345678"),
            (UUID, b"1234567812345678"),
        ];
        for (kind, value) in values {
            headers.extend_from_slice(&[1, b'a' + kind, kind]);
            headers.extend_from_slice(value);
        }
        headers.extend_from_slice(b"\x0b:event-type\x07\0\x04last");
        assert_eq!(read(&[&sealed(&headers, b"{}")]), Ok(vec![("last".into(), b"{}".to_vec())]));
    }

    #[test]
    fn hostile_frames_are_refused() {
        let good = encoded(&[(":event-type", "x")], b"{}");
        let with_lengths = |total: u32, headers: u32| {
            let mut frame = [total.to_be_bytes(), headers.to_be_bytes()].concat();
            frame.extend_from_slice(&crc32(&frame).to_be_bytes());
            frame
        };
        let mut damaged = good;
        *damaged.last_mut().unwrap() ^= 1;
        let cases = [
            (with_lengths(u32::MAX, 0), FrameError::Length(u32::MAX as usize)),
            (with_lengths(15, 0), FrameError::Length(15)),
            (with_lengths(0, 0), FrameError::Length(0)),
            (with_lengths(16, 1), FrameError::Length(16)),
            (with_lengths(100, u32::MAX), FrameError::Length(100)),
            (b"HTTP/1.1 200".to_vec(), FrameError::Checksum),
            (damaged, FrameError::Checksum),
            (sealed(b"\xff", b""), FrameError::Headers),
            (sealed(b"\x01a", b""), FrameError::Headers),
            (sealed(b"\x01a\x63", b""), FrameError::Headers),
            (sealed(b"\x01a\x07\0", b""), FrameError::Headers),
            (sealed(b"\x01a\x07\xff\xff", b""), FrameError::Headers),
            (sealed(b"\x01a\x05123", b""), FrameError::Headers),
        ];
        for (bytes, expected) in cases {
            assert_eq!(read(&[&bytes]), Err(expected), "{bytes:?}");
        }
    }

    #[test]
    fn an_incomplete_frame_is_waited_for() {
        let frame = encoded(&[(":event-type", "x")], b"{}");
        let mut frames = Frames::default();
        for end in 1..frame.len() {
            let cut = &frame[end - 1..end];
            frames.push(cut, |_| Err(FrameError::Headers)).unwrap();
            assert!(frames.is_inside_frame());
        }
        let mut seen = 0;
        let last = &frame[frame.len() - 1..];
        let counted = frames.push(last, |_| {
            seen += 1;
            Ok::<_, FrameError>(())
        });
        counted.unwrap();
        assert_eq!((seen, frames.is_inside_frame()), (1, false));
    }

    proptest! {
        /// Any bytes, cut anywhere, end in frames or an error, the same ones for all cuts.
        #[test]
        fn arbitrary_bytes_do_not_panic(bytes: Vec<u8>, cut: prop::sample::Index) {
            let at = if bytes.is_empty() { 0 } else { cut.index(bytes.len()) };
            prop_assert_eq!(read(&[&bytes]), read(&[&bytes[..at], &bytes[at..]]));
        }

        #[test]
        fn frames_are_read_as_written(
            payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..8),
            step in 1_usize..64,
        ) {
            let bytes: Vec<u8> =
                payloads.iter().flat_map(|p| encoded(&[("k", "v"), (":event-type", "e")], p)).collect();
            let pieces: Vec<&[u8]> = bytes.chunks(step).collect();
            let expected: Vec<_> = payloads.into_iter().map(|p| ("e".to_owned(), p)).collect();
            prop_assert_eq!(read(&pieces), Ok(expected));
        }

        /// A damaged byte is never read as another event.
        #[test]
        fn damage_is_noticed(payload: Vec<u8>, at: prop::sample::Index, bit in 0_u8..8) {
            let mut bytes = encoded(&[(":event-type", "e")], &payload);
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            prop_assert_eq!(read(&[&bytes]), Err(FrameError::Checksum));
        }
    }
}
