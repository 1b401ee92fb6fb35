//! Open files that a command would inherit without anybody having meant it.
//!
//! A descriptor is a right: with one of a directory outside, or of a socket, no rule about paths
//! holds. Whoever starts us seldom leaves any, so this looks, and only if there are some does it
//! cost something. Closing a descriptor by its number is not possible in safe Rust, but a shell
//! can: then the helper starts once more through one, and refuses if that did not help.

use std::fs;
use std::path::Path;

/// The numbers of descriptors, besides the usual three unless those are directories, that would survive an exec.
pub(super) fn inherited() -> Vec<u32> {
    let listed = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let mut numbers: Vec<u32> = listed
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|number| (*number > 2 || is_directory(*number)) && survives(*number))
        .collect();
    numbers.sort_unstable();
    numbers
}

/// A directory is a way past the view, whatever its number.
fn is_directory(number: u32) -> bool {
    fs::metadata(format!("/proc/self/fd/{number}")).is_ok_and(|found| found.is_dir())
}

fn survives(number: u32) -> bool {
    const CLOSED_ON_EXEC: u32 = libc::O_CLOEXEC.cast_unsigned();
    let Ok(info) = fs::read_to_string(format!("/proc/self/fdinfo/{number}")) else {
        return false; // closed meanwhile: the listing's own
    };
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
    flags
        .and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok())
        .is_none_or(|flags| flags & CLOSED_ON_EXEC == 0)
}

/// A shell that can close these, and the script with which it does and goes on.
pub(super) fn closer(numbers: &[u32]) -> (&'static str, String) {
    let bash = ["/bin/bash", "/usr/bin/bash"].into_iter().find(|path| Path::new(path).exists());
    // Plain shells know only one digit; where there is no other, the second look refuses.
    let shell = bash.unwrap_or("/bin/sh");
    let mut script = String::from("exec");
    for number in numbers {
        script.push_str(&format!(" {number}>&-"));
    }
    script.push_str("; exec \"$@\"");
    (shell, script)
}
