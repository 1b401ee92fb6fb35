//! Parser of server-sent events, without I/O.
//!
//! Accepts LF, CRLF or CR, a byte-order mark, comment lines, several `data` lines per event, and
//! any cuts of the bytes, also inside a character or a line ending. Invalid UTF-8 becomes U+FFFD,
//! so that one bad byte does not fail the answer.

use std::borrow::Cow;

use crate::lines::Lines;

/// Largest size of an event. No provider sends longer ones, so they are an attack or a mistake.
pub const MAX_EVENT_BYTES: usize = 64 * 1024 * 1024;

/// A server-sent event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SseEvent<'a> {
    /// Value of the `event:` field.
    pub name: Option<&'a str>,
    /// The `data:` lines, joined by newlines.
    pub data: &'a str,
}

/// An event is larger than [`MAX_EVENT_BYTES`].
#[derive(Debug, thiserror::Error)]
#[error("the server sent an event of more than {} MiB without an end", MAX_EVENT_BYTES >> 20)]
pub struct EventTooLong;

/// Splits a byte stream into events.
#[derive(Debug, Default)]
pub struct SseParser {
    lines: Lines,
    fields: Fields,
}

/// The fields of the current event.
#[derive(Debug, Default)]
struct Fields {
    name: Option<String>,
    data: String,
    has_data: bool,
    /// True if a line has been read, so that no byte-order mark can follow.
    past_start: bool,
    /// Id of the current event, if it has one: an empty id forgets the last one.
    id: Option<String>,
    /// Id of the last whole event.
    last_id: Option<String>,
    retry_ms: Option<u64>,
}

/// Longest id of an event that is kept: it is sent back in a header.
const MAX_ID_BYTES: usize = 1024;

impl SseParser {
    /// Creates a parser at the start of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Prepares for another stream, which resumes this one after its last whole event: forgets an
    /// event that was cut off, and keeps the last id and the pause.
    pub fn restart(&mut self) {
        let Fields { last_id, retry_ms, .. } = std::mem::take(&mut self.fields);
        *self =
            Self { fields: Fields { last_id, retry_ms, ..Fields::default() }, ..Self::default() };
    }

    /// Returns the `id:` of the last whole event, which resumes the stream.
    pub fn last_event_id(&self) -> Option<&str> {
        self.fields.last_id.as_deref()
    }

    /// Returns the last `retry:` of the stream: the pause before it is resumed, in milliseconds.
    pub fn retry_ms(&self) -> Option<u64> {
        self.fields.retry_ms
    }

    /// Parses the next bytes and calls `on_event` for every event that became complete.
    pub fn push<E: From<EventTooLong>>(
        &mut self,
        bytes: &[u8],
        mut on_event: impl FnMut(SseEvent<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let Self { lines, fields } = self;
        lines.push(bytes, |line| fields.end_line(line, &mut on_event))?;
        if self.lines.pending() + self.fields.data.len() > MAX_EVENT_BYTES {
            return Err(EventTooLong.into());
        }
        Ok(())
    }

    /// Ends the stream. Calls `on_event` for a last event without its blank line; the caller decides
    /// whether its data is complete.
    pub fn finish<E: From<EventTooLong>>(
        &mut self,
        mut on_event: impl FnMut(SseEvent<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let Self { lines, fields } = self;
        lines.finish(|line| fields.end_line(line, &mut on_event))?;
        fields.end_line(b"", &mut on_event)
    }
}

impl Fields {
    fn end_line<E>(
        &mut self,
        line: &[u8],
        on_event: &mut impl FnMut(SseEvent<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let line = if self.past_start {
            line
        } else {
            self.past_start = true;
            line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line)
        };
        if line.is_empty() {
            return self.dispatch(on_event);
        }
        let (field, value) = match memchr::memchr(b':', line) {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &line[line.len()..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if self.has_data {
                    self.data.push('\n');
                }
                self.has_data = true;
                self.data.push_str(&lossy(value));
            }
            b"event" => self.name = Some(lossy(value).into_owned()),
            b"id" if value.len() <= MAX_ID_BYTES && !value.iter().any(u8::is_ascii_control) => {
                self.id = Some(lossy(value).into_owned());
            }
            b"retry" => {
                self.retry_ms = lossy(value).parse().ok().or(self.retry_ms);
            }
            // Comments and unknown fields.
            _ => {}
        }
        Ok(())
    }

    fn dispatch<E>(
        &mut self,
        on_event: &mut impl FnMut(SseEvent<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let name = self.name.take();
        if let Some(id) = self.id.take() {
            self.last_id = Some(id).filter(|id| !id.is_empty());
        }
        if !self.has_data {
            return Ok(());
        }
        self.has_data = false;
        let result = on_event(SseEvent { name: name.as_deref(), data: &self.data });
        self.data.clear();
        result
    }
}

fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn events(pieces: &[&[u8]]) -> Vec<(Option<String>, String)> {
        let mut parser = SseParser::new();
        let mut seen = Vec::new();
        let mut record = |event: SseEvent<'_>| -> Result<(), EventTooLong> {
            seen.push((event.name.map(str::to_owned), event.data.to_owned()));
            Ok(())
        };
        for piece in pieces {
            parser.push(piece, &mut record).unwrap();
        }
        parser.finish(&mut record).unwrap();
        seen
    }

    #[test]
    fn all_forms_of_the_standard_are_parsed() {
        let cases: &[(&str, &[(Option<&str>, &str)])] = &[
            ("data: a\n\n", &[(None, "a")]),
            ("data: a\r\n\r\ndata: b\r\n\r\n", &[(None, "a"), (None, "b")]),
            ("data: a\r\rdata: b\r\r", &[(None, "a"), (None, "b")]),
            ("\u{feff}data: a\n\n", &[(None, "a")]),
            (": ping\n\ndata: a\n: more\n\n", &[(None, "a")]),
            ("event: x\ndata: a\ndata: b\n\n", &[(Some("x"), "a\nb")]),
            ("data:a\ndata:  b\n\n", &[(None, "a\n b")]),
            ("event: x\n\ndata: a\n\n", &[(None, "a")]),
            ("id: 1\nretry: 5\nnonsense\ndata: a\n\n", &[(None, "a")]),
            ("data: a", &[(None, "a")]),
            ("data\n\n", &[(None, "")]),
            ("", &[]),
            ("data: é😀\n\n", &[(None, "é😀")]),
        ];
        for (input, expected) in cases {
            let expected: Vec<_> =
                expected.iter().map(|(n, d)| (n.map(str::to_owned), (*d).to_owned())).collect();
            assert_eq!(events(&[input.as_bytes()]), expected, "whole: {input:?}");
            let bytes: Vec<&[u8]> = input.as_bytes().chunks(1).collect();
            assert_eq!(events(&bytes), expected, "byte by byte: {input:?}");
        }
    }

    #[test]
    fn the_place_to_resume_is_kept() {
        let mut parser = SseParser::new();
        let stream = b"id: 7\nretry: 250\n\nid: a\x01b\nretry: soon\ndata: x\n\n";
        parser.push(stream, |_| Ok::<_, EventTooLong>(())).unwrap();
        assert_eq!((parser.last_event_id(), parser.retry_ms()), (Some("7"), Some(250)));
        // An event counts when it is whole.
        parser.push(b"id: 8\ndata: cut o", |_| Ok::<_, EventTooLong>(())).unwrap();
        assert_eq!(parser.last_event_id(), Some("7"));
        parser.restart();
        assert_eq!((parser.last_event_id(), parser.retry_ms()), (Some("7"), Some(250)));
        let mut seen = Vec::new();
        let again = b"\xef\xbb\xbfid: 8\ndata: whole\n\n";
        let record = |event: SseEvent<'_>| -> Result<(), EventTooLong> {
            seen.push(event.data.to_owned());
            Ok(())
        };
        parser.push(again, record).unwrap();
        assert_eq!((seen, parser.last_event_id()), (vec!["whole".to_owned()], Some("8")));
        parser.push(b"id\n\n", |_| Ok::<_, EventTooLong>(())).unwrap();
        assert_eq!(parser.last_event_id(), None);
    }

    #[test]
    fn invalid_utf8_is_replaced() {
        assert_eq!(events(&[b"data: a\xffb\n\n"]), [(None, "a\u{fffd}b".to_owned())]);
    }

    #[test]
    fn an_endless_line_is_rejected() {
        let mut parser = SseParser::new();
        let block = vec![b'x'; 1 << 20];
        let result = (0..=64).try_for_each(|_| parser.push(&block, |_| Ok::<_, EventTooLong>(())));
        assert!(result.is_err());
    }

    proptest! {
        #[test]
        fn cuts_do_not_change_the_result(
            text in "(data: ?[a-zé:]{0,4}|event: x|: c|)(\n|\r|\r\n){1,2}(data: y(\n|\r\n|\r)){0,3}",
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
        ) {
            let bytes = text.as_bytes();
            let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            at.extend([0, bytes.len()]);
            at.sort_unstable();
            let pieces: Vec<&[u8]> = at.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            prop_assert_eq!(events(&pieces), events(&[bytes]));
        }
    }
}
