//! A command whose output is collected, for programs: one JSON object at the end.

use std::io::Write as _;

use pi_guard::confine::{Denial, explain_denial};
use pi_tools::{Command, Executor as _};
use serde_json::json;
use tokio::io::AsyncReadExt as _;

use super::{Run, code, not_started};
use crate::commands::{Done, Failure};

/// How much of the output is kept: its end.
const KEPT: usize = 1024 * 1024;

/// The end of an output.
#[derive(Default)]
struct Tail {
    bytes: Vec<u8>,
    cut: bool,
}

impl Tail {
    fn add(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        // Not every time: that would move all of it for every line.
        if self.bytes.len() > 2 * KEPT {
            self.shorten();
        }
    }

    fn shorten(&mut self) {
        let much = self.bytes.len().saturating_sub(KEPT);
        self.cut |= much > 0;
        self.bytes.drain(..much);
    }
}

pub(super) async fn run(run: &Run) -> Done {
    let (ended, tail) = execute(run).await?;
    let output = String::from_utf8_lossy(&tail.bytes);
    let denied = if ended == 0 { Vec::new() } else { denied(run, &output) };
    let object = json!({
        "sandbox": run.status.sandbox,
        "network": run.status.network,
        "rung": run.status.level,
        "limits": run.status.limits,
        "exitCode": ended,
        "output": output,
        "truncated": tail.cut,
        "denied": denied,
    });
    let mut out = std::io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, &object)?;
    writeln!(out)?;
    out.flush()?;
    Ok(code(ended))
}

async fn execute(run: &Run) -> Result<(i32, Tail), Failure> {
    let host = run.guard.host()?.unwrap_or_default();
    let command = Command::new(&run.program, &run.cwd)
        .arguments(run.arguments.clone())
        .environment(run.environment.iter().cloned());
    let mut tail = Tail::default();
    let mut process = match host.spawn(&command).await {
        Ok(process) => process,
        Err(error) => {
            let code = not_started(&error).into();
            tail.add(format!("pi: the command was not run: {error}\n").as_bytes());
            return Ok((code, tail));
        }
    };
    let signal = signal();
    tokio::pin!(signal);
    let mut buffer = vec![0; 64 * 1024];
    let mut open = true;
    let ended = loop {
        tokio::select! {
            read = process.output.read(&mut buffer), if open => match read {
                Ok(0) | Err(_) => open = false,
                Ok(count) => tail.add(&buffer[..count]),
            },
            ended = &mut process.exit => {
                let lost = |error| Failure::Failed(format!("nobody knows how it ended: {error}"));
                break ended.map_err(lost)?.unwrap_or(1);
            }
            ended = &mut signal => break ended,
        }
    };
    // Whatever it has left behind; then there is an end to its output.
    process.tree.kill().await;
    while let (true, Ok(count @ 1..)) = (open, process.output.read(&mut buffer).await) {
        tail.add(&buffer[..count]);
    }
    tail.shorten();
    Ok((ended, tail))
}

/// What it was denied, as far as that can be told.
fn denied(run: &Run, output: &str) -> Vec<Denial> {
    let refused = run.guard.take_refused_hosts().into_iter();
    let mut denied: Vec<Denial> = refused.map(Denial::from).collect();
    denied.extend(explain_denial(&run.confined, &run.cwd, output));
    denied
}

/// Waits for a signal that ends the command, and gives the code that it ends with then.
#[cfg(unix)]
async fn signal() -> i32 {
    match super::signals::Signals::new() {
        Ok(mut signals) => 128 + signals.next().await.as_raw(),
        Err(_) => std::future::pending().await,
    }
}

#[cfg(not(unix))]
async fn signal() -> i32 {
    std::future::pending().await
}
