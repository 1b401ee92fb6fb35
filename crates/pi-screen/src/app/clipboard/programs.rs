//! Runs the programs that reach the clipboard.

use std::process::Stdio;
use std::time::Duration;

use pi_base::process::{self, Rights, Variables};
use pi_tui::terminal::clipboard::{Attempt, Claim, Command, Read};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command as Process};
use tokio::time::timeout;

/// Time that a program has.
const PATIENCE: Duration = Duration::from_secs(3);

/// The most bytes that are read from the clipboard.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// Result of copying.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Copied {
    /// The program that put the text into the clipboard.
    pub(super) by: Option<&'static str>,
    /// The program that passed it on to a terminal.
    pub(super) sent_by: Option<&'static str>,
    /// The terminal is to be asked.
    pub(super) wants_terminal: bool,
}

/// Copies a text in the first way that works.
pub(super) async fn copy(text: String, attempts: Vec<Attempt>) -> Copied {
    let mut copied = Copied::default();
    for attempt in attempts {
        let claim = attempt.claim();
        let Attempt::Run { command, encoding, .. } = attempt else {
            copied.wants_terminal = true;
            continue;
        };
        if !matches!(timeout(PATIENCE, write(&command, &encoding.encode(&text))).await, Ok(true)) {
            continue;
        }
        if claim == Claim::Copied {
            copied.by = Some(command.program);
            return copied;
        }
        copied.sent_by = Some(command.program);
    }
    copied
}

/// Returns true if the program took the text and succeeded.
async fn write(command: &Command, text: &[u8]) -> bool {
    let Some(mut child) = spawn(command, Stdio::piped(), Stdio::null()) else { return false };
    let Some(mut input) = child.stdin.take() else { return false };
    if input.write_all(text).await.is_err() {
        return false;
    }
    drop(input);
    child.wait().await.is_ok_and(|status| status.success())
}

/// Returns what the first program finds in the clipboard. The names of all programs that were tried
/// are added to `tried`.
pub(super) async fn read(reads: Vec<Read>, tried: &mut Vec<&'static str>) -> Option<Vec<u8>> {
    for read in reads {
        let program = read.command.program;
        if !tried.contains(&program) {
            tried.push(program);
        }
        let bytes = timeout(PATIENCE, output(&read.command)).await.ok().flatten();
        if let Some(content) = bytes.and_then(|bytes| read.output.decode(&bytes)) {
            return Some(content);
        }
    }
    None
}

async fn output(command: &Command) -> Option<Vec<u8>> {
    let mut child = spawn(command, Stdio::null(), Stdio::piped())?;
    let mut bytes = Vec::new();
    child.stdout.take()?.take(MOST_BYTES).read_to_end(&mut bytes).await.ok()?;
    let status = child.wait().await.ok()?;
    status.success().then_some(bytes)
}

fn spawn(command: &Command, input: Stdio, output: Stdio) -> Option<Child> {
    let start = process::command(command.program, None, Variables::Inherited, Rights::User);
    let mut process = Process::from(start);
    process.args(&command.arguments).stdin(input).stdout(output).stderr(Stdio::null());
    process.kill_on_drop(true).spawn().ok()
}
