//! The supervisor process. No async runtime, two threads: one waits for the program that asked for
//! the command, one waits for child processes.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use pi_base::process::{Rights, Variables, command};
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, WaitStatus, getpid, set_child_subreaper, setsid, wait};
use rustix::stdio::{dup2_stderr, dup2_stdout, stdin};

use super::{message, tree};

/// Pauses between two rounds of killing. The kernel needs a moment to remove a process, and much
/// longer for a process that hangs in a system call.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// Runs the requested command until none of its processes is left.
pub(super) fn run() -> io::Result<()> {
    set_child_subreaper(Some(getpid()))?;
    // Detached from the terminal: its signals are for the program, and no command may open it.
    setsid()?;
    let input = message::receive_input(stdin())?.map_or_else(Stdio::null, Stdio::from);
    let mut words = message::read_request(io::stdin().lock())?.into_iter();
    let program = words.next().ok_or(io::ErrorKind::InvalidData)?;
    thread::Builder::new().spawn(kill_when_closed)?;
    // The program has prepared directory and variables of this process for the command.
    let mut start = command(program, None, Variables::Inherited, Rights::Judged);
    let started = start.args(words).stdin(input).process_group(0).spawn();
    let sent = reply(message::reply_started(started.as_ref().map(|_| ())));
    let Ok(child) = started else { return sent };

    // From here on nothing may fail, because a process has to be ended. If the program is gone,
    // the other thread notices; a supervisor that keeps the output open only costs a moment.
    let _ = release_shared();
    reap(child.id())
}

/// Releases what this process shares with the command: the output, which must end when the
/// command's own copies are closed, and the working directory, which must be removable then.
fn release_shared() -> io::Result<()> {
    std::env::set_current_dir("/")?;
    let null = OpenOptions::new().write(true).open("/dev/null")?;
    dup2_stdout(&null)?;
    dup2_stderr(&null)?;
    Ok(())
}

/// Waits until the program closes its end of the socket, by intention or by death. Then kills
/// everything below this process until the other thread sees that nothing is left and exits.
fn kill_when_closed() {
    let own = getpid().as_raw_nonzero().get().cast_unsigned();
    let mut byte = [0];
    loop {
        match io::stdin().lock().read(&mut byte) {
            Ok(0) => break,
            Ok(_) if byte == [message::TERMINATE] => tree::terminate_descendants(own),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // The program died with unread replies.
            Err(_) => break,
        }
    }
    let mut pause = FIRST_PAUSE;
    loop {
        // New processes may have started while the list was made.
        tree::kill_descendants(own);
        thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Waits for all children, including adopted orphans, until there are none.
fn reap(command: u32) -> io::Result<()> {
    let command = Pid::from_raw(command.cast_signed());
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((id, status))) if Some(id) == command => {
                // Even if the program is gone, the remaining processes have to be awaited.
                let _ = reply(message::reply_exited(exit_code(status)));
            }
            Ok(_) | Err(Errno::INTR) => {}
            // A process becomes our child before the end of its parent is reported here, so no
            // children means no descendants.
            Err(Errno::CHILD) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}

fn exit_code(status: WaitStatus) -> i32 {
    let killed = || status.terminating_signal().map(|signal| 128 + signal);
    status.exit_status().or_else(killed).unwrap_or_default()
}

/// Sends a reply. The socket to the program is standard input, in both directions.
fn reply(reply: [u8; message::REPLY]) -> io::Result<()> {
    rustix::io::write(stdin(), &reply)?;
    Ok(())
}
