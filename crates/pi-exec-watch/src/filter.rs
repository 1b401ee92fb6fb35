//! The filter of system calls whose matches go to a listener.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::thread;

use libc::sock_filter;

/// The calls that a filter reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reported {
    /// Starts of programs.
    Programs,
    /// Starts of programs, and calls that open a file or look for one.
    ProgramsAndFiles,
    /// Starts of programs, and calls that change a file or a directory, or open a file to do so.
    ProgramsAndChanges,
}

/// A call that opens a file or looks for one.
#[derive(Debug)]
pub(crate) struct FileCall {
    pub(crate) number: u32,
    pub(crate) form: Form,
}

/// The arguments of a file call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// `open`: a path and flags.
    Open,
    /// `openat`: a directory, a path and flags.
    OpenAt,
    /// `openat2`: a directory, a path and a structure.
    OpenAt2,
    /// `stat`, `lstat`, `access`: a path.
    Look,
    /// `faccessat`: a directory and a path.
    LookAt,
    /// A directory, a path, and flags in this argument. With an empty path, the call is about an
    /// open file, and is not reported.
    LookAtWithFlags(u32),
    /// `open`, if its flags say that the file is written, created or cut.
    OpenToChange,
    /// `openat`, likewise.
    OpenAtToChange,
    /// `unlink`, `mkdir`, `truncate`, `chmod`: a path.
    Change,
    /// The same in a directory.
    ChangeAt,
    /// `rename`: two paths.
    ChangeTwo,
    /// `renameat`: a directory and a path, twice.
    ChangeTwoAt,
    /// `symlink`, `link`: the second path is created.
    ChangeSecond,
    /// `symlinkat`: a text, a directory and a path.
    ChangeSecondAt,
    /// `linkat`: a directory and a path, twice; the second path is created.
    ChangeLastAt,
}

const fn file(number: u32, form: Form) -> FileCall {
    FileCall { number, form }
}

/// The calls of one architecture that are reported.
#[derive(Debug)]
pub(crate) struct Architecture {
    /// The number by which the kernel names it (`AUDIT_ARCH_*`).
    pub(crate) id: u32,
    pub(crate) execve: u32,
    pub(crate) execveat: u32,
    /// A call that the start-up code of every program makes once, and new threads do not.
    started: u32,
    /// The first argument of that call, if others with the same number are not meant.
    started_with: Option<u32>,
    /// The bytes of a pointer.
    pub(crate) pointer: usize,
    pub(crate) files: &'static [FileCall],
    pub(crate) changes: &'static [FileCall],
}

/// The architectures whose programs this machine runs, the native one first.
#[cfg(target_arch = "x86_64")]
pub(crate) const ARCHITECTURES: &[Architecture] = &[
    // `arch_prctl(ARCH_SET_FS)` and `set_thread_area`: thread-local storage of the first thread.
    Architecture {
        id: 0xC000_003E,
        execve: 59,
        execveat: 322,
        started: 158,
        started_with: Some(0x1002),
        pointer: 8,
        files: &[
            file(2, Form::Open),
            file(4, Form::Look),
            file(6, Form::Look),
            file(21, Form::Look),
            file(257, Form::OpenAt),
            file(262, Form::LookAtWithFlags(3)),
            file(269, Form::LookAt),
            file(332, Form::LookAtWithFlags(2)),
            file(437, Form::OpenAt2),
            file(439, Form::LookAtWithFlags(3)),
        ],
        changes: &[
            file(2, Form::OpenToChange),
            file(76, Form::Change),
            file(82, Form::ChangeTwo),
            file(83, Form::Change),
            file(84, Form::Change),
            file(85, Form::Change),
            file(86, Form::ChangeSecond),
            file(87, Form::Change),
            file(88, Form::ChangeSecond),
            file(90, Form::Change),
            file(133, Form::Change),
            file(257, Form::OpenAtToChange),
            file(258, Form::ChangeAt),
            file(259, Form::ChangeAt),
            file(263, Form::ChangeAt),
            file(264, Form::ChangeTwoAt),
            file(265, Form::ChangeLastAt),
            file(266, Form::ChangeSecondAt),
            file(268, Form::ChangeAt),
            file(316, Form::ChangeTwoAt),
            file(437, Form::ChangeAt),
            file(452, Form::ChangeAt),
        ],
    },
    Architecture {
        id: 0x4000_0003,
        execve: 11,
        execveat: 358,
        started: 243,
        started_with: None,
        pointer: 4,
        files: &[
            file(5, Form::Open),
            file(33, Form::Look),
            file(106, Form::Look),
            file(107, Form::Look),
            file(195, Form::Look),
            file(196, Form::Look),
            file(295, Form::OpenAt),
            file(300, Form::LookAtWithFlags(3)),
            file(307, Form::LookAt),
            file(383, Form::LookAtWithFlags(2)),
            file(437, Form::OpenAt2),
            file(439, Form::LookAtWithFlags(3)),
        ],
        changes: &[
            file(5, Form::OpenToChange),
            file(8, Form::Change),
            file(9, Form::ChangeSecond),
            file(10, Form::Change),
            file(14, Form::Change),
            file(15, Form::Change),
            file(38, Form::ChangeTwo),
            file(39, Form::Change),
            file(40, Form::Change),
            file(83, Form::ChangeSecond),
            file(92, Form::Change),
            file(193, Form::Change),
            file(295, Form::OpenAtToChange),
            file(296, Form::ChangeAt),
            file(297, Form::ChangeAt),
            file(301, Form::ChangeAt),
            file(302, Form::ChangeTwoAt),
            file(303, Form::ChangeLastAt),
            file(304, Form::ChangeSecondAt),
            file(306, Form::ChangeAt),
            file(353, Form::ChangeTwoAt),
            file(437, Form::ChangeAt),
            file(452, Form::ChangeAt),
        ],
    },
];
#[cfg(target_arch = "aarch64")]
pub(crate) const ARCHITECTURES: &[Architecture] = &[
    // `set_tid_address` and `set_tls`. Programs of Go make neither call on this architecture.
    Architecture {
        id: 0xC000_00B7,
        execve: 221,
        execveat: 281,
        started: 96,
        started_with: None,
        pointer: 8,
        files: &[
            file(48, Form::LookAt),
            file(56, Form::OpenAt),
            file(79, Form::LookAtWithFlags(3)),
            file(291, Form::LookAtWithFlags(2)),
            file(437, Form::OpenAt2),
            file(439, Form::LookAtWithFlags(3)),
        ],
        changes: &[
            file(33, Form::ChangeAt),
            file(34, Form::ChangeAt),
            file(35, Form::ChangeAt),
            file(36, Form::ChangeSecondAt),
            file(37, Form::ChangeLastAt),
            file(38, Form::ChangeTwoAt),
            file(45, Form::Change),
            file(53, Form::ChangeAt),
            file(56, Form::OpenAtToChange),
            file(276, Form::ChangeTwoAt),
            file(437, Form::ChangeAt),
            file(452, Form::ChangeAt),
        ],
    },
    Architecture {
        id: 0x4000_0028,
        execve: 11,
        execveat: 387,
        started: 0x000F_0005,
        started_with: None,
        pointer: 4,
        files: &[
            file(5, Form::Open),
            file(33, Form::Look),
            file(195, Form::Look),
            file(196, Form::Look),
            file(322, Form::OpenAt),
            file(327, Form::LookAtWithFlags(3)),
            file(334, Form::LookAt),
            file(397, Form::LookAtWithFlags(2)),
            file(437, Form::OpenAt2),
            file(439, Form::LookAtWithFlags(3)),
        ],
        changes: &[
            file(5, Form::OpenToChange),
            file(8, Form::Change),
            file(9, Form::ChangeSecond),
            file(10, Form::Change),
            file(14, Form::Change),
            file(15, Form::Change),
            file(38, Form::ChangeTwo),
            file(39, Form::Change),
            file(40, Form::Change),
            file(83, Form::ChangeSecond),
            file(92, Form::Change),
            file(193, Form::Change),
            file(322, Form::OpenAtToChange),
            file(323, Form::ChangeAt),
            file(324, Form::ChangeAt),
            file(328, Form::ChangeAt),
            file(329, Form::ChangeTwoAt),
            file(330, Form::ChangeLastAt),
            file(331, Form::ChangeSecondAt),
            file(333, Form::ChangeAt),
            file(382, Form::ChangeTwoAt),
            file(437, Form::ChangeAt),
            file(452, Form::ChangeAt),
        ],
    },
];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) const ARCHITECTURES: &[Architecture] = &[];

/// Operations of filters: load a word of the data, compare, return.
const LOAD: u16 = 0x20;
const EQUAL: u16 = 0x15;
const AT_LEAST: u16 = 0x35;
const ANY_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;

/// The flag of a call that is about an open file.
const EMPTY_PATH: u32 = 0x1000;

/// The flags of a call that opens a file to write, create or cut it.
const CHANGING: u32 = (libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC).cast_unsigned();

/// Positions in the data of a filter. Both architectures are little-endian, so the lower half of
/// an argument comes first.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const ARGUMENT: u32 = 16;

/// Calls from this number on are those of x32, which have other numbers and are not needed.
const X32: u32 = 0x4000_0000;

/// Makes this thread, everything it starts and everything it becomes report the programs they
/// start, and their use of files if that is to be reported. Returns the descriptor of the listener,
/// which is closed on exec. Set `no_new_privs` before, unless the process is privileged.
///
/// # Errors
///
/// The kernel has no such filters, the process lacks the privilege
/// ([`io::ErrorKind::PermissionDenied`]), or another program listens already
/// ([`io::ErrorKind::ResourceBusy`]).
pub fn install(reported: Reported) -> io::Result<OwnedFd> {
    if ARCHITECTURES.is_empty() {
        return Err(io::ErrorKind::Unsupported.into());
    }
    install_program(&program(ARCHITECTURES, reported))
}

/// Finds out whether [`install`] would work, in a thread of its own and without an effect on this
/// one.
pub fn probe() -> io::Result<()> {
    if ARCHITECTURES.is_empty() {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let trial = || {
        rustix::thread::set_no_new_privs(true)?;
        install_program(&[step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW)]).map(drop)
    };
    let thread = thread::Builder::new().stack_size(64 * 1024).spawn(trial)?;
    thread.join().unwrap_or_else(|_| Err(io::Error::other("the trial failed")))
}

const fn step(code: u16, jt: u8, jf: u8, k: u32) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

/// Returns the filter: one block per architecture, and the end of a process of any other.
fn program(architectures: &[Architecture], reported: Reported) -> Vec<sock_filter> {
    let refused = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned();
    let mut steps = vec![step(LOAD, 0, 0, ARCHITECTURE)];
    for architecture in architectures {
        let files = match reported {
            Reported::Programs => &[],
            Reported::ProgramsAndFiles => architecture.files,
            Reported::ProgramsAndChanges => architecture.changes,
        };
        // Without a value, every first argument matches.
        let (compare, value) = match architecture.started_with {
            Some(value) => (EQUAL, value),
            None => (AT_LEAST, 0),
        };
        // Jumps count the steps that they skip.
        let mut block = vec![
            step(LOAD, 0, 0, NUMBER),
            step(AT_LEAST, 0, 1, X32),
            step(RETURN, 0, 0, refused),
            step(EQUAL, 1, 0, architecture.execve),
            step(EQUAL, 0, 1, architecture.execveat),
            step(RETURN, 0, 0, libc::SECCOMP_RET_USER_NOTIF),
            step(EQUAL, 0, 4, architecture.started),
            step(LOAD, 0, 0, ARGUMENT),
            step(compare, 0, 1, value),
            step(RETURN, 0, 0, libc::SECCOMP_RET_USER_NOTIF),
            step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
        ];
        let (notify, allow) = (libc::SECCOMP_RET_USER_NOTIF, libc::SECCOMP_RET_ALLOW);
        for call in files {
            // The argument with flags, those that matter, and the answers with and without them.
            let flags = match call.form {
                Form::LookAtWithFlags(argument) => Some((argument, EMPTY_PATH, allow, notify)),
                Form::OpenToChange => Some((1, CHANGING, notify, allow)),
                Form::OpenAtToChange => Some((2, CHANGING, notify, allow)),
                _ => None,
            };
            if let Some((argument, flags, with, without)) = flags {
                block.extend([
                    step(EQUAL, 0, 4, call.number),
                    step(LOAD, 0, 0, ARGUMENT + 8 * argument),
                    step(ANY_BIT, 1, 0, flags),
                    step(RETURN, 0, 0, without),
                    step(RETURN, 0, 0, with),
                ]);
            } else {
                block.push(step(EQUAL, 0, 1, call.number));
                block.push(step(RETURN, 0, 0, notify));
            }
        }
        block.push(step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW));
        // A block has fewer steps than a jump can skip.
        let length = u8::try_from(block.len()).unwrap_or(u8::MAX);
        steps.push(step(EQUAL, 0, length, architecture.id));
        steps.append(&mut block);
    }
    steps.push(step(RETURN, 0, 0, libc::SECCOMP_RET_KILL_PROCESS));
    steps
}

fn install_program(steps: &[sock_filter]) -> io::Result<OwnedFd> {
    // With the second flag, signals do not interrupt a call that is being looked at; as of 5.19.
    let listener = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
    let quiet = listener | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    let installed = match set_filter(steps, quiet) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => set_filter(steps, listener),
        installed => installed,
    };
    let number = installed?;
    #[allow(unsafe_code)]
    // SAFETY: the kernel has just made this descriptor for us, and nothing else owns it.
    let listener = unsafe { OwnedFd::from_raw_fd(number) };
    Ok(listener)
}

fn set_filter(steps: &[sock_filter], flags: libc::c_ulong) -> io::Result<RawFd> {
    let program = libc::sock_fprog {
        len: u16::try_from(steps.len()).map_err(|_| io::ErrorKind::InvalidInput)?,
        // The kernel only reads them.
        filter: steps.as_ptr().cast_mut(),
    };
    #[allow(unsafe_code)]
    // SAFETY: `program` and the steps that it points to live until the call returns; the kernel
    // copies them and checks them. The call changes no memory of this process.
    let result = unsafe {
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program)
    };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    RawFd::try_from(result).map_err(io::Error::other)
}
