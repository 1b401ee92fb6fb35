//! Streams of remote processes, which end with a mark.
//!
//! The end of a connection and the end of a stream look the same, so a script writes a mark behind
//! the output of its command. A stream that ends without the mark was cut off and is an error.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};

use super::{lost, script};

/// A stream up to its mark.
pub(super) struct Marked<R> {
    from: R,
    /// Bytes that were read, and how many of them were handed out.
    buffer: Vec<u8>,
    given: usize,
    mark: Vec<u8>,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// The mark was found: the buffer has the rest.
    Ended,
}

impl<R> Marked<R> {
    /// A stream that begins with the bytes in `buffer`.
    pub(super) fn new(from: R, buffer: Vec<u8>, mark: &str) -> Self {
        let mark = end_mark(mark);
        Self { from, buffer, given: 0, mark, state: State::Open }
    }

    /// Counts the bytes of the buffer that certainly do not belong to the mark.
    fn certain(&mut self) -> usize {
        if self.state == State::Ended {
            return self.buffer.len();
        }
        if let Some(at) = script::find(&self.buffer, &self.mark) {
            self.buffer.truncate(at);
            self.state = State::Ended;
            return at;
        }
        certain(&self.buffer, &self.mark)
    }
}

/// The mark behind an output. The control character keeps it apart from a mark in a message.
pub(super) fn end_mark(mark: &str) -> Vec<u8> {
    [b"\x01", mark.as_bytes(), b"\n"].concat()
}

/// Counts the bytes at the beginning that cannot belong to a mark, which may be incomplete.
pub(super) fn certain(bytes: &[u8], mark: &[u8]) -> usize {
    let tail = bytes.len().saturating_sub(mark.len());
    let begins = |at: &usize| mark.starts_with(&bytes[*at..]);
    (tail..bytes.len()).find(begins).unwrap_or(bytes.len())
}

impl<R: AsyncRead + Unpin> AsyncRead for Marked<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let certain = self.certain();
            let given = self.given;
            if certain > given {
                let count = into.remaining().min(certain - given);
                into.put_slice(&self.buffer[given..given + count]);
                self.given += count;
                return Poll::Ready(Ok(()));
            }
            if self.state == State::Ended {
                return Poll::Ready(Ok(()));
            }
            self.buffer.drain(..given);
            self.given = 0;
            let mut chunk = [0; 16 * 1024];
            let mut chunk = ReadBuf::new(&mut chunk);
            match Pin::new(&mut self.from).poll_read(context, &mut chunk) {
                Poll::Ready(Ok(())) if chunk.filled().is_empty() => {
                    return Poll::Ready(Err(lost(b"the output was cut off")));
                }
                Poll::Ready(Ok(())) => self.buffer.extend(chunk.filled()),
                other => return other,
            }
        }
    }
}
