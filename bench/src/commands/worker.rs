//! A separate process that runs commands and reports the cost: nothing else has left memory, threads
//! or descriptors in it.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use pi_agent::{AgentTool, Invocation, ToolError, ToolOutput, Updates};
use pi_protocol::{CancelToken, UserBlock};
use pi_tools::supervisor::Supervisor;
use pi_tools::{BashSettings, Host, Workspace, bash};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Failure;
use crate::clock::{children, own};
use crate::process::{Usage, holdings};
use crate::table::millis;

/// The cost of one command with long output, in milliseconds and megabytes.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Output {
    pub(super) own: f64,
    pub(super) supervisor: f64,
    pub(super) peak: f64,
}

/// The resources before and after many commands, and the cost of each in milliseconds.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Short {
    pub(super) before: [usize; 4],
    pub(super) after: [usize; 4],
    pub(super) own: f64,
    pub(super) children: f64,
}

/// Measures in another process.
pub(super) fn measure<T: DeserializeOwned>(arguments: &[&str]) -> Result<T, Failure> {
    let mut command = Command::new(std::env::current_exe()?);
    let done = command.stdin(Stdio::null()).arg("worker").args(arguments).output()?;
    serde_json::from_slice(&done.stdout).map_err(|error| {
        let stderr = String::from_utf8_lossy(&done.stderr);
        format!(
            "the measuring process failed: {error}
{stderr}"
        )
        .into()
    })
}

/// Measures in this process and prints the result.
#[allow(clippy::print_stdout)]
pub(crate) fn perform(arguments: &[&str]) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let answer = match arguments {
        ["output", path] => json!(runtime.block_on(output(Path::new(path)))?),
        ["many", times] => {
            let times = times.parse().map_err(std::io::Error::other)?;
            json!(runtime.block_on(short(times))?)
        }
        other => json!(format!("{other:?}")),
    };
    println!("{answer}");
    Ok(())
}

/// Creates a workspace whose commands this program supervises.
pub(super) fn workspace(cwd: &Path, output_directory: Option<&Path>) -> Arc<Workspace> {
    let host = Host::default().with_supervisor(Supervisor::this_program());
    let mut settings = BashSettings::default();
    settings.environment.insert("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into());
    settings.output_directory = output_directory.map(Path::to_owned);
    Arc::new(Workspace::new(Arc::new(host), cwd.to_owned(), None).with_bash(settings))
}

async fn run(workspace: &Arc<Workspace>, command: &str) -> Result<ToolOutput, ToolError> {
    let arguments = json!({ "command": command }).as_object().cloned().unwrap_or_default();
    let (cancel, updates) = (CancelToken::new(), Updates::new(|_| {}));
    let invocation = Invocation::new("", arguments, cancel, updates);
    bash(Arc::clone(workspace)).execute(invocation).await
}

async fn output(path: &Path) -> Result<Output, Failure> {
    let directory = tempfile::tempdir()?;
    let workspace = workspace(path.parent().unwrap_or(Path::new("/")), Some(directory.path()));
    let before = own();
    // The parent of the shell is the supervisor, and the scheduler knows its time.
    let result = run(&workspace, "cat big; echo; cat /proc/$PPID/schedstat").await?;
    let own = own().saturating_sub(before);
    let peak = Usage::of(std::process::id()).peak().unwrap_or_default();
    let text: String = result.content.iter().filter_map(UserBlock::as_text).collect();
    // The last line before the notice about omitted lines.
    let mut nanoseconds = text.lines().filter_map(|line| {
        let numbers: Result<Vec<u64>, _> = line.split(' ').map(str::parse).collect();
        numbers.ok().filter(|numbers| numbers.len() == 3).map(|numbers| numbers[0])
    });
    let nanoseconds = nanoseconds.next_back();
    let supervisor = nanoseconds.map(Duration::from_nanos).unwrap_or_default();
    Ok(Output { own: millis(own), supervisor: millis(supervisor), peak })
}

async fn short(times: u32) -> Result<Short, Failure> {
    let workspace = workspace(Path::new("/"), None);
    run(&workspace, "true").await?;
    let (before, own_before, children_before) = (holdings(), own(), children());
    for _ in 0..times {
        run(&workspace, "true").await?;
    }
    let each = |now: Duration, before| millis(now.saturating_sub(before)) / f64::from(times);
    let (own, children) = (each(own(), own_before), each(children(), children_before));
    Ok(Short { before, after: holdings(), own, children })
}
