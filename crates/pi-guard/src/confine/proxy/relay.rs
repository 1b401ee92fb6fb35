//! Passing bytes between client and server: all of them, or exactly one request.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::request::Body;

/// The time without traffic after which a connection is closed.
const IDLE: Duration = Duration::from_secs(600);
/// The interval at which an idle direction checks for traffic in the other one.
const CHECK: Duration = Duration::from_secs(30);
/// The longest line before a chunk, and the longest trailer.
const LONGEST_LINE: usize = 4096;

/// Both ends of a connection through the proxy.
pub(super) struct Pair {
    pub client: UnixStream,
    pub server: TcpStream,
    began: Instant,
    /// The time of the last traffic, in seconds after the beginning.
    last_traffic: AtomicU64,
}

impl Pair {
    pub(super) fn new(client: UnixStream, server: TcpStream) -> io::Result<Self> {
        client.set_read_timeout(Some(CHECK))?;
        server.set_read_timeout(Some(CHECK))?;
        client.set_write_timeout(Some(IDLE))?;
        server.set_write_timeout(Some(IDLE))?;
        Ok(Self { client, server, began: Instant::now(), last_traffic: AtomicU64::new(0) })
    }

    pub(super) fn close(&self) {
        // Fails if the other side has closed the connection.
        let _ = self.client.shutdown(Shutdown::Both);
        let _ = self.server.shutdown(Shutdown::Both);
    }

    /// Reads available bytes, 0 at the end. Fails if there was no traffic in either direction for
    /// too long.
    fn read(&self, mut from: impl Read, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = from.read(buffer);
            let now = self.began.elapsed().as_secs();
            match read {
                Ok(count) => {
                    self.last_traffic.store(now, Ordering::Relaxed);
                    return Ok(count);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if now.saturating_sub(self.last_traffic.load(Ordering::Relaxed))
                        > IDLE.as_secs()
                    {
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Passes on everything that the server sends.
    pub(super) fn receive_all(&self) -> io::Result<()> {
        let mut buffer = vec![0; 32 * 1024];
        loop {
            let count = self.read(&self.server, &mut buffer)?;
            if count == 0 {
                return self.client.shutdown(Shutdown::Write);
            }
            (&self.client).write_all(buffer.get(..count).unwrap_or_default())?;
        }
    }

    /// Passes on `first` and everything else that the client sends.
    pub(super) fn send_all(&self, first: &[u8]) -> io::Result<()> {
        (&self.server).write_all(first)?;
        let mut buffer = vec![0; 32 * 1024];
        loop {
            let count = self.read(&self.client, &mut buffer)?;
            if count == 0 {
                return self.server.shutdown(Shutdown::Write);
            }
            (&self.server).write_all(buffer.get(..count).unwrap_or_default())?;
        }
    }

    /// Passes on the body of one request, which begins with `first`. More bytes from the client
    /// close the connection: they may hide a second request, which would get no response anyway.
    pub(super) fn send_body(&self, first: Vec<u8>, body: Body) -> io::Result<()> {
        let mut input = Input { pair: self, bytes: first, at: 0 };
        match body {
            Body::Length(length) => input.pass(length)?,
            Body::Chunked => input.pass_chunks()?,
        }
        if input.fill()? {
            self.close();
        }
        Ok(())
    }
}

/// Bytes of the client that are not passed on yet.
struct Input<'a> {
    pair: &'a Pair,
    bytes: Vec<u8>,
    at: usize,
}

impl Input<'_> {
    /// Waits for bytes. Returns false at the end.
    fn fill(&mut self) -> io::Result<bool> {
        if self.at < self.bytes.len() {
            return Ok(true);
        }
        self.bytes.resize(32 * 1024, 0);
        self.at = 0;
        let count = self.pair.read(&self.pair.client, &mut self.bytes);
        self.bytes.truncate(*count.as_ref().unwrap_or(&0));
        Ok(count? > 0)
    }

    /// Passes on exactly `length` bytes.
    fn pass(&mut self, mut length: u64) -> io::Result<()> {
        while length > 0 {
            if !self.fill()? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let available = self.bytes.get(self.at..).unwrap_or_default();
            let count = usize::try_from(length).unwrap_or(usize::MAX).min(available.len());
            (&self.pair.server).write_all(available.get(..count).unwrap_or_default())?;
            self.at += count;
            length -= count as u64;
        }
        Ok(())
    }

    /// Reads a line and returns it without its end.
    fn line(&mut self) -> io::Result<Vec<u8>> {
        let mut line = Vec::new();
        while line.len() < LONGEST_LINE {
            if !self.fill()? {
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

    /// Passes on chunks in a normalized form, without extensions and trailers.
    fn pass_chunks(&mut self) -> io::Result<()> {
        let invalid = || io::Error::from(io::ErrorKind::InvalidData);
        loop {
            let line = self.line()?;
            let digits = line.split(|byte| *byte == b';').next().unwrap_or_default();
            let digits = std::str::from_utf8(digits).map_err(|_| invalid())?.trim_end();
            if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return Err(invalid());
            }
            let length = u64::from_str_radix(digits, 16).map_err(|_| invalid())?;
            if length == 0 {
                break;
            }
            (&self.pair.server).write_all(format!("{length:x}\r\n").as_bytes())?;
            self.pass(length)?;
            if !self.line()?.is_empty() {
                return Err(invalid());
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
                return Err(invalid());
            }
        }
    }
}
