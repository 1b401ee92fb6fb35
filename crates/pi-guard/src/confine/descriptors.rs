//! Open files that a command would inherit unintentionally.
//!
//! A descriptor of a socket, or of a directory outside, bypasses all rules about paths. Parents
//! rarely leave any open, so the usual case costs only a look. Safe Rust cannot close a descriptor
//! by its number, but a shell can: the helper then starts itself again through one, and refuses if
//! that did not help.

use std::fs;
use std::path::Path;

/// Returns the descriptors that would survive an exec, without the standard streams unless those
/// are directories.
pub(super) fn inherited() -> Vec<u32> {
    let listed = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let mut numbers: Vec<u32> = listed
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|number| (*number > 2 || is_directory(*number)) && survives(*number))
        .collect();
    numbers.sort_unstable();
    numbers
}

/// Returns true for a directory, which would give access past the view of the file system.
fn is_directory(number: u32) -> bool {
    fs::metadata(format!("/proc/self/fd/{number}")).is_ok_and(|found| found.is_dir())
}

fn survives(number: u32) -> bool {
    const CLOSED_ON_EXEC: u32 = libc::O_CLOEXEC.cast_unsigned();
    let Ok(info) = fs::read_to_string(format!("/proc/self/fdinfo/{number}")) else {
        return false; // The descriptor of the listing, closed meanwhile.
    };
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
    flags
        .and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok())
        .is_none_or(|flags| flags & CLOSED_ON_EXEC == 0)
}

/// Returns a shell that can close the descriptors, and a script that closes them and continues.
pub(super) fn closer(numbers: &[u32]) -> (&'static str, String) {
    let bash = ["/bin/bash", "/usr/bin/bash"].into_iter().find(|path| Path::new(path).exists());
    // Plain shells support only one digit; without another shell, the second check refuses.
    let shell = bash.unwrap_or("/bin/sh");
    let mut script = String::from("exec");
    for number in numbers {
        script.push_str(&format!(" {number}>&-"));
    }
    script.push_str("; exec \"$@\"");
    (shell, script)
}
