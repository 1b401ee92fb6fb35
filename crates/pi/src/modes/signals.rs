//! Signals that end a run early: the agent is aborted, its state is saved, and the exit code
//! reports the signal.

use std::process::ExitCode;
use std::time::Duration;

use pi_coding_agent::AgentRuntime;
use tokio::time::timeout;

use crate::exit::{Exit, Failure, note};

/// Time that an agent has to shut down.
const GRACE_PERIOD: Duration = Duration::from_secs(3);

/// Runs `work` until it completes or a signal arrives.
pub(super) async fn until_signal(
    runtime: &AgentRuntime,
    work: impl Future<Output = ExitCode>,
) -> ExitCode {
    let exit = unless_signal(runtime, work).await.unwrap_or_else(ExitCode::from);
    end_sandbox(runtime).await.map_or_else(|failure| failure.report(), |()| exit)
}

/// Reports what sandboxed commands left. Fails if that is dangerous.
pub(super) async fn end_sandbox(runtime: &AgentRuntime) -> Result<(), Failure> {
    let aftermath = runtime.finish_sandbox().await;
    for found in &aftermath.notes {
        note(found);
    }
    if !aftermath.is_dangerous {
        return Ok(());
    }
    let message = "commands left files that could not be disabled (see above)";
    let hint = "remove them before you run git in this directory".to_owned();
    Err(Failure::new(message, Exit::SandboxUnavailable).with_hint(hint))
}

/// Runs `work` until it completes, or returns the signal that ended it.
pub(super) async fn unless_signal<T>(
    runtime: &AgentRuntime,
    work: impl Future<Output = T>,
) -> Result<T, Exit> {
    tokio::pin!(work);
    let exit = tokio::select! {
        done = &mut work => {
            end_session(runtime).await;
            return Ok(done);
        }
        exit = signal() => exit,
    };
    // The work is polled meanwhile, so that it can save its state.
    let ended = async {
        tokio::select! {
            () = runtime.shut_down() => {}
            _ = &mut work => {}
        }
    };
    let _ = timeout(GRACE_PERIOD, ended).await;
    Err(exit)
}

/// Lets extensions and hooks see the end of the session. A signal ends the wait.
async fn end_session(runtime: &AgentRuntime) {
    if !runtime.registry().has_extensions() {
        return;
    }
    tokio::select! {
        () = runtime.shut_down() => {}
        _ = signal() => {}
    }
}

#[cfg(unix)]
pub(super) async fn signal() -> Exit {
    use tokio::signal::unix::{SignalKind, signal};
    let kinds = [
        (SignalKind::interrupt(), Exit::Aborted),
        (SignalKind::terminate(), Exit::Terminated),
        (SignalKind::hangup(), Exit::HungUp),
    ];
    let waiting = kinds.map(|(kind, exit)| {
        Box::pin(async move {
            match signal(kind) {
                Ok(mut signals) => drop(signals.recv().await),
                // Without a handler, the signal ends the process.
                Err(_) => std::future::pending().await,
            }
            exit
        })
    });
    let [interrupt, terminate, hangup] = waiting;
    tokio::select! {
        exit = interrupt => exit,
        exit = terminate => exit,
        exit = hangup => exit,
    }
}

#[cfg(not(unix))]
pub(super) async fn signal() -> Exit {
    match tokio::signal::ctrl_c().await {
        Ok(()) => Exit::Aborted,
        Err(_) => std::future::pending().await,
    }
}
