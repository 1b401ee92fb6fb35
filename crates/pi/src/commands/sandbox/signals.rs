//! Forwarding of signals to a command, and cleanup of its processes.

use std::fs;
use std::io;

use rustix::process::{
    Pid, Signal, WaitOptions, getpgid, getpgrp, kill_process, kill_process_group, waitpid,
};
use tokio::signal::unix::{SignalKind, signal};

/// The signals that are forwarded.
pub(super) struct Signals {
    interrupt: tokio::signal::unix::Signal,
    quit: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hangup: tokio::signal::unix::Signal,
}

impl Signals {
    /// Installs the handlers. From then on, the signals do not end this program.
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            quit: signal(SignalKind::quit())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for the next signal.
    pub(super) async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupt.recv() => Signal::INT,
            _ = self.quit.recv() => Signal::QUIT,
            _ = self.terminate.recv() => Signal::TERM,
            _ = self.hangup.recv() => Signal::HUP,
        }
    }
}

/// Forwards a signal to the command with this process id. If `own_group`, the command is not in our
/// process group, so it does not receive the signals of the terminal.
pub(super) fn forward(signal: Signal, started: Option<i32>, own_group: bool) {
    let Some(started) = started.and_then(Pid::from_raw) else { return };
    if !own_group {
        if signal == Signal::TERM || signal == Signal::HUP {
            // Fails if the command has just ended; the same below.
            let _ = kill_process(started, signal);
        }
        return;
    }
    let command = inside(started);
    let _ = match getpgid(Some(command)) {
        Ok(group) if group != getpgrp() => kill_process_group(group, signal),
        _ => kill_process(command, signal),
    };
}

/// Returns the process of the command itself, which is a descendant of the bubblewrap processes.
fn inside(started: Pid) -> Pid {
    let is_wrapper = |id: Pid| {
        let name = fs::read_to_string(format!("/proc/{}/comm", id.as_raw_nonzero()));
        name.is_ok_and(|name| name.trim_end() == "bwrap")
    };
    let mut at = started;
    while is_wrapper(at) {
        let Some(below) = children(at).into_iter().next() else { break };
        at = below;
    }
    at
}

/// Returns the children of a process, oldest first.
fn children(of: Pid) -> Vec<Pid> {
    let tasks = fs::read_dir(format!("/proc/{}/task", of.as_raw_nonzero()));
    let mut found = Vec::new();
    for task in tasks.into_iter().flatten().flatten() {
        let listed = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        let ids = listed.split_ascii_whitespace().filter_map(|id| id.parse().ok());
        found.extend(ids.filter_map(Pid::from_raw));
    }
    found
}

/// Makes this process the parent of orphaned processes of the command.
pub(super) fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    // If this fails, orphaned processes are not found.
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

/// Kills all children, including those adopted meanwhile.
pub(super) fn end_children() {
    loop {
        let left = children(rustix::process::getpid());
        if left.is_empty() {
            return;
        }
        for id in left {
            let _ = kill_process(id, Signal::KILL);
            let _ = waitpid(Some(id), WaitOptions::empty());
        }
    }
}
