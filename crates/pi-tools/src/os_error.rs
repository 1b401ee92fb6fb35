//! Errors of the operating system in the format of the TypeScript pi.
//!
//! It reports the errors of its runtime: a code, a description, the system call and, mostly, the
//! path. Models have learned to read these.

use std::io;
use std::path::Path;

use pi_agent::ToolError;
use pi_guard::confine::Denial;

use pi_fs::NotRegular;

/// Describes an error of a system call on a path.
pub(crate) fn on_path(error: &io::Error, call: &str, path: &Path) -> ToolError {
    ToolError::new(format!("{}, {call} '{}'{}", describe(error), path.display(), rule(error)))
}

/// Describes an error of a system call on an open file.
pub(crate) fn bare(error: &io::Error, call: &str) -> ToolError {
    ToolError::new(format!("{}, {call}{}", describe(error), rule(error)))
}

/// Returns the denial of the sandbox, if there is one in this error.
pub(crate) fn denial(error: &io::Error) -> Option<&Denial> {
    error.get_ref()?.downcast_ref()
}

/// Returns the denial as the end of a sentence.
fn rule(error: &io::Error) -> String {
    denial(error).map(|denial| format!(": {denial}")).unwrap_or_default()
}

/// Returns the code and the description of an error.
fn describe(error: &io::Error) -> String {
    if NotRegular::is_cause(error) {
        return error.to_string();
    }
    if error.kind() == io::ErrorKind::WouldBlock {
        return "the file has no data now; it waits for data like a device".to_owned();
    }
    match code(error) {
        Some((code, meaning)) => format!("{code}: {meaning}"),
        None => error.to_string(),
    }
}

/// Returns the symbolic code of an error and its description.
pub(crate) fn code(error: &io::Error) -> Option<(&'static str, &'static str)> {
    use io::ErrorKind::*;
    Some(match error.kind() {
        NotFound => ("ENOENT", "no such file or directory"),
        PermissionDenied if error.raw_os_error() == Some(1) => ("EPERM", "operation not permitted"),
        PermissionDenied => ("EACCES", "permission denied"),
        AlreadyExists => ("EEXIST", "file already exists"),
        NotADirectory => ("ENOTDIR", "not a directory"),
        IsADirectory => ("EISDIR", "illegal operation on a directory"),
        DirectoryNotEmpty => ("ENOTEMPTY", "directory not empty"),
        ReadOnlyFilesystem => ("EROFS", "read-only file system"),
        StorageFull => ("ENOSPC", "no space left on device"),
        QuotaExceeded => ("EDQUOT", "disk quota exceeded"),
        FileTooLarge => ("EFBIG", "file too large"),
        InvalidFilename => ("ENAMETOOLONG", "name too long"),
        ResourceBusy => ("EBUSY", "resource busy or locked"),
        ExecutableFileBusy => ("ETXTBSY", "text file is busy"),
        CrossesDevices => ("EXDEV", "cross-device link not permitted"),
        ArgumentListTooLong => ("E2BIG", "argument list too long"),
        InvalidInput => ("EINVAL", "invalid argument"),
        // The kind for this one is not stable yet.
        _ if error.raw_os_error() == Some(40) => ("ELOOP", "too many symbolic links encountered"),
        _ => return None,
    })
}
