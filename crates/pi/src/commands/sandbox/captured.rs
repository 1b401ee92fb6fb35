//! Runs a command, captures its output, and prints one JSON object at the end.

use std::io::Write as _;
use std::sync::Arc;

use pi_guard::confine::{Denial, explain_denial};
use pi_guard::policy::Part;
use pi_tools::{Aftermath, Command, Executor as _};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;

use super::{Run, code, dangerous, not_started};
use crate::commands::{CommandResult, Failure};

/// Size of the end of the output that is kept.
const KEPT: usize = 1024 * 1024;

/// The end of the output.
#[derive(Default)]
struct Tail {
    bytes: Vec<u8>,
    truncated: bool,
}

impl Tail {
    fn add(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        // Rarely, since it moves all bytes.
        if self.bytes.len() > 2 * KEPT {
            self.shorten();
        }
    }

    fn shorten(&mut self) {
        let surplus = self.bytes.len().saturating_sub(KEPT);
        self.truncated |= surplus > 0;
        self.bytes.drain(..surplus);
    }
}

pub(super) async fn run(run: &Run) -> CommandResult {
    let (ended, tail, mut aftermath) = execute(run).await?;
    // What one examination did not reach.
    let rest = run.guard.finish_sandbox();
    aftermath.notes.extend(rest.notes.into_iter().map(|note| format!("{note}.")));
    aftermath.notes.dedup();
    aftermath.is_dangerous |= rest.is_dangerous;
    let output = String::from_utf8_lossy(&tail.bytes);
    let refused = run.guard.take_refused_programs();
    // A program that a rule refused fails with the same message as one that the sandbox denied.
    let denied = if !refused.is_empty() || ended == 0 { Vec::new() } else { denied(run, &output) };
    let object = json!({
        "sandbox": run.status.sandbox,
        "network": run.status.network,
        "rung": run.status.level,
        "limits": run.status.limits,
        "exitCode": ended,
        "output": output,
        "truncated": tail.truncated,
        "denied": denied,
        "notes": aftermath.notes,
        "refused": refused.iter().map(refused_program).collect::<Vec<_>>(),
    });
    let mut out = std::io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, &object)?;
    writeln!(out)?;
    out.flush()?;
    if aftermath.is_dangerous {
        return Err(dangerous());
    }
    Ok(code(ended))
}

async fn execute(run: &Run) -> Result<(i32, Tail, Aftermath), Failure> {
    let host = run.guard.host()?.unwrap_or_default().with_sandbox(Arc::clone(&run.confined));
    let command = Command::new(&run.program, &run.cwd)
        .arguments(run.arguments.clone())
        .environment(run.environment.iter().cloned());
    let mut tail = Tail::default();
    let mut process = match host.spawn(&command).await {
        Ok(process) => process,
        Err(error) => {
            let code = not_started(&error).into();
            tail.add(format!("pi: cannot run the command: {error}\n").as_bytes());
            return Ok((code, tail, Aftermath::default()));
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
                let lost = |error| Failure::failed(format!("cannot determine the exit status: {error}"));
                break ended.map_err(lost)?.unwrap_or(1);
            }
            ended = &mut signal => break ended,
        }
    };
    // Ends all remaining processes, which closes the output.
    let aftermath = process.tree.kill().await;
    while let (true, Ok(count @ 1..)) = (open, process.output.read(&mut buffer).await) {
        tail.add(&buffer[..count]);
    }
    tail.shorten();
    Ok((ended, tail, aftermath))
}

/// Returns a program that a rule refused, as JSON.
fn refused_program(part: &Part) -> Value {
    json!({ "command": part.what, "reason": part.reason, "rule": part.rule })
}

/// Returns what the sandbox denied, as far as it is known.
fn denied(run: &Run, output: &str) -> Vec<Denial> {
    let refused = run.guard.take_refused_hosts().into_iter();
    let mut denied: Vec<Denial> = refused.map(Denial::from).collect();
    denied.extend(explain_denial(&run.confined, &run.cwd, output));
    denied
}

/// Waits for a signal that ends the command, and returns its exit code.
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
