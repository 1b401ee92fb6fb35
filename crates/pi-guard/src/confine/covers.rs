//! Taking away the empty directories that covers need and leave behind.

use std::fs;
use std::path::{Path, PathBuf};

/// Removes those that are empty directories and that nobody uses, and says which.
pub(super) fn remove(covers: &[PathBuf]) -> Vec<PathBuf> {
    let left: Vec<&PathBuf> = covers.iter().filter(|cover| cover.is_dir()).collect();
    if left.is_empty() {
        return Vec::new();
    }
    let used = mounted();
    // What is not empty, or a link, or gone, is not removed by this.
    let removed = |cover: &&&PathBuf| !used.contains(cover) && fs::remove_dir(cover).is_ok();
    left.iter().filter(removed).map(|cover| (*cover).clone()).collect()
}

/// Where something is mounted for any process of ours. With the directory below it the cover
/// would go as well, for commands that still run, of whatever program.
fn mounted() -> Vec<PathBuf> {
    let mut places = Vec::new();
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let number =
            process.file_name().to_string_lossy().bytes().all(|byte| byte.is_ascii_digit());
        let mounts = number.then(|| fs::read(process.path().join("mountinfo")));
        let Some(Ok(mounts)) = mounts else { continue };
        let mounts = String::from_utf8_lossy(&mounts);
        places.extend(mounts.lines().filter_map(|line| Some(plain(line.split(' ').nth(4)?))));
    }
    places.sort();
    places.dedup();
    places
}

/// The kernel writes blanks, line ends and backslashes in octal.
fn plain(place: &str) -> PathBuf {
    let codes = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    let text = codes.iter().fold(place.to_owned(), |text, (code, plain)| text.replace(code, plain));
    Path::new(&text).to_owned()
}
