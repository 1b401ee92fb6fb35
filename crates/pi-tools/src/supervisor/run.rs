//! What a supervisor does. No runtime, two threads: one waits for the program, one for children.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, WaitStatus, getpid, set_child_subreaper, setsid, wait};
use rustix::stdio::{dup2_stderr, dup2_stdout, stdin};

use super::{message, tree};

/// Between two rounds of killing: the kernel needs a moment to take a process away, and for some,
/// that hang in it, much longer.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// Runs what it is told to, until nothing of it is left.
pub(super) fn run() -> io::Result<()> {
    set_child_subreaper(Some(getpid()))?;
    // Away from the terminal: its signals are for the program, and no command may open it.
    setsid()?;
    let (input, words) = message::read_request(io::stdin().lock())?;
    let input = match input {
        message::Input::Empty => Stdio::null(),
        message::Input::Output => Stdio::from(io::stdout().as_fd().try_clone_to_owned()?),
    };
    let mut words = words.into_iter();
    let program = words.next().ok_or(io::ErrorKind::InvalidData)?;
    thread::Builder::new().spawn(kill_when_asked)?;
    let started = Command::new(program).args(words).stdin(input).process_group(0).spawn();
    let told = reply(message::reply_started(started.as_ref().map(|_| ())));
    let Ok(child) = started else { return told };

    // From here on nothing may fail: there is somebody to end. If nobody was listening, the other
    // thread knows; and a supervisor that keeps the output open only costs a moment.
    let _ = let_go();
    reap(child.id())
}

/// Gives up what it shares with the command: the output, which ends when the command's own copies
/// are closed, and the directory, which can be removed then.
fn let_go() -> io::Result<()> {
    std::env::set_current_dir("/")?;
    let null = OpenOptions::new().write(true).open("/dev/null")?;
    dup2_stdout(&null)?;
    dup2_stderr(&null)?;
    Ok(())
}

/// Waits until the program closes its end, by intention or by death; then kills everything below
/// this process until the other thread sees that nothing is left, and ends it.
fn kill_when_asked() {
    let mut byte = [0];
    loop {
        match io::stdin().lock().read(&mut byte) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // It died with something unread.
            Err(_) => break,
        }
    }
    let own = getpid().as_raw_nonzero().get().cast_unsigned();
    let mut pause = FIRST_PAUSE;
    loop {
        // New ones may have been started while the list was made.
        tree::kill_descendants(own);
        thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Waits for all children, of which orphans become some, until there are none.
fn reap(command: u32) -> io::Result<()> {
    let command = Pid::from_raw(command.cast_signed());
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((id, status))) if Some(id) == command => {
                // If nobody listens any more, there is still the rest to wait for.
                let _ = reply(message::reply_exited(exit_code(status)));
            }
            Ok(_) | Err(Errno::INTR) => {}
            // A process becomes our child before its parent's end can be seen here, so no children
            // means no descendants.
            Err(Errno::CHILD) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}

fn exit_code(status: WaitStatus) -> i32 {
    let killed = || status.terminating_signal().map(|signal| 128 + signal);
    status.exit_status().or_else(killed).unwrap_or_default()
}

/// The socket to the program is standard input, in both directions.
fn reply(reply: [u8; message::REPLY]) -> io::Result<()> {
    rustix::io::write(stdin(), &reply)?;
    Ok(())
}
