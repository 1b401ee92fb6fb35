//! `mcp.log`: messages and standard error of servers, bounded in size and rate.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use pi_base::lock;
use pi_guard::secrets::Secrets;
use pi_jsonrpc::{Line, Lines};
use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::text::clean_line;

/// The size at which the log is renamed and a new one begins.
const ROTATION: u64 = 5 << 20;

/// The longest line of a message.
const LONGEST: usize = 4 << 10;

/// Bytes that one server may log in a [`WINDOW`]. More is dropped and counted.
const RATE: usize = 128 << 10;
const WINDOW: Duration = Duration::from_secs(10);

/// Bytes of standard error that are kept to explain why a server ended.
const KEPT: usize = 1 << 10;

/// The log of all servers.
#[derive(Debug)]
pub(crate) struct Log {
    path: PathBuf,
}

/// The log of one connection to a server.
#[derive(Debug)]
pub(crate) struct ServerLog {
    log: Arc<Log>,
    server: String,
    secrets: Secrets,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    window: Instant,
    written: usize,
    dropped: u64,
    /// The last lines of standard error.
    tail: String,
}

impl Log {
    pub(crate) fn new(agent_directory: &Path) -> Self {
        Self { path: agent_directory.join("mcp.log") }
    }

    fn append(&self, line: &str) -> io::Result<()> {
        let mut file = self.open()?;
        if file.metadata()?.len() + line.len() as u64 > ROTATION {
            fs::rename(&self.path, self.path.with_extension("log.1"))?;
            file = self.open()?;
        }
        file.write_all(line.as_bytes())
    }

    fn open(&self) -> io::Result<File> {
        pi_fs::private_file().append(true).create(true).open(&self.path)
    }
}

impl ServerLog {
    pub(crate) fn new(log: Arc<Log>, server: &str, secrets: &Secrets) -> Self {
        let state = State { window: Instant::now(), written: 0, dropped: 0, tail: String::new() };
        let (server, secrets) = (server.to_owned(), secrets.clone());
        Self { log, server, secrets, state: Mutex::new(state) }
    }

    /// Writes a message. One that cannot be written is lost: a log is no reason to fail.
    pub(crate) fn write(&self, level: &str, logger: Option<&str>, message: &str) {
        let logger = logger.map(|logger| format!(" {}", clean_line(logger, 100)));
        let (now, server) = (Timestamp::now(), &self.server);
        let text = self.secrets.redact_known(message);
        let (logger, text) = (logger.unwrap_or_default(), clean_line(&text, LONGEST));
        let mut lines = format!("{now:.3} [{server}] {level}{logger}: {text}\n");
        {
            let mut state = lock(&self.state);
            if state.window.elapsed() > WINDOW {
                state.window = Instant::now();
                state.written = 0;
                let dropped = std::mem::take(&mut state.dropped);
                if dropped > 0 {
                    let note =
                        format!("{now:.3} [{server}] warning pi: {dropped} messages left out\n");
                    lines.insert_str(0, &note);
                }
            }
            if state.written > RATE {
                state.dropped += 1;
                return;
            }
            state.written += lines.len();
        }
        let _ = self.log.append(&lines);
    }

    /// Reads the standard error of a server to its end, so that the server never waits for a reader.
    pub(crate) async fn read(&self, mut from: impl AsyncRead + Unpin) {
        let mut lines = Lines::new(64 << 10);
        let mut chunk = vec![0; 16 << 10];
        while let Ok(count) = from.read(&mut chunk).await {
            let found = match chunk.get(..count) {
                Some(bytes) if count > 0 => lines.push(bytes),
                _ => break,
            };
            found.into_iter().for_each(|line| self.error_line(line));
        }
        lines.finish().into_iter().for_each(|line| self.error_line(line));
    }

    fn error_line(&self, line: Line) {
        let text = match line {
            Line::Text(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Line::TooLong(line) => format!("(a line of {} bytes)", line.length),
        };
        {
            let mut state = lock(&self.state);
            let shown = clean_line(&self.secrets.redact_known(&text), KEPT);
            if state.tail.len() + shown.len() > KEPT {
                state.tail.clear();
            } else if !state.tail.is_empty() {
                state.tail.push_str("; ");
            }
            state.tail.push_str(&shown);
        }
        self.write("info", Some("stderr"), &text);
    }

    /// Returns the last lines of standard error, to explain why a server ended.
    pub(crate) fn last_errors(&self) -> Option<String> {
        let state = lock(&self.state);
        (!state.tail.is_empty()).then(|| state.tail.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn floods_are_bounded_and_the_end_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        let log = Arc::new(Log::new(directory.path()));
        let server = ServerLog::new(Arc::clone(&log), "s", &Secrets::default());
        server.write("error", Some("db\u{1b}"), "lost\nconnection");
        let text = fs::read_to_string(&log.path).unwrap();
        assert!(text.ends_with("Z [s] error db: lost connection\n"), "{text}");
        let flood = "x".repeat(100).repeat(200_000) + "\nlast line\n";
        server.read(flood.as_bytes()).await;
        assert_eq!(server.last_errors().unwrap(), "(a line of 20000000 bytes); last line");
        let many = "another line of noise\n".repeat(100_000);
        server.read(many.as_bytes()).await;
        assert!(fs::metadata(&log.path).unwrap().len() < 2 * RATE as u64);
    }

    #[test]
    fn the_log_rotates() {
        let directory = tempfile::tempdir().unwrap();
        let log = Log::new(directory.path());
        fs::write(&log.path, vec![b'x'; ROTATION as usize]).unwrap();
        log.append("new\n").unwrap();
        assert_eq!(fs::read_to_string(&log.path).unwrap(), "new\n");
        assert!(directory.path().join("mcp.log.1").exists());
    }
}
