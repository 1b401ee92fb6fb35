//! Removing the empty directories that covers leave behind.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::protected::{self, Protection};

/// The mounts of a command can outlive its exit for a moment.
const ATTEMPTS: usize = 10;
const PAUSE: Duration = Duration::from_millis(10);

/// Removes the covers of a confinement whose program was killed before it could do so: of its
/// [`covered_paths`](super::Confined::covered_paths), the default protected ones that are empty
/// directories and not in use. Returns the removed paths.
pub fn remove_stale_covers(covered: &[PathBuf]) -> Vec<PathBuf> {
    // A cover stands in the place of the first missing directory: `.git`, not `.git/hooks`.
    let names: Vec<_> = protected::in_project(Protection::ReadOnly)
        .filter_map(|path| Path::new(path).iter().next())
        .collect();
    let is_default = |path: &&PathBuf| names.iter().any(|name| path.ends_with(name));
    remove(&covered.iter().filter(is_default).cloned().collect::<Vec<_>>())
}

/// Removes the paths that are empty directories and on which nothing is mounted. Returns them.
pub(super) fn remove(covers: &[PathBuf]) -> Vec<PathBuf> {
    let mut left: Vec<PathBuf> = covers.iter().filter(|cover| cover.is_dir()).cloned().collect();
    let mut removed = Vec::new();
    for attempt in 0..ATTEMPTS {
        if left.is_empty() {
            break;
        }
        if attempt > 0 {
            thread::sleep(PAUSE);
        }
        let mounted = mount_points();
        for cover in std::mem::take(&mut left) {
            if mounted.contains(&cover) {
                left.push(cover);
            // Fails for a directory that is not empty, and for a link.
            } else if fs::remove_dir(&cover).is_ok() {
                removed.push(cover);
            }
        }
    }
    removed
}

/// The mount points of all processes of the user. Without the directory below it, the cover of a
/// command that still runs, of any program, would vanish.
fn mount_points() -> Vec<PathBuf> {
    let mut points = Vec::new();
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        if !process.file_name().to_string_lossy().bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        let Ok(mounts) = fs::read(process.path().join("mountinfo")) else { continue };
        let mounts = String::from_utf8_lossy(&mounts);
        points.extend(mounts.lines().filter_map(|line| Some(unescape(line.split(' ').nth(4)?))));
    }
    points.sort();
    points.dedup();
    points
}

/// Decodes the octal escapes of the kernel for blanks, line ends and backslashes.
fn unescape(path: &str) -> PathBuf {
    let codes = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    let text = codes.iter().fold(path.to_owned(), |text, (code, plain)| text.replace(code, plain));
    Path::new(&text).to_owned()
}
