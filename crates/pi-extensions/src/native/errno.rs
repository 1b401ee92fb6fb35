//! Errors of the operating system in the shape of Node: `code`, `errno`, `syscall` and the message
//! that extensions match on.

use std::io;

use rustix::io::Errno;

use crate::error::NativeError;

/// Codes and texts. The texts are those of libuv: they are part of every message.
const ERRORS: &[(Errno, &str, &str)] = &[
    (Errno::TOOBIG, "E2BIG", "argument list too long"),
    (Errno::ACCESS, "EACCES", "permission denied"),
    (Errno::ADDRINUSE, "EADDRINUSE", "address already in use"),
    (Errno::ADDRNOTAVAIL, "EADDRNOTAVAIL", "address not available"),
    (Errno::AGAIN, "EAGAIN", "resource temporarily unavailable"),
    (Errno::BADF, "EBADF", "bad file descriptor"),
    (Errno::BUSY, "EBUSY", "resource busy or locked"),
    (Errno::CONNABORTED, "ECONNABORTED", "software caused connection abort"),
    (Errno::CONNREFUSED, "ECONNREFUSED", "connection refused"),
    (Errno::CONNRESET, "ECONNRESET", "connection reset by peer"),
    (Errno::DQUOT, "EDQUOT", "disk quota exceeded"),
    (Errno::EXIST, "EEXIST", "file already exists"),
    (Errno::FBIG, "EFBIG", "file too large"),
    (Errno::HOSTUNREACH, "EHOSTUNREACH", "host is unreachable"),
    (Errno::INTR, "EINTR", "interrupted system call"),
    (Errno::INVAL, "EINVAL", "invalid argument"),
    (Errno::IO, "EIO", "i/o error"),
    (Errno::ISDIR, "EISDIR", "illegal operation on a directory"),
    (Errno::LOOP, "ELOOP", "too many symbolic links encountered"),
    (Errno::MFILE, "EMFILE", "too many open files"),
    (Errno::MLINK, "EMLINK", "too many links"),
    (Errno::NAMETOOLONG, "ENAMETOOLONG", "name too long"),
    (Errno::NETUNREACH, "ENETUNREACH", "network is unreachable"),
    (Errno::NFILE, "ENFILE", "file table overflow"),
    (Errno::NODEV, "ENODEV", "no such device"),
    (Errno::NOENT, "ENOENT", "no such file or directory"),
    (Errno::NOEXEC, "ENOEXEC", "exec format error"),
    (Errno::NOMEM, "ENOMEM", "not enough memory"),
    (Errno::NOSPC, "ENOSPC", "no space left on device"),
    (Errno::NOSYS, "ENOSYS", "function not implemented"),
    (Errno::NOTCONN, "ENOTCONN", "socket is not connected"),
    (Errno::NOTDIR, "ENOTDIR", "not a directory"),
    (Errno::NOTEMPTY, "ENOTEMPTY", "directory not empty"),
    (Errno::NOTSUP, "ENOTSUP", "operation not supported on socket"),
    (Errno::NXIO, "ENXIO", "no such device or address"),
    (Errno::PERM, "EPERM", "operation not permitted"),
    (Errno::PIPE, "EPIPE", "broken pipe"),
    (Errno::ROFS, "EROFS", "read-only file system"),
    (Errno::SPIPE, "ESPIPE", "invalid seek"),
    (Errno::SRCH, "ESRCH", "no such process"),
    (Errno::TIMEDOUT, "ETIMEDOUT", "connection timed out"),
    (Errno::TXTBSY, "ETXTBSY", "text file is busy"),
    (Errno::XDEV, "EXDEV", "cross-device link not permitted"),
];

/// Returns the error number of an error; input and output in general if it has none.
pub(crate) fn number(error: &io::Error) -> Errno {
    use io::ErrorKind as Kind;
    if let Some(raw) = error.raw_os_error() {
        return Errno::from_raw_os_error(raw);
    }
    match error.kind() {
        Kind::NotFound => Errno::NOENT,
        Kind::PermissionDenied => Errno::ACCESS,
        Kind::AlreadyExists => Errno::EXIST,
        Kind::InvalidInput => Errno::INVAL,
        Kind::TimedOut => Errno::TIMEDOUT,
        Kind::BrokenPipe => Errno::PIPE,
        Kind::Unsupported => Errno::NOSYS,
        _ => Errno::IO,
    }
}

/// Returns the code of an error, such as `ENOENT`.
pub(crate) fn code(number: Errno) -> &'static str {
    describe(number).0
}

fn describe(number: Errno) -> (&'static str, &'static str) {
    let known = ERRORS.iter().find(|(known, ..)| *known == number);
    known.map_or(("UNKNOWN", "unknown error"), |(_, code, text)| (code, text))
}

/// Names and numbers of all known errors, for `os.constants.errno`.
pub(crate) fn all() -> impl Iterator<Item = (&'static str, i32)> {
    ERRORS.iter().map(|(number, code, _)| (*code, number.raw_os_error()))
}

/// The error of a system call on files: `ENOENT: no such file or directory, open 'path'`.
pub(crate) fn file_error(
    number: Errno,
    syscall: &'static str,
    path: Option<&str>,
    destination: Option<&str>,
) -> NativeError {
    let (code, text) = describe(number);
    let mut message = format!("{code}: {text}, {syscall}");
    if let Some(path) = path {
        message.push_str(&format!(" '{path}'"));
    }
    if let Some(destination) = destination {
        message.push_str(&format!(" -> '{destination}'"));
    }
    let mut error = NativeError::new(message)
        .with("errno", -number.raw_os_error())
        .with("code", code)
        .with("syscall", syscall);
    if let Some(path) = path {
        error = error.with("path", path);
    }
    if let Some(destination) = destination {
        error = error.with("dest", destination);
    }
    error
}

/// The error of a system call without a file: `kill ESRCH`.
pub(crate) fn call_error(number: Errno, syscall: &str) -> NativeError {
    let code = code(number);
    NativeError::new(format!("{syscall} {code}"))
        .with("errno", -number.raw_os_error())
        .with("code", code)
        .with("syscall", syscall)
}
