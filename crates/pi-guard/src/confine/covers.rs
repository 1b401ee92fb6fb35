//! Removing what covers leave behind: empty directories, and files without effect.

use std::collections::BTreeSet;
use std::fs;
#[cfg(target_os = "linux")]
use std::fs::OpenOptions;
#[cfg(target_os = "linux")]
use std::io::Write;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;
#[cfg(target_os = "linux")]
use std::time::{SystemTime, UNIX_EPOCH};

use super::git;
#[cfg(target_os = "linux")]
use super::leftovers::entry;
#[cfg(target_os = "linux")]
use super::roots::Root;
use crate::protected::{self, Protection};

/// The mounts of a command can outlive its exit for a moment.
const ATTEMPTS: usize = 10;
const PAUSE: Duration = Duration::from_millis(10);

/// Removes the covers of a confinement whose program was killed before it could do so: of its
/// [`covered_paths`](super::Confined::covered_paths), the default protected ones that are empty
/// directories and not in use. Returns the removed paths.
pub fn remove_stale_covers(covered: &[PathBuf]) -> Vec<PathBuf> {
    remove(&covered.iter().filter(|path| is_default(path)).cloned().collect::<Vec<_>>())
}

/// Returns true for the path of a default cover: it stands in the place of the first missing
/// directory, so it is `.git` and not `.git/hooks`.
fn is_default(path: &Path) -> bool {
    let mut names = protected::in_project(Protection::ReadOnly)
        .filter_map(|path| Path::new(path).iter().next());
    names.any(|name| path.ends_with(name)) || git::is_left_cover(path)
}

/// Returns true if a cover is left at the path: an empty directory, or a file without effect.
pub fn is_cover(path: &Path) -> bool {
    let is_empty = || fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
    let found = fs::symlink_metadata(path);
    found.is_ok_and(|found| found.is_dir()) && is_empty() || git::is_left_cover(path)
}

/// Creates the files that cover others. If that fails, the examination after the command remains.
#[cfg(target_os = "linux")]
pub(super) fn create(roots: &[Root]) {
    for (path, text) in roots.iter().flat_map(|root| &root.covers) {
        if path.exists() {
            continue;
        }
        // Complete from the start: another `git` may read it.
        let new = path.with_extension(format!("pi-{}", std::process::id()));
        with_write_access(path, || {
            let made = OpenOptions::new().write(true).create_new(true).open(&new);
            if made.and_then(|mut file| file.write_all(text.as_bytes())).is_ok() {
                // Fails if another program was first.
                let _ = fs::hard_link(&new, path);
            }
            let _ = fs::remove_file(&new);
        });
    }
}

/// Returns those of the protected paths that are empty directories which were created after a
/// time. The cover of another confinement may have been there when this one was prepared, and
/// removed before a command of this one needed it again.
#[cfg(target_os = "linux")]
pub(super) fn created_since(protected: &[PathBuf], time: SystemTime) -> Vec<PathBuf> {
    use std::os::unix::fs::MetadataExt as _;
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let since = (since.as_secs().cast_signed(), i64::from(since.subsec_nanos()));
    let is_new = |path: &&PathBuf| {
        let is_empty = || fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
        is_default(path)
            && fs::symlink_metadata(path)
                .is_ok_and(|found| found.is_dir() && (found.ctime(), found.ctime_nsec()) > since)
            && is_empty()
    };
    protected.iter().filter(is_new).cloned().collect()
}

/// Removes the paths that are covers and on which nothing is mounted. Returns them.
pub(super) fn remove(covers: &[PathBuf]) -> Vec<PathBuf> {
    let is_left = |path: &&PathBuf| path.is_dir() || git::is_left_cover(path);
    let mut left: Vec<PathBuf> = covers.iter().filter(is_left).cloned().collect();
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
            } else if with_write_access(&cover, || remove_one(&cover)) {
                removed.push(cover);
            }
        }
    }
    removed
}

fn remove_one(cover: &Path) -> bool {
    fs::remove_dir(cover).is_ok() || (git::is_left_cover(cover) && fs::remove_file(cover).is_ok())
}

/// Calls `change` while the owner of the directory of `path` can write it: a command may have taken
/// that right away.
fn with_write_access<T>(path: &Path, change: impl FnOnce() -> T) -> T {
    #[cfg(target_os = "linux")]
    let directory = path.parent().and_then(|directory| entry::open_root(directory).ok());
    #[cfg(target_os = "linux")]
    let _writable = directory.as_ref().map(|directory| entry::writable(directory));
    #[cfg(not(target_os = "linux"))]
    let _ = path;
    change()
}

/// The mount points of all processes of the user. Without the directory below it, the cover of a
/// command that still runs, of any program, would vanish.
fn mount_points() -> Vec<PathBuf> {
    let (mut points, mut views) = (Vec::new(), BTreeSet::new());
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        if !process.file_name().to_string_lossy().bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        // Most processes share one view of the file system.
        let view = fs::read_link(process.path().join("ns/mnt"));
        if view.is_ok_and(|view| !views.insert(view)) {
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
