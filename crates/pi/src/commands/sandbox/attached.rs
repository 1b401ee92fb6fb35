//! Runs a command with the standard streams of this program.
//!
//! With bubblewrap, the command has its own session and process namespace, and all its processes end
//! with it and with this program. Without bubblewrap, it keeps the terminal; the processes it leaves
//! behind are killed when it ends, but if this program is killed with SIGKILL, they continue (still
//! sandboxed).

use std::io::IsTerminal as _;
use std::process::ExitStatus;

use pi_base::process::{self, Rights, Variables};
use pi_guard::confine::ConfinementLevel;
#[cfg(target_os = "linux")]
use pi_guard::confine::Leftover;
use tokio::process::{Child, Command};

use super::{Run, code, dangerous, not_started, refusal};
use crate::commands::{CommandResult, Failure};
use crate::exit::note;

pub(super) async fn run(run: &Run) -> CommandResult {
    #[cfg(target_os = "linux")]
    run.confined.record_repositories();
    let (program, arguments, environment) = (&run.program, &run.arguments, &run.environment);
    #[cfg(target_os = "linux")]
    let sandboxed = run.confined.direct_command(program, arguments, &run.cwd, environment);
    #[cfg(not(target_os = "linux"))]
    let sandboxed = run.confined.command(program, arguments, &run.cwd, environment);
    let directory = Some(run.cwd.as_path());
    let command = process::command(&sandboxed.program, directory, Variables::Empty, Rights::Judged);
    let mut command = Command::from(command);
    command.args(&sandboxed.arguments).envs(sandboxed.environment);
    // A command in its own process group cannot read from the terminal, unless it also has its own
    // session. A command in our process group receives the signals of the terminal directly.
    let own_group =
        run.confined.level() == ConfinementLevel::Bubblewrap || !std::io::stdin().is_terminal();
    let status = start(command, own_group).await;
    #[cfg(target_os = "linux")]
    let is_dangerous = {
        let leftovers = run.confined.disable_leftovers(true);
        for leftover in &leftovers {
            note(&leftover.to_string());
        }
        leftovers.iter().any(Leftover::is_dangerous)
    };
    #[cfg(not(target_os = "linux"))]
    let is_dangerous = false;
    run.guard.disable_agent_files().iter().for_each(|text| note(text));
    for refused in run.guard.take_refused_programs() {
        note(&refusal(&refused));
    }
    if is_dangerous {
        return Err(dangerous());
    }
    let name = run.program.to_string_lossy();
    match status {
        Ok(status) => Ok(code(status)),
        Err(Problem::Start(error)) => {
            note(&format!("cannot run {name}: {error}"));
            Ok(code(not_started(&error).into()))
        }
        Err(Problem::Wait(error)) => {
            Err(Failure::failed(format!("cannot determine the exit status of {name}: {error}")))
        }
    }
}

enum Problem {
    Start(std::io::Error),
    Wait(std::io::Error),
}

#[cfg(unix)]
async fn start(mut command: Command, own_group: bool) -> Result<i32, Problem> {
    use super::signals::{Signals, adopt_orphans, end_children, forward};
    if own_group {
        command.process_group(0);
    }
    // Installed before the command starts, so that no signal is lost.
    let mut signals = Signals::new().map_err(Problem::Start)?;
    adopt_orphans();
    let mut child = command.spawn().map_err(Problem::Start)?;
    let status = loop {
        tokio::select! {
            status = child.wait() => break status.map_err(Problem::Wait)?,
            signal = signals.next() => forward(signal, id(&child), own_group),
        }
    };
    end_children();
    Ok(exit_code(status))
}

#[cfg(not(unix))]
async fn start(mut command: Command, _: bool) -> Result<i32, Problem> {
    let mut child = command.spawn().map_err(Problem::Start)?;
    child.wait().await.map(exit_code).map_err(Problem::Wait)
}

#[cfg(unix)]
fn id(child: &Child) -> Option<i32> {
    child.id().map(u32::cast_signed)
}

/// Returns the exit code as shells report it.
fn exit_code(status: ExitStatus) -> i32 {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return 128 + signal;
    }
    status.code().unwrap_or(1)
}
