//! The other end of the filter: receives calls and answers them.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, poll};

use crate::filter::{ARCHITECTURES, Form, Reported};

/// Wakes the other process on the processor of this one, as of Linux 6.6: half of the time of an
/// answer is that wake-up.
const SYNC_WAKE_UP: u64 = 1;

/// Receives the calls of all processes with one filter.
#[derive(Debug)]
pub struct Listener {
    descriptor: OwnedFd,
    reported: Reported,
}

/// A call that waits for an answer.
#[derive(Debug)]
pub struct Event {
    id: u64,
    /// The thread that makes the call, as this process numbers it.
    pub thread: u32,
    /// The call.
    pub call: Call,
}

/// What a process is about to do. Addresses are in its memory, which its other threads may change
/// at any time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// The process is about to become another program.
    Exec {
        /// The descriptor to which the path is relative, unless that is the working directory.
        directory: Option<i32>,
        /// The address of the path.
        path: u64,
        /// The address of the list of addresses of the arguments.
        arguments: u64,
        /// The bytes of an address.
        pointer: usize,
    },
    /// The process has become another program, which has hardly begun.
    Started,
    /// The process is about to open a file or to look for one.
    File {
        /// The descriptor to which the path is relative, unless that is the working directory.
        directory: Option<i32>,
        /// The address of the path.
        path: u64,
        /// What the call asks for.
        use_of: FileUse,
    },
    /// The process is about to change the names in one or two directories, or a file by its name.
    Change {
        /// The path that is changed, with the descriptor to which it is relative.
        first: (Option<i32>, u64),
        /// The other path of a call that renames.
        second: Option<(Option<i32>, u64)>,
    },
}

/// The use of a file that a call asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileUse {
    /// The content of a file, or the list of a directory.
    Read,
    /// Writing without reading.
    Write,
    /// The existence or the properties of a file.
    Look,
}

impl Listener {
    /// Listens with a descriptor that [`install`](crate::install) returned for the same calls.
    #[must_use]
    pub fn new(descriptor: OwnedFd, reported: Reported) -> Self {
        // Older kernels refuse, and are slower.
        let _ = request(&descriptor, libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS, SYNC_WAKE_UP);
        Self { descriptor, reported }
    }

    /// Waits for a call. Returns `None` if no process with the filter is left.
    pub fn next_event(&self) -> io::Result<Option<Event>> {
        loop {
            let mut ready = [PollFd::new(&self.descriptor, PollFlags::IN)];
            match poll(&mut ready, None) {
                Err(rustix::io::Errno::INTR) => continue,
                polled => polled?,
            };
            let events = ready[0].revents();
            if !events.contains(PollFlags::IN) {
                return Ok(None);
            }
            match self.receive() {
                Ok(event) => return Ok(Some(event)),
                // The process was killed in between.
                Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EINTR)) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns true if the call still waits. What was read about the thread by its number is about
    /// the right one only if this holds afterwards.
    pub fn is_pending(&self, event: &Event) -> bool {
        let mut id = event.id;
        #[allow(unsafe_code)]
        // SAFETY: the request reads one number, which lives until the call returns.
        let result = unsafe {
            libc::ioctl(
                self.descriptor.as_raw_fd(),
                libc::SECCOMP_IOCTL_NOTIF_ID_VALID,
                &raw mut id,
            )
        };
        result == 0
    }

    /// Lets the call continue. An error means that the process is gone.
    pub fn permit(&self, event: &Event) -> io::Result<()> {
        // The flag is the lowest bit.
        self.answer(libc::seccomp_notif_resp { id: event.id, val: 0, error: 0, flags: 1 })
    }

    /// Makes the call fail with `EPERM`. An error means that the process is gone.
    pub fn refuse(&self, event: &Event) -> io::Result<()> {
        let error = -libc::EPERM;
        self.answer(libc::seccomp_notif_resp { id: event.id, val: 0, error, flags: 0 })
    }

    fn receive(&self) -> io::Result<Event> {
        let data = libc::seccomp_data { nr: 0, arch: 0, instruction_pointer: 0, args: [0; 6] };
        let mut received = libc::seccomp_notif { id: 0, pid: 0, flags: 0, data };
        #[allow(unsafe_code)]
        // SAFETY: the kernel writes one `seccomp_notif`, for which there is room and which may
        // have any content. It must be zero before, and is.
        let result = unsafe {
            libc::ioctl(
                self.descriptor.as_raw_fd(),
                libc::SECCOMP_IOCTL_NOTIF_RECV,
                &raw mut received,
            )
        };
        if result < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Event {
            id: received.id,
            thread: received.pid,
            call: call(&received.data, self.reported),
        })
    }

    fn answer(&self, mut answer: libc::seccomp_notif_resp) -> io::Result<()> {
        #[allow(unsafe_code)]
        // SAFETY: the kernel reads one `seccomp_notif_resp`, which lives until the call returns.
        let result = unsafe {
            libc::ioctl(
                self.descriptor.as_raw_fd(),
                libc::SECCOMP_IOCTL_NOTIF_SEND,
                &raw mut answer,
            )
        };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

/// Makes a request whose argument is a number.
fn request(descriptor: &OwnedFd, request: libc::Ioctl, value: u64) -> io::Result<()> {
    #[allow(unsafe_code)]
    // SAFETY: this request takes a number and accesses no memory.
    let result = unsafe { libc::ioctl(descriptor.as_raw_fd(), request, value) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn call(data: &libc::seccomp_data, reported: Reported) -> Call {
    let architecture = ARCHITECTURES.iter().find(|known| known.id == data.arch);
    let number = data.nr.cast_unsigned();
    let Some(architecture) = architecture else { return Call::Started };
    let [first, second, third, ..] = data.args;
    let pointer = architecture.pointer;
    if number == architecture.execve {
        return Call::Exec { directory: None, path: first, arguments: second, pointer };
    }
    if number == architecture.execveat {
        let directory = descriptor(first);
        return Call::Exec { directory, path: second, arguments: third, pointer };
    }
    if reported == Reported::ProgramsAndChanges {
        let form = architecture.changes.iter().find(|change| change.number == number);
        return form.map_or(Call::Started, |change| change_of(change.form, &data.args));
    }
    let Some(file) = architecture.files.iter().find(|file| file.number == number) else {
        return Call::Started;
    };
    let (directory, path, use_of) = match file.form {
        Form::Open => (None, first, opening(second)),
        Form::OpenAt => (descriptor(first), second, opening(third)),
        // Its flags are in memory.
        Form::OpenAt2 => (descriptor(first), second, FileUse::Read),
        Form::Look => (None, first, FileUse::Look),
        Form::LookAt | Form::LookAtWithFlags(_) => (descriptor(first), second, FileUse::Look),
        // Those of the other table.
        _ => return Call::Started,
    };
    Call::File { directory, path, use_of }
}

fn change_of(form: Form, arguments: &[u64; 6]) -> Call {
    let [a, b, c, d, ..] = *arguments;
    let (first, second) = match form {
        Form::ChangeAt | Form::OpenAtToChange => ((descriptor(a), b), None),
        Form::ChangeTwo => ((None, a), Some((None, b))),
        Form::ChangeTwoAt => ((descriptor(a), b), Some((descriptor(c), d))),
        Form::ChangeSecond => ((None, b), None),
        Form::ChangeSecondAt => ((descriptor(b), c), None),
        Form::ChangeLastAt => ((descriptor(c), d), None),
        _ => ((None, a), None),
    };
    Call::Change { first, second }
}

/// Returns the directory of a call, unless it is the working directory. A descriptor is a 32-bit
/// number, whose upper half the kernel ignores.
fn descriptor(argument: u64) -> Option<i32> {
    let directory = ((argument & 0xFFFF_FFFF) as u32).cast_signed();
    (directory != libc::AT_FDCWD).then_some(directory)
}

fn opening(flags: u64) -> FileUse {
    let mode = libc::O_ACCMODE.cast_unsigned();
    let writes = (flags & u64::from(mode)) == u64::from(libc::O_WRONLY.cast_unsigned());
    if writes { FileUse::Write } else { FileUse::Read }
}
