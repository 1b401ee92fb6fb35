//! A command with the streams of this program: people can talk to it.
//!
//! With bubblewrap the command is in a session and among processes of its own, and all of them end
//! with it and with this program. Without, it keeps the terminal; what it leaves behind is killed
//! when it has ended, but if this program is killed outright, it goes on (as confined as before).

use std::io::IsTerminal as _;
use std::process::ExitStatus;

use pi_guard::confine::ConfinementLevel;
use tokio::process::{Child, Command};

use super::{Run, code, not_started};
use crate::commands::{Done, Failure};
use crate::exit::note;

pub(super) async fn run(run: &Run) -> Done {
    let held = run.confined.command(&run.program, &run.arguments, &run.cwd, &run.environment);
    let mut command = Command::new(&held.program);
    command.args(&held.arguments).env_clear().envs(held.environment).current_dir(&run.cwd);
    // Whoever is in a process group of its own cannot read from the terminal, unless it is also in
    // a session of its own; whoever is not gets the terminal's signals without our help.
    let apart =
        run.confined.level() == ConfinementLevel::Bubblewrap || !std::io::stdin().is_terminal();
    let status = start(command, apart).await;
    let name = run.program.to_string_lossy();
    match status {
        Ok(status) => Ok(code(status)),
        Err(Problem::Start(error)) => {
            note(&format!("{name} cannot be run: {error}"));
            Ok(code(not_started(&error).into()))
        }
        Err(Problem::Wait(error)) => {
            Err(Failure::Failed(format!("nobody knows how {name} ended: {error}")))
        }
    }
}

enum Problem {
    Start(std::io::Error),
    Wait(std::io::Error),
}

#[cfg(unix)]
async fn start(mut command: Command, apart: bool) -> Result<i32, Problem> {
    use super::signals::{Signals, adopt_orphans, end_children, forward};
    if apart {
        command.process_group(0);
    }
    // Before there is a command that a signal could miss.
    let mut signals = Signals::new().map_err(Problem::Start)?;
    adopt_orphans();
    let mut child = command.spawn().map_err(Problem::Start)?;
    let status = loop {
        tokio::select! {
            status = child.wait() => break status.map_err(Problem::Wait)?,
            signal = signals.next() => forward(signal, id(&child), apart),
        }
    };
    end_children();
    Ok(ended(status))
}

#[cfg(not(unix))]
async fn start(mut command: Command, _: bool) -> Result<i32, Problem> {
    let mut child = command.spawn().map_err(Problem::Start)?;
    child.wait().await.map(ended).map_err(Problem::Wait)
}

#[cfg(unix)]
fn id(child: &Child) -> Option<i32> {
    child.id().map(u32::cast_signed)
}

/// As shells tell it.
fn ended(status: ExitStatus) -> i32 {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return 128 + signal;
    }
    status.code().unwrap_or(1)
}
