//! A running program: its streams, its end, signals to it.

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pi_guard::confine::Examination;
use rustix::process::Pid;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::ChildStdin;
use tokio::sync::{Mutex, Notify, watch};

use crate::error::NativeError;
use crate::native::errno;
use crate::native::process::named;

/// A running program. Clones share it.
#[derive(Clone)]
pub(crate) struct Running(Arc<State>);

struct State {
    pid: u32,
    is_detached: bool,
    is_alive: Arc<AtomicBool>,
    exit: watch::Receiver<Option<ExitStatus>>,
    stdin: Mutex<Option<ChildStdin>>,
    outputs: [Output; 2],
}

/// Standard output or standard error.
#[derive(Default)]
struct Output {
    stream: Mutex<Option<Box<dyn AsyncRead + Send + Sync + Unpin>>>,
    closed: Notify,
}

/// Bytes that are read at once.
const CHUNK: usize = 64 * 1024;

impl Running {
    /// Starts a command on the current tokio runtime.
    pub(super) fn start(
        command: std::process::Command,
        is_detached: bool,
        examination: Option<Arc<Examination>>,
    ) -> io::Result<Self> {
        let mut command = tokio::process::Command::from(command);
        let mut child = command.spawn()?;
        // Drops our copies of the streams of the child.
        drop(command);
        let pid = child.id().unwrap_or_default();
        let stdin = Mutex::new(child.stdin.take());
        let stdout = child.stdout.take().map(|stream| Box::new(stream) as _);
        let stderr = child.stderr.take().map(|stream| Box::new(stream) as _);
        let output = |stream| Output { stream: Mutex::new(stream), closed: Notify::new() };
        let outputs = [output(stdout), output(stderr)];
        let is_alive = Arc::new(AtomicBool::new(true));
        let (ended, exit) = watch::channel(None);
        let alive = Arc::clone(&is_alive);
        tokio::spawn(async move {
            let status = child.wait().await;
            alive.store(false, Ordering::Relaxed);
            examine(examination).await;
            // No one may wait any more.
            let _ = ended.send(Some(status.unwrap_or_else(|_| ExitStatus::from_raw(1 << 8))));
        });
        Ok(Self(Arc::new(State { pid, is_detached, is_alive, exit, stdin, outputs })))
    }

    pub(super) fn pid(&self) -> u32 {
        self.0.pid
    }

    pub(super) fn is_detached(&self) -> bool {
        self.0.is_detached
    }

    pub(super) fn is_alive(&self) -> bool {
        self.0.is_alive.load(Ordering::Relaxed)
    }

    /// Waits for the end: the exit code, or the number of the signal that ended it.
    pub(super) async fn wait(&self) -> (Option<i32>, Option<i32>) {
        let mut exit = self.0.exit.clone();
        let status = match exit.wait_for(Option::is_some).await {
            Ok(status) => *status,
            Err(_) => None,
        };
        status.map_or((None, None), |status| (status.code(), status.signal()))
    }

    /// Sends a signal; returns false if the program has ended.
    pub(super) fn kill(&self, signal: i32) -> Result<bool, NativeError> {
        let Some(pid) = Pid::from_raw(self.0.pid.cast_signed()) else { return Ok(false) };
        if !self.is_alive() {
            return Ok(false);
        }
        let sent = match named(signal) {
            Some(signal) => rustix::process::kill_process(pid, signal),
            None if signal == 0 => rustix::process::test_kill_process(pid),
            None => Err(rustix::io::Errno::INVAL),
        };
        match sent {
            Ok(()) => Ok(true),
            Err(rustix::io::Errno::SRCH) => Ok(false),
            Err(number) => Err(errno::call_error(number, "kill")),
        }
    }

    /// Returns the next bytes of standard output (1) or standard error (2); `None` at the end.
    pub(super) async fn read(&self, stream: u32) -> Result<Option<Vec<u8>>, NativeError> {
        let Some(output) = self.output(stream) else { return Ok(None) };
        let mut open = output.stream.lock().await;
        let Some(stream) = open.as_mut() else { return Ok(None) };
        let mut bytes = vec![0; CHUNK];
        let count = tokio::select! {
            () = output.closed.notified() => 0,
            count = stream.read(&mut bytes) => {
                count.map_err(|error| errno::call_error(errno::number(&error), "read"))?
            }
        };
        if count == 0 {
            *open = None;
            return Ok(None);
        }
        bytes.truncate(count);
        Ok(Some(bytes))
    }

    /// Writes to standard input.
    pub(super) async fn write(&self, bytes: &[u8]) -> Result<(), NativeError> {
        let failed = |error: &io::Error| errno::call_error(errno::number(error), "write");
        let mut stdin = self.0.stdin.lock().await;
        let Some(stream) = stdin.as_mut() else {
            return Err(errno::call_error(rustix::io::Errno::PIPE, "write"));
        };
        stream.write_all(bytes).await.map_err(|error| failed(&error))?;
        stream.flush().await.map_err(|error| failed(&error))
    }

    /// Closes a stream.
    pub(super) fn close(&self, stream: u32) {
        if stream == 0 {
            let running = self.clone();
            tokio::spawn(async move { running.0.stdin.lock().await.take() });
        } else if let Some(output) = self.output(stream) {
            match output.stream.try_lock() {
                Ok(mut open) => *open = None,
                // A waiting read closes it.
                Err(_) => output.closed.notify_one(),
            }
        }
    }

    fn output(&self, stream: u32) -> Option<&Output> {
        self.0.outputs.get(stream.checked_sub(1)? as usize)
    }
}

/// Disables what a sandboxed program left behind for programs outside of the sandbox.
pub(crate) async fn examine(examination: Option<Arc<Examination>>) {
    #[cfg(target_os = "linux")]
    if let Some(examination) = examination {
        // What could not be disabled keeps the next command from running.
        let _ = tokio::task::spawn_blocking(move || examination.finish()).await;
    }
    #[cfg(not(target_os = "linux"))]
    drop(examination);
}
