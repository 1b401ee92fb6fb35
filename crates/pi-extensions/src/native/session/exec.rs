//! `pi.exec`: a program with its output, which never fails but in its result.

use std::process::Stdio;
use std::time::Duration;

use pi_protocol::CancelToken;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, Command};

use super::cancellable;
use crate::access::Launch;
use crate::error::NativeError;
use crate::host::Natives;

/// Time between the request to end and the end by force.
const KILL_AFTER: Duration = Duration::from_secs(5);

/// Time without output after which the pipes of an ended program count as held by its children.
const PIPE_GRACE: Duration = Duration::from_millis(100);

/// Bytes of output that are kept unless `maxBuffer` says otherwise.
const STANDARD_BUFFER: u64 = 256 << 20;

/// `exec(id, program, arguments, options)` returns `{ promise, cancel }`.
pub(super) const FUNCTIONS: Natives = &[("exec", |call| {
    let (host, program) = (call.host, call.text(1)?);
    let (arguments, options) = (call.texts(2)?, call.json(3)?);
    // Also allowed while the extension loads.
    let session = host.context(call.id(0)?).and_then(|context| context.session());
    let cwd = match (options["cwd"].as_str(), session) {
        (Some(cwd), _) => host.process.absolute(cwd.as_ref()),
        (None, Some(session)) => session.workspace().cwd().to_owned(),
        (None, None) => host.process.cwd(),
    };
    let variables = host.process.variables().into_iter();
    let permission = host.access.run(Launch {
        program: program.clone().into(),
        arguments: arguments.into_iter().map(Into::into).collect(),
        cwd,
        variables: variables.map(|(name, value)| (name.into(), value.into())).collect(),
        search: host.process.options.variables.get("PATH").cloned(),
        confined: None,
    });
    let run = Run {
        program,
        timeout: options["timeout"].as_f64().filter(|time| *time > 0.0),
        limit: options["maxBuffer"].as_u64().unwrap_or(STANDARD_BUFFER),
    };
    let cancel = CancelToken::new();
    let token = cancel.clone();
    let promise = call.promise(async move {
        let launch = match permission {
            Ok(permission) => permission.later().await,
            Err(error) => Err(error),
        };
        let result = match launch {
            Ok(launch) => run.finish(spawn(&launch), &token).await,
            Err(error) => refusal(&error),
        };
        Ok(result.into())
    })?;
    cancellable(call, promise, cancel)
})];

/// Returns the result of a program that may not run.
fn refusal(error: &NativeError) -> Value {
    let mut output = Output::default();
    output.add(u64::MAX, true, error.message.as_bytes());
    output.result(1, false)
}

fn spawn(launch: &Launch) -> std::io::Result<Child> {
    let mut command = Command::from(launch.command());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
}

/// A program that runs.
struct Run {
    program: String,
    /// Milliseconds.
    timeout: Option<f64>,
    limit: u64,
}

/// Output so far. Both streams share one limit.
#[derive(Default)]
struct Output {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    truncated: bool,
}

impl Output {
    /// Adds output to one of the streams. Returns false when the limit is reached.
    fn add(&mut self, limit: u64, is_error: bool, bytes: &[u8]) -> bool {
        let used = (self.stdout.len() + self.stderr.len()) as u64;
        let room = usize::try_from(limit.saturating_sub(used)).unwrap_or(usize::MAX);
        let kept = bytes.get(..room.min(bytes.len())).unwrap_or_default();
        let stream = if is_error { &mut self.stderr } else { &mut self.stdout };
        stream.extend_from_slice(kept);
        self.truncated |= kept.len() < bytes.len();
        !self.truncated
    }

    fn result(&self, code: i32, killed: bool) -> Value {
        json!({
            "stdout": String::from_utf8_lossy(&self.stdout),
            "stderr": String::from_utf8_lossy(&self.stderr),
            "code": code,
            "killed": killed,
            "truncated": self.truncated,
        })
    }
}

impl Run {
    /// Waits for the program and returns its result.
    async fn finish(self, started: std::io::Result<Child>, cancel: &CancelToken) -> Value {
        let mut output = Output::default();
        let mut child = match started {
            Ok(child) => child,
            Err(error) => {
                let text = format!("spawn {} {}", self.program, error_code(&error));
                output.add(u64::MAX, true, text.as_bytes());
                return output.result(1, false);
            }
        };
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let mut killed = false;
        let code = self.follow(&mut child, stdout, stderr, &mut output, &mut killed, cancel).await;
        // As in pi: a program that a signal ended has code 0.
        let code = if output.truncated { 1 } else { code.unwrap_or(0) };
        output.result(code, killed)
    }

    async fn follow(
        &self,
        child: &mut Child,
        mut stdout: Option<impl AsyncRead + Unpin>,
        mut stderr: Option<impl AsyncRead + Unpin>,
        output: &mut Output,
        killed: &mut bool,
        cancel: &CancelToken,
    ) -> Option<i32> {
        let mut out = vec![0; 64 << 10];
        let mut err = vec![0; 64 << 10];
        let far = Duration::from_secs(u64::from(u32::MAX));
        let limit = self.timeout.and_then(|time| Duration::try_from_secs_f64(time / 1e3).ok());
        let deadline = tokio::time::sleep(limit.unwrap_or(far));
        let force = tokio::time::sleep(far);
        let grace = tokio::time::sleep(far);
        tokio::pin!(deadline, force, grace);
        let mut cancelled = std::pin::pin!(cancel.cancelled());
        let mut exited: Option<Option<i32>> = None;
        loop {
            if let Some(code) = exited
                && stdout.is_none()
                && stderr.is_none()
            {
                return code;
            }
            let stop = tokio::select! {
                read = read_some(&mut stdout, &mut out) => {
                    grace.as_mut().reset(tokio::time::Instant::now() + PIPE_GRACE);
                    match read {
                        Some(bytes) => !output.add(self.limit, false, bytes),
                        None => { stdout = None; false }
                    }
                }
                read = read_some(&mut stderr, &mut err) => {
                    grace.as_mut().reset(tokio::time::Instant::now() + PIPE_GRACE);
                    match read {
                        Some(bytes) => !output.add(self.limit, true, bytes),
                        None => { stderr = None; false }
                    }
                }
                status = child.wait(), if exited.is_none() => {
                    exited = Some(status.ok().and_then(|status| status.code()));
                    grace.as_mut().reset(tokio::time::Instant::now() + PIPE_GRACE);
                    false
                }
                () = &mut grace, if exited.is_some() => return exited.flatten(),
                () = &mut deadline, if !*killed && exited.is_none() => true,
                () = &mut cancelled, if !*killed && exited.is_none() => true,
                () = &mut force, if *killed && exited.is_none() => {
                    // Fails only if the program has ended.
                    let _ = child.start_kill();
                    force.as_mut().reset(tokio::time::Instant::now() + far);
                    false
                }
            };
            if stop && !*killed {
                *killed = true;
                terminate(child);
                force.as_mut().reset(tokio::time::Instant::now() + KILL_AFTER);
            }
            if output.truncated {
                (stdout, stderr) = (None, None);
            }
        }
    }
}

/// Reads from a pipe; `None` at its end. A pipe that is closed already never resolves.
async fn read_some<'b>(
    pipe: &mut Option<impl AsyncRead + Unpin>,
    buffer: &'b mut [u8],
) -> Option<&'b [u8]> {
    match pipe {
        None => std::future::pending().await,
        Some(pipe) => match pipe.read(buffer).await {
            Ok(0) | Err(_) => None,
            Ok(length) => buffer.get(..length),
        },
    }
}

/// Asks a program to end.
fn terminate(child: &mut Child) {
    #[cfg(unix)]
    if let Some(id) =
        child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw)
    {
        // Fails only if the program has ended.
        let _ = rustix::process::kill_process(id, rustix::process::Signal::TERM);
        return;
    }
    let _ = child.start_kill();
}

/// Returns the name that Node gives an error of starting a program.
fn error_code(error: &std::io::Error) -> &'static str {
    match error.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => "ENOENT",
        std::io::ErrorKind::PermissionDenied => "EACCES",
        std::io::ErrorKind::ArgumentListTooLong => "E2BIG",
        std::io::ErrorKind::OutOfMemory => "ENOMEM",
        _ => "UNKNOWN",
    }
}
