//! Bytes from one side to the other: all of them, or exactly one request.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::request::Body;

/// A connection on which nothing moved for so long is closed.
const IDLE: Duration = Duration::from_secs(600);
/// How often a direction in which nothing moves looks whether the other one does.
const LOOK: Duration = Duration::from_secs(30);
/// The longest line before a chunk, and the longest trailer.
const LONGEST_LINE: usize = 4096;

/// Both ends of a connection through the proxy.
pub(super) struct Pair {
    pub client: UnixStream,
    pub server: TcpStream,
    began: Instant,
    /// When something last moved, in seconds after the beginning.
    moved: AtomicU64,
}

impl Pair {
    pub(super) fn new(client: UnixStream, server: TcpStream) -> io::Result<Self> {
        client.set_read_timeout(Some(LOOK))?;
        server.set_read_timeout(Some(LOOK))?;
        client.set_write_timeout(Some(IDLE))?;
        server.set_write_timeout(Some(IDLE))?;
        Ok(Self { client, server, began: Instant::now(), moved: AtomicU64::new(0) })
    }

    pub(super) fn close(&self) {
        // What is closed already is what we want.
        let _ = self.client.shutdown(Shutdown::Both);
        let _ = self.server.shutdown(Shutdown::Both);
    }

    /// Reads what there is, 0 at the end; fails when nothing moved on either side for long.
    fn read(&self, mut from: impl Read, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = from.read(buffer);
            let now = self.began.elapsed().as_secs();
            match read {
                Ok(count) => {
                    self.moved.store(now, Ordering::Relaxed);
                    return Ok(count);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if now.saturating_sub(self.moved.load(Ordering::Relaxed)) > IDLE.as_secs() {
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Everything the server says, until it has nothing more to say.
    pub(super) fn answers(&self) -> io::Result<()> {
        let mut buffer = vec![0; 32 * 1024];
        loop {
            let count = self.read(&self.server, &mut buffer)?;
            if count == 0 {
                return self.client.shutdown(Shutdown::Write);
            }
            (&self.client).write_all(buffer.get(..count).unwrap_or_default())?;
        }
    }

    /// Everything the client says, after what it said already.
    pub(super) fn all(&self, begun: &[u8]) -> io::Result<()> {
        (&self.server).write_all(begun)?;
        let mut buffer = vec![0; 32 * 1024];
        loop {
            let count = self.read(&self.client, &mut buffer)?;
            if count == 0 {
                return self.server.shutdown(Shutdown::Write);
            }
            (&self.server).write_all(buffer.get(..count).unwrap_or_default())?;
        }
    }

    /// The body of one request and not a byte more. A client that says more than that has
    /// something to hide, or would wait for an answer that never comes: that ends everything.
    pub(super) fn one(&self, begun: Vec<u8>, body: Body) -> io::Result<()> {
        let mut said = Said { pair: self, bytes: begun, at: 0 };
        match body {
            Body::Length(length) => said.pass(length)?,
            Body::Chunked => said.chunks()?,
        }
        if said.more()? {
            self.close();
        }
        Ok(())
    }
}

/// What the client said and is not passed on yet.
struct Said<'a> {
    pair: &'a Pair,
    bytes: Vec<u8>,
    at: usize,
}

impl Said<'_> {
    /// Whether there is something, waiting for it.
    fn more(&mut self) -> io::Result<bool> {
        if self.at < self.bytes.len() {
            return Ok(true);
        }
        self.bytes.resize(32 * 1024, 0);
        self.at = 0;
        let count = self.pair.read(&self.pair.client, &mut self.bytes);
        self.bytes.truncate(*count.as_ref().unwrap_or(&0));
        Ok(count? > 0)
    }

    fn pass(&mut self, mut length: u64) -> io::Result<()> {
        while length > 0 {
            if !self.more()? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let there = self.bytes.get(self.at..).unwrap_or_default();
            let count = usize::try_from(length).unwrap_or(usize::MAX).min(there.len());
            (&self.pair.server).write_all(there.get(..count).unwrap_or_default())?;
            self.at += count;
            length -= count as u64;
        }
        Ok(())
    }

    /// A line without its end.
    fn line(&mut self) -> io::Result<Vec<u8>> {
        let mut line = Vec::new();
        while line.len() < LONGEST_LINE {
            if !self.more()? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            line.extend(self.bytes.get(self.at));
            self.at += 1;
            if line.ends_with(b"\r\n") {
                line.truncate(line.len() - 2);
                return Ok(line);
            }
        }
        Err(io::ErrorKind::InvalidData.into())
    }

    /// Chunks, written anew; extensions and trailers are not passed on.
    fn chunks(&mut self) -> io::Result<()> {
        let wrong = || io::Error::from(io::ErrorKind::InvalidData);
        loop {
            let line = self.line()?;
            let digits = line.split(|byte| *byte == b';').next().unwrap_or_default();
            let digits = std::str::from_utf8(digits).map_err(|_| wrong())?.trim_end();
            if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return Err(wrong());
            }
            let length = u64::from_str_radix(digits, 16).map_err(|_| wrong())?;
            if length == 0 {
                break;
            }
            (&self.pair.server).write_all(format!("{length:x}\r\n").as_bytes())?;
            self.pass(length)?;
            if !self.line()?.is_empty() {
                return Err(wrong());
            }
            (&self.pair.server).write_all(b"\r\n")?;
        }
        let mut trailer = 0;
        loop {
            let line = self.line()?;
            trailer += line.len();
            if line.is_empty() {
                return (&self.pair.server).write_all(b"0\r\n\r\n");
            }
            if trailer > LONGEST_LINE {
                return Err(wrong());
            }
        }
    }
}
