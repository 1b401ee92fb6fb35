//! A server as a child process: a free port, a log, readiness, and its end.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A running server, stopped when dropped.
#[derive(Debug)]
pub(super) struct Server(Child);

impl Server {
    /// Starts `command` with its output in `log`, and waits until it responds on `port` to a GET of
    /// `path` with a status below 500. `Ok(None)` if it does not within `patience`.
    pub(super) fn start(
        mut command: Command,
        log: &Path,
        port: u16,
        path: &str,
        patience: Duration,
    ) -> io::Result<Option<Self>> {
        let output = File::create(log)?;
        let errors = output.try_clone()?;
        command.stdin(Stdio::null()).stdout(output).stderr(errors);
        let mut server = Self(command.spawn()?);
        let started = Instant::now();
        while started.elapsed() < patience {
            if answers(port, path) {
                return Ok(Some(server));
            }
            if server.0.try_wait()?.is_some() {
                return Ok(None);
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        Ok(None)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns a port that is free now.
pub(super) fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// Returns the last lines of a log.
pub(super) fn tail(log: &Path) -> String {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(8)..].join("\n")
}

fn answers(port: u16, path: &str) -> bool {
    let mut head = [0; 12];
    matches!(ask(port, path, &mut head), Ok(())) && matches!(head[9], b'2'..=b'4')
}

/// Reads the beginning of the answer, `HTTP/1.1 200`.
fn ask(port: u16, path: &str, head: &mut [u8]) -> io::Result<()> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(1))?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")?;
    stream.read_exact(head)
}
